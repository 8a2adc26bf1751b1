/** Finds where a session starts. A second `start` in the middle of a line does not hide anything that comes before it. */
import { TeddyError } from '../../errors.ts';
import type { Commit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { sessionDir, type Oid, type SessionId } from '../../names.ts';
import { hasLandedAsItStands } from './find-open.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';

/** The reason why teddy cannot check a line when a shallow clone lacks its start. */
export const cutBeforeStart = 'its history is cut off here before the start of its session';

/** Returns the error for a line like this; `told` names the task that teddy could not do. */
export function cutOffError(told: string): TeddyError {
  const hint = 'Fetch the rest with `git fetch --unshallow`, and then run the command again.';
  return new TeddyError('SHALLOW_CLONE', `${told}: ${cutBeforeStart}.`, hint);
}

/** Returns the error for a line whose history does not go back to the start of its session. */
export function noStartError(name: string): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The history of ${name} does not go back to the start of its session.`,
    'In a shallow clone, run `git fetch --unshallow`; in CI, check out the full history.',
  );
}

/** Returns true if this commit's entry is a start, with nothing from its session before it. */
export async function startsSession(store: Store, entry: Entry | null, { parents }: Commit): Promise<boolean> {
  return entry?.kind === 'start' && !(await holdsSession(store, parents[0] ?? null, entry.session));
}

/** Finds the commit that starts a line's session; null when a shallow clone lacks it. */
export async function findSessionStart(store: Store, tip: Oid): Promise<Commit | null> {
  for await (const { commit } of store.firstParents(tip))
    if (await startsSession(store, decodeEntry(commit.message), commit)) return commit;
  return null;
}

/** Returns true if the commit contains the session; false for null and for a commit missing from this clone. */
export async function holdsSession(store: Store, commit: Oid | null, session: SessionId): Promise<boolean> {
  if (commit === null || (await store.readSize(commit)) === null) return false;
  return (await store.readDir(commit, sessionDir(session))) !== null;
}

/** Returns the session below this one in the stack, if it has not landed. `base` is the commit before the start. */
export async function findUnlandedBase(project: Project, session: SessionId, base: Oid): Promise<SessionId | null> {
  const nearest = await findNearestEntry(project, base);
  const other = nearest?.entry.session;
  if (nearest === null || other === undefined || other === session) return null;
  return (await hasLandedAsItStands(project, { oid: base, session: other, nearest })) ? null : other;
}
