/** Where the check of a line begins: at its start, after what was checked before, or where this clone ends. */
import type { Commit, Store } from '../../ports.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { sessionDir, type Oid } from '../../session/names.ts';
import type { RecordedLine } from '../review/find-recorded.ts';
import { isDamage } from './read-content.ts';

export interface LineBase {
  /** What is not looked at. */
  not: Oid[];
  /** The commit before the first one that is looked at; null: there is none. */
  commit: Oid | null;
  /**
   * `start`: the line's first entry is looked at. `later`: what comes before was named as known. `cut`: it is not in this clone.
   * `headless`: it is, and the line has no start. `none`: no commit is an entry of the session.
   */
  kind: 'start' | 'later' | 'cut' | 'headless' | 'none';
  /** The nearest entry at or below `commit`, of the same session. */
  entry: Entry | null;
}

interface Found {
  oid: Oid;
  commit: Commit;
}

export async function findBase(
  store: Store,
  { tip, session, after }: RecordedLine,
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
    // A second `start` in the middle of a line hides nothing that comes before it.
    if (entry.kind === 'start' && !(await holdsSession(store, parent, session)))
      return { not: parent === null ? not : [...not, parent], commit: parent, kind: 'start', entry: null };
  }
  const { commit, kind } = await findEnd(store, { tip, oldest, last, isBounded: not.length > 0 });
  const entry = commit === null ? null : await findEntryBelow(store, commit, session);
  return { not: commit === null ? not : [...not, commit], commit, kind, entry };
}

/** What the walk came to, when it met no start. */
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

async function holdsSession(store: Store, commit: Oid | null, session: RecordedLine['session']): Promise<boolean> {
  if (commit === null || !(await isThere(store, commit))) return false;
  return (await store.readDir(commit, sessionDir(session))) !== null;
}

async function isThere(store: Store, commit: Oid): Promise<boolean> {
  return (await store.readSize(commit)) !== null;
}

async function findEntryBelow(store: Store, commit: Oid, session: RecordedLine['session']): Promise<Entry | null> {
  try {
    for await (const found of store.firstParents(commit)) {
      const entry = decodeEntry(found.commit.message);
      if (entry?.session === session) return entry;
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
  return null;
}
