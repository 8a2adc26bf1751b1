/** Makes a tree from another one, reading and writing only the directories on the way to what changes. */
import type { ObjectBatch, Store, TreeEntry, TreeMode } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';

/** `entry` null removes what stands at the path; mode `40000` puts a whole directory there. */
export interface TreeEdit {
  path: RepoPath;
  entry: { mode: TreeMode; oid: Oid } | null;
}

/** The new tree is in `batch`, not yet flushed. Directories that become empty vanish, as git knows none. */
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
  // To remove what is below a file removes nothing, least of all the file.
  if (start?.mode !== '40000' && below.every((edit) => edit.entry === null)) return start ?? null;
  if (below.length === 0) return start ?? null;
  const base = start?.mode === '40000' ? start.oid : null;
  const oid = await editDir(store, batch, base, below);
  return oid === null ? null : { mode: '40000', name, oid };
}

/** Names that are not UTF-8 may read alike; no path means one of them. */
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
