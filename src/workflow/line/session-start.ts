/** Where a session starts on a line: a second `start` in the middle of one hides nothing that comes before it. */
import type { Commit, Store } from '../../ports/git.ts';
import type { Entry } from '../../session/entry.ts';
import { sessionDir, type Oid, type SessionId } from '../../names.ts';

/** Whether the entry of this commit is a start, with nothing of its session before it. */
export async function startsSession(store: Store, entry: Entry | null, { parents }: Commit): Promise<boolean> {
  return entry?.kind === 'start' && !(await holdsSession(store, parents[0] ?? null, entry.session));
}

/** Null, or a commit that is not in this clone: no. */
export async function holdsSession(store: Store, commit: Oid | null, session: SessionId): Promise<boolean> {
  if (commit === null || (await store.readSize(commit)) === null) return false;
  return (await store.readDir(commit, sessionDir(session))) !== null;
}
