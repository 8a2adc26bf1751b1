/** Archives: refs that keep lines after their branches are gone, filed by the session's month. */
import { isDamage } from '../../errors.ts';
import type { RefTip, RefUpdate, SessionStore, Store } from '../../ports/git.ts';
import { archivePrefix, archiveRef, parseArchiveRef, type ArchiveName, type Oid, type RefName } from '../../names.ts';
import { isOnLine } from '../entries/ancestry.ts';
import type { LineIndex } from './line-index.ts';

export type Archive = RefTip & ArchiveName;

/** Lists the archives sorted by line name, and skips refs that are not named like an archive. */
export async function listArchives(store: Pick<Store, 'listRefs'>): Promise<Archive[]> {
  const archives = (await store.listRefs(archivePrefix)).flatMap((tip): Archive[] => {
    const parsed = parseArchiveRef(tip.ref);
    return parsed === null ? [] : [{ ...tip, ...parsed }];
  });
  return archives.toSorted((a, b) => (a.line < b.line ? -1 : 1));
}

/** Returns the archived tip of a line; null when the line is not archived. */
export function resolveArchive(store: Pick<Store, 'resolve'>, line: RefName): Promise<Oid | null> {
  return store.resolve(archiveRef(line));
}

/** Returns true if an archive contains an entire branch. The result for two commits never changes, so the index stores it. */
export async function isArchivedIn(
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
 * Plans the archiving of a line up to `tip`. An archive only moves forward; an archive that is already ahead stays
 * unchanged. `inTheWay` is an existing archive with other commits; in that case nothing can move.
 */
export async function planArchive(
  store: SessionStore,
  line: RefName,
  tip: Oid,
): Promise<{ update: RefUpdate; inTheWay: RefTip | null }> {
  const ref = archiveRef(line);
  const old = await store.resolve(ref);
  if (old === null || (await isOnLine(store, tip, old))) return { update: { ref, old, new: tip }, inTheWay: null };
  const isAhead = await isOnLine(store, old, tip);
  return { update: { ref, old, new: old }, inTheWay: isAhead ? null : { ref, oid: old } };
}
