/** Where a line's session started. */
import type { Project } from '../../ports.ts';
import { decodeEntry } from '../../session/entry.ts';
import type { Oid } from '../../session/names.ts';
import { startsSession } from '../session-start.ts';

export interface SessionStart {
  /** The repository had no commit yet. */
  isFirst: boolean;
}

/** Null where the history is cut off before it. */
export async function findStart({ repository: { store } }: Project, tip: Oid): Promise<SessionStart | null> {
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null && (await startsSession(store, entry, commit))) return { isFirst: commit.parents.length === 0 };
  }
  return null;
}
