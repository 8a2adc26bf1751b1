/** Makes a tree from another one, and reads and writes only the directories above the changes. */
import type { ObjectBatch, Store, TreeEntry, TreeMode } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';

/** An edit. An `entry` of null removes the path; mode `40000` inserts a whole directory. */
export interface TreeEdit {
  path: RepoPath;
  entry: { mode: TreeMode; oid: Oid } | null;
}

/** Adds the new tree to `batch`, without flushing it. Empty directories disappear, because git does not store them. */
export async function editTree(store: Store, batch: ObjectBatch, base: Oid | null, edits: TreeEdit[]): Promise<Oid> {
  return (await editDir(store, batch, base, edits)) ?? batch.tree([]);
}

async function editDir(store: Store, batch: ObjectBatch, base: Oid | null, edits: TreeEdit[]): Promise<Oid | null> {
  const entries = new Map((base === null ? [] : await store.readTree(base)).map((entry) => [toEntryKey(entry), entry]));
  for (const [name, below] of groupByFirstPart(edits)) {
    const next = await toEntry(store, batch, name, entries.get(name), below);
    if (next === null) entries.delete(name);
    else entries.set(name, next);
  }
  return entries.size === 0 ? null : batch.tree([...entries.values()]);
}

async function toEntry(
  store: Store,
  batch: ObjectBatch,
  name: string,
  current: TreeEntry | undefined,
  edits: TreeEdit[],
): Promise<TreeEntry | null> {
  const whole = edits.findLast(({ path }) => path === '');
  const below = edits.filter(({ path }) => path !== '');
  const start = whole === undefined ? current : whole.entry === null ? undefined : { name, ...whole.entry };
  // Removing paths below a file changes nothing, least of all the file.
  if (start?.mode !== '40000' && below.every((edit) => edit.entry === null)) return start ?? null;
  if (below.length === 0) return start ?? null;
  const base = start?.mode === '40000' ? start.oid : null;
  const oid = await editDir(store, batch, base, below);
  return oid === null ? null : { mode: '40000', name, oid };
}

/** Returns a key for the name. Different names that are not UTF-8 may decode to equal text; no path refers to them. */
export function toEntryKey({ name, rawName }: TreeEntry): string {
  return rawName === undefined ? name : `\0${[...rawName].join(' ')}`;
}

function groupByFirstPart(edits: TreeEdit[]): Map<string, TreeEdit[]> {
  const groups = new Map<string, TreeEdit[]>();
  for (const { path, entry } of edits) {
    const slash = path.indexOf('/');
    const name = slash < 0 ? path : path.slice(0, slash);
    const rest = { path: (slash < 0 ? '' : path.slice(slash + 1)) as RepoPath, entry };
    groups.set(name, [...(groups.get(name) ?? []), rest]);
  }
  return groups;
}
