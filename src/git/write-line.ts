/** Many commits in a row, as one pack: no process, no file and no sync for each of them. */
import type { LineCommit, TreeEntry, TreeMode } from '../ports/git.ts';
import type { Oid } from '../names.ts';
import { encodeCommit, encodeTree } from '../session/object-format.ts';
import type { ObjectWriterOptions } from './object-writer.ts';
import { openPack, type PackFile } from './pack-file.ts';

export interface LineParent {
  oid: Oid;
  tree: Oid;
  readTree(oid: Oid): Promise<TreeEntry[]>;
}

interface Directory extends DirectoryRows {
  /** The directory below that was changed last. */
  below: { name: string; directory: Directory } | null;
  oidOf: Map<string, Oid>;
  /** The directories below that were changed before it: their trees can be read when the pack is whole, and not now. */
  left: Set<string>;
}

/** As `Store.writeLine` promises. */
export async function writeLine(
  options: ObjectWriterOptions,
  parent: LineParent,
  commits: AsyncIterable<LineCommit>,
): Promise<Oid> {
  const pack = await openPack(options);
  try {
    const root = toDirectory(await parent.readTree(parent.tree));
    let tip = parent.oid;
    for await (const commit of commits) {
      tip = await writeOne(pack, parent, root, tip, commit);
      await pack.drain();
    }
    if (tip === parent.oid) await pack.discard();
    else await pack.finish();
    return tip;
  } catch (error) {
    await pack.discard();
    throw error;
  }
}

async function writeOne(
  pack: PackFile,
  { readTree }: LineParent,
  root: Directory,
  tip: Oid,
  { author, committer, message, files }: LineCommit,
): Promise<Oid> {
  let tree: Oid | null = null;
  for (const { path, bytes } of files) {
    const parts = path.split('/');
    const blob = pack.add('blob', toBuffer(bytes), parts.at(-1) ?? '');
    tree = await setFile({ pack, readTree }, root, parts, blob, 0);
  }
  if (tree === null) throw new Error('An entry of a line has a file at least.');
  return pack.add('commit', encodeCommit({ tree, parents: [tip], author, committer, message }), null);
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Trees {
  pack: PackFile;
  readTree: LineParent['readTree'];
}

async function setFile(
  trees: Trees,
  directory: Directory,
  [name = '', ...below]: string[],
  blob: Oid,
  depth: number,
): Promise<Oid> {
  if (below.length === 0) setRow(directory, '100644', name, blob);
  else {
    const child = await openBelow(trees, directory, name);
    setRow(directory, '40000', name, await setFile(trees, child, below, blob, depth + 1));
  }
  return trees.pack.add('tree', directory.bytes, `directory ${depth}`);
}

async function openBelow({ readTree }: Trees, directory: Directory, name: string): Promise<Directory> {
  if (directory.below?.name === name) return directory.below.directory;
  if (directory.below !== null) directory.left.add(directory.below.name);
  if (directory.left.has(name)) throw new Error(`The directory ${name} was left before, and cannot be gone on with.`);
  const oid = directory.oidOf.get(name);
  directory.below = { name, directory: toDirectory(oid === undefined ? [] : await readTree(oid)) };
  return directory.below.directory;
}

function toDirectory(entries: TreeEntry[]): Directory {
  const directories = entries.filter(({ mode, rawName }) => mode === '40000' && rawName === undefined);
  const oidOf = new Map(directories.map(({ name, oid }) => [name, oid]));
  return { ...toRows(entries), below: null, oidOf, left: new Set() };
}

interface DirectoryRows {
  /** The bytes that are hashed. They never change in place: somebody may still hold an older version. */
  bytes: Buffer;
  /** The names in git's order, a character for each byte; those of directories with `/`. */
  keys: string[];
  /** Where the row of each begins. */
  starts: number[];
}

/** A directory as git encodes it, kept encoded: one row changes without the thousand others being sorted again. */
function toRows(entries: TreeEntry[]): DirectoryRows {
  const sorted = entries.map((entry) => ({ entry, key: toKey(entry) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  let at = 0;
  const starts = sorted.map(({ entry }) => (at += toRow(entry).length) - toRow(entry).length);
  return { bytes: encodeTree(entries), keys: sorted.map(({ key }) => key), starts };
}

/** A name is that of a file or that of a directory; to make one of the other is not for here. */
function setRow(rows: DirectoryRows, mode: TreeMode, name: string, oid: Oid): void {
  const key = toKey({ mode, name });
  const at = findPlace(rows.keys, key);
  const row = toRow({ mode, name, oid });
  const start = rows.starts[at] ?? rows.bytes.length;
  const isThere = rows.keys[at] === key;
  const end = isThere ? (rows.starts[at + 1] ?? rows.bytes.length) : start;
  rows.bytes = Buffer.concat([rows.bytes.subarray(0, start), row, rows.bytes.subarray(end)]);
  const added = row.length - (end - start);
  if (!isThere) {
    rows.keys.splice(at, 0, key);
    rows.starts.splice(at, 0, start);
  }
  if (added !== 0) for (let next = at + 1; next < rows.starts.length; next += 1) rows.starts[next]! += added;
}

function toKey({ mode, name, rawName }: Pick<TreeEntry, 'mode' | 'name' | 'rawName'>): string {
  const bytes = rawName === undefined ? Buffer.from(name) : Buffer.from(rawName);
  return bytes.toString('latin1') + (mode === '40000' ? '/' : '');
}

function toRow(entry: TreeEntry): Buffer {
  return encodeTree([entry]);
}

/** The first key that is not before it. */
function findPlace(keys: string[], key: string): number {
  let low = 0;
  for (let high = keys.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
