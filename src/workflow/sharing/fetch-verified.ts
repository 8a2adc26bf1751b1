/**
 * Fetches refs even if git refuses some of their objects. One bad object makes git refuse the whole fetch, so teddy
 * finds the refs with bad objects and fetches the others.
 */
import { TeddyError } from '../../errors.ts';
import type { TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName } from '../../names.ts';

export interface WantedRef {
  from: RefName;
  to: RefName;
}

/** A remote with bad objects in more refs than this probably has bad objects in all of them. */
const maxRefusals = 40;

/** Returns the refs that were not fetched, each with the reason. Throws as `Remotes.fetch` does, except HOSTILE_SESSION. */
export async function fetchVerified(
  project: Project,
  remote: string,
  wanted: readonly WantedRef[],
  options: TransferOptions,
): Promise<{ ref: RefName; reason: string }[]> {
  const refused: { ref: RefName; reason: string }[] = [];
  const waiting: (readonly WantedRef[])[] = [wanted];
  let refusals = 0;
  for (let refs = waiting.pop(); refs !== undefined; refs = waiting.pop()) {
    if (refs.length === 0) continue;
    const refusal = await tryFetch(project, remote, refs, options);
    if (refusal === null) continue;
    refusals += 1;
    if (refs.length === 1 || refusals > maxRefusals) {
      refused.push(...refs.map(({ from }) => ({ ref: from, reason: refusal })));
      continue;
    }
    const half = Math.ceil(refs.length / 2);
    waiting.push(refs.slice(half), refs.slice(0, half));
  }
  return refused;
}

/** Returns null when git has fetched the refs. */
async function tryFetch(
  { repository: { remotes } }: Project,
  remote: string,
  refs: readonly WantedRef[],
  options: TransferOptions,
): Promise<string | null> {
  try {
    await remotes.fetch(remote, refs, options);
    return null;
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'HOSTILE_SESSION') return error.message;
    throw error;
  }
}
