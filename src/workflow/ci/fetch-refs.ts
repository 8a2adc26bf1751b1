/** Fetches the refs of sessions from a remote, to check a change or to carry it. */
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName, SessionId } from '../../names.ts';
import { fetchVerified } from '../sharing/fetch-verified.ts';
import { parseShared } from '../sharing/shared-refs.ts';

export interface FetchedRefs {
  /** The accepted refs, under their names on the remote. */
  tips: RefTip[];
  /** The refs that git refused, each with the reason. */
  refused: { ref: RefName; reason: string }[];
}

/** Fetches the refs under names from `newRef`, and moves no other ref. Throws as `Remotes.fetch` does. */
export async function fetchRefs(
  project: Project,
  remote: string,
  refs: readonly RefTip[],
  { newRef, signal }: { newRef: () => RefName; signal: AbortSignal },
): Promise<FetchedRefs> {
  const refused = await fetchVerified(
    project,
    remote,
    refs.map(({ ref }) => ({ from: ref, to: newRef() })),
    { signal },
  );
  return { tips: refs.filter(({ ref }) => !refused.some((one) => one.ref === ref)), refused };
}

export function isOfSession(ref: RefName, session: SessionId): boolean {
  return parseShared(ref)?.session === session;
}
