/** Archives, which keep lines whose branches are gone: each below the month of its session, or under its flat name of before. */
import { isDamage } from '../errors.ts';
import type { RefTip, RefUpdate, SessionStore, Store } from '../ports/git.ts';
import {
  archivePrefix,
  archiveRef,
  flatArchiveRef,
  parseArchiveRef,
  type ArchiveName,
  type Oid,
  type RefName,
} from '../names.ts';
import { isOnLine } from './ancestry.ts';
import type { LineIndex } from './line-index.ts';

export type Archive = RefTip & ArchiveName;

/** In order of the lines' names. Of a line that is kept under both names, the one of its month counts. */
export async function listArchives(store: Pick<Store, 'listRefs'>): Promise<Archive[]> {
  const byLine = new Map<RefName, Archive>();
  for (const tip of await store.listRefs(archivePrefix)) {
    const parsed = parseArchiveRef(tip.ref);
    if (parsed !== null && (!parsed.isFlat || !byLine.has(parsed.line))) byLine.set(parsed.line, { ...tip, ...parsed });
  }
  return [...byLine.values()].toSorted((a, b) => (a.line < b.line ? -1 : 1));
}

/** The tip of what is kept of a line; null: nothing is. */
export async function resolveArchive(store: Pick<Store, 'resolve'>, line: RefName): Promise<Oid | null> {
  return (await store.resolve(archiveRef(line))) ?? (await store.resolve(flatArchiveRef(line)));
}

/** Whether an archive has all of a branch. What git says of two commits never changes, so the index keeps it. */
export async function isKeptIn(
  store: SessionStore,
  index: LineIndex,
  { ref, oid }: RefTip,
  archive: Oid,
): Promise<boolean> {
  if (oid === archive) return true;
  const indexed = index.get(ref, oid);
  const [asked, known] = indexed?.fields?.['kept'] ?? [];
  if (asked === archive && typeof known === 'boolean') return known;
  try {
    const isKept = await isOnLine(store, archive, oid);
    if (indexed) index.set(ref, oid, { ...indexed, fields: { ...indexed.fields, kept: [archive, isKept] } });
    return isKept;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/**
 * Keeps a line up to `tip` below its month, and drops its flat name in the same transaction. The archive only ever moves
 * forward: one that is ahead stays where it is. `inTheWay`: an archive that holds other commits; then nothing can be moved.
 */
export async function planArchive(
  store: SessionStore,
  line: RefName,
  tip: Oid,
): Promise<{ ref: RefName; updates: RefUpdate[]; inTheWay: RefTip | null }> {
  const ref = archiveRef(line);
  const flat = flatArchiveRef(line);
  const [old, before] = [await store.resolve(ref), await store.resolve(flat)];
  let newest = tip;
  for (const kept of [old, before]) {
    if (kept === null || (await isOnLine(store, newest, kept))) continue;
    if (!(await isOnLine(store, kept, newest)))
      return { ref, updates: [], inTheWay: { ref: kept === old ? ref : flat, oid: kept } };
    newest = kept;
  }
  const dropped: RefUpdate[] = before === null ? [] : [{ ref: flat, old: before, new: null }];
  return { ref, updates: [{ ref, old, new: newest }, ...dropped], inTheWay: null };
}
