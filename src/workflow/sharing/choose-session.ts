/** Whose lines are shared: one session's, or those of all. `teddy/global` goes with either. */
import { TeddyError } from '../../errors.ts';
import type { Project, RefTip } from '../../ports.ts';
import { archivePrefix, type SessionId } from '../../session/names.ts';
import { findHeadLine, findLine } from '../find-line.ts';
import { parseShared } from './shared-refs.ts';

export interface SessionWish {
  selector?: string | undefined;
  all?: boolean | undefined;
  /** What HEAD means where it is on no line: the newest session, as everywhere, or all that there are. */
  offLine: 'newest' | 'all';
}

/** Null: all. `listed`: the remote's refs, of which a session may be named as well. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION. */
export async function chooseSession(
  project: Project,
  { selector, all = false, offLine }: SessionWish,
  listed: readonly RefTip[],
): Promise<SessionId | null> {
  if (all) return null;
  if (selector !== undefined) return findNamed(project, selector, listed);
  const head = await findHeadLine(project);
  if (head !== null) return head.session;
  if (offLine === 'all') return null;
  try {
    return (await findLine(project)).session;
  } catch (error) {
    if (isUnknown(error)) return null;
    throw error;
  }
}

async function findNamed(project: Project, selector: string, listed: readonly RefTip[]): Promise<SessionId> {
  try {
    return (await findLine(project, selector)).session;
  } catch (error) {
    if (!isUnknown(error)) throw error;
    const others = [...listed, ...(await project.repository.store.listRefs(archivePrefix))];
    const sessions = new Set(others.flatMap(({ ref }) => parseShared(ref)?.session ?? []));
    const wanted = selector.replace(/^(?:refs\/heads\/)?teddy\//, '').replace(/--.*$/, '');
    const exact = [...sessions].find((session) => session === wanted);
    const similar = [...sessions].filter((session) => wanted !== '' && session.includes(wanted));
    const found = exact ?? (similar.length === 1 ? similar[0] : undefined);
    if (found !== undefined) return found;
    throw similar.length > 1 ? toAmbiguous(selector, similar) : error;
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof TeddyError && error.code === 'UNKNOWN_SESSION';
}

function toAmbiguous(selector: string, sessions: SessionId[]): TeddyError {
  return new TeddyError(
    'AMBIGUOUS_SESSION',
    `${JSON.stringify(selector)} is part of ${sessions.length} sessions: ${sessions.slice(0, 5).join(', ')}.`,
    'Give the whole id.',
  );
}
