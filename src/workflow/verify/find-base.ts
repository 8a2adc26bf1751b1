/** Finds where a line's check begins: at the line's start, after an earlier check, or where this clone ends. */
import { isDamage } from '../../errors.ts';
import type { Commit, Store } from '../../ports/git.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import type { Oid } from '../../names.ts';
import { isOnAnyLine } from '../../session/entries/ancestry.ts';
import type { RecordedLine } from '../line/find-recorded.ts';
import { startsSession } from '../line/session-start.ts';

export interface LineBase {
  /** The commits to exclude. */
  not: Oid[];
  /** The commit before the first commit to check; null when there is none. */
  commit: Oid | null;
  /**
   * `start`: checks the line's first entry. `later`: the caller passed the earlier history as known. `cut`: the earlier
   * history is not in this clone. `headless`: the earlier history is in the clone, but the line has no start. `none`:
   * no commit is an entry in the session.
   */
  kind: 'start' | 'later' | 'cut' | 'headless' | 'none';
  /** The session's nearest entry at or below `commit`. */
  entry: Entry | null;
  /** The commit of `entry`, because the user's later changes to the session's files were never published. */
  entryOid: Oid | null;
}

interface Found {
  oid: Oid;
  commit: Commit;
}

export async function findBase(
  store: Store,
  { tip, session, after }: Pick<RecordedLine, 'tip' | 'session' | 'after'>,
  known: readonly Oid[],
): Promise<LineBase> {
  const not = [...known, ...(after === null ? [] : [after])];
  let oldest: Found | null = null;
  let last: Found | null = null;
  for await (const found of store.firstParents(tip, not)) {
    last = found;
    const entry = decodeEntry(found.commit.message);
    if (entry?.session !== session) continue;
    oldest = found;
    const parent = found.commit.parents[0] ?? null;
    if (await startsSession(store, entry, found.commit))
      return {
        not: parent === null ? not : [...not, parent],
        commit: parent,
        kind: 'start',
        entry: null,
        entryOid: null,
      };
  }
  const { commit, kind } = await findEnd(store, { tip, oldest, last, isBounded: not.length > 0 });
  // Commits that came into a known line through a merge were never checked as a line.
  if (kind === 'later' && commit !== null && known.length > 0 && !(await isOnAnyLine(store, not, commit)))
    return findBase(store, { tip, session, after }, []);
  const below = commit === null ? null : await findEntryBelow(store, commit, session);
  return { not: commit === null ? not : [...not, commit], commit, kind, ...(below ?? { entry: null, entryOid: null }) };
}

/** Returns how a walk without a start ended. */
async function findEnd(
  store: Store,
  { tip, oldest, last, isBounded }: { tip: Oid; oldest: Found | null; last: Found | null; isBounded: boolean },
): Promise<Pick<LineBase, 'commit' | 'kind'>> {
  if (last === null) return { commit: tip, kind: 'later' };
  const below = last.commit.parents[0] ?? null;
  if (below !== null && !(await isThere(store, below))) return { commit: last.oid, kind: 'cut' };
  if (isBounded && below !== null) return { commit: below, kind: 'later' };
  return oldest === null
    ? { commit: null, kind: 'none' }
    : { commit: oldest.commit.parents[0] ?? null, kind: 'headless' };
}

async function isThere(store: Store, commit: Oid): Promise<boolean> {
  return (await store.readSize(commit)) !== null;
}

async function findEntryBelow(
  store: Store,
  commit: Oid,
  session: RecordedLine['session'],
): Promise<Pick<LineBase, 'entry' | 'entryOid'> | null> {
  try {
    for await (const found of store.firstParents(commit)) {
      const entry = decodeEntry(found.commit.message);
      if (entry?.session === session) return { entry, entryOid: found.oid };
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
  return null;
}
