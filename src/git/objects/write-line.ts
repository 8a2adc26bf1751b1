/** Writes many consecutive commits as one pack, without a process, a file and a sync for each. */
import type { LineCommit, TreeEntry, TreeMode } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { encodeCommit, encodeTree } from '../../session/entries/object-format.ts';
import type { ObjectWriterOptions } from './object-writer.ts';
import { findSharedEnds, openPack, openSeries, type PackFile, type SharedEnds, type Series } from './pack-file.ts';

export interface LineParent {
  oid: Oid;
  tree: Oid;
  readTree(oid: Oid): Promise<TreeEntry[]>;
}

interface Directory extends DirectoryRows {
  series: Series;
  /** The most recently changed subdirectory. */
  below: { name: string; directory: Directory } | null;
  oidOf: Map<string, Oid>;
  /** The subdirectories changed before `below`. Their trees cannot be read until the pack is complete. */
  left: Set<string>;
}

/** Implements `Store.writeLine`. */
export async function writeLine(
  options: ObjectWriterOptions,
  parent: LineParent,
  commits: AsyncIterable<LineCommit>,
): Promise<Oid> {
  const pack = await openPack(options);
  const line: Line = { pack, readTree: parent.readTree, files: new Map() };
  try {
    const root = toDirectory(await parent.readTree(parent.tree));
    let tip = parent.oid;
    for await (const commit of commits) {
      tip = await writeOne(line, root, tip, commit);
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

interface Line {
  pack: PackFile;
  readTree: LineParent['readTree'];
  /** Keyed by file name. */
  files: Map<string, Series>;
}

async function writeOne(
  line: Line,
  root: Directory,
  tip: Oid,
  { author, committer, message, files }: LineCommit,
): Promise<Oid> {
  let tree: Oid | null = null;
  for (const { path, bytes } of files) {
    const parts = path.split('/');
    const name = parts.at(-1) ?? '';
    const series = line.files.get(name) ?? openSeries();
    line.files.set(name, series);
    tree = await setFile(line, root, parts, line.pack.add('blob', toBuffer(bytes), series));
  }
  if (tree === null) throw new Error('An entry of a line needs at least one file.');
  return line.pack.add('commit', encodeCommit({ tree, parents: [tip], author, committer, message }), null);
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

async function setFile(line: Line, directory: Directory, [name = '', ...below]: string[], blob: Oid): Promise<Oid> {
  const child = below.length === 0 ? null : await openBelow(line, directory, name);
  const same =
    child === null
      ? setRow(directory, '100644', name, blob)
      : setRow(directory, '40000', name, await setFile(line, child, below, blob));
  return line.pack.add('tree', directory.bytes.subarray(0, directory.length), directory.series, same);
}

async function openBelow({ readTree }: Line, directory: Directory, name: string): Promise<Directory> {
  if (directory.below?.name === name) return directory.below.directory;
  if (directory.below !== null) directory.left.add(directory.below.name);
  if (directory.left.has(name))
    throw new Error(`The directory ${name} was completed before and cannot be changed again.`);
  const oid = directory.oidOf.get(name);
  directory.below = { name, directory: toDirectory(oid === undefined ? [] : await readTree(oid)) };
  return directory.below.directory;
}

function toDirectory(entries: TreeEntry[]): Directory {
  const directories = entries.filter(({ mode, rawName }) => mode === '40000' && rawName === undefined);
  const oidOf = new Map(directories.map(({ name, oid }) => [name, oid]));
  return { series: openSeries(), below: null, oidOf, left: new Set(), ...toRows(entries) };
}

interface DirectoryRows {
  /** The hashed bytes, and room for more. They change in place, because a directory with many turns is megabytes in size. */
  bytes: Buffer;
  length: number;
  /** The names in git's order, with one character per byte and a trailing `/` for directories. */
  keys: string[];
  /** The start of each row. */
  starts: number[];
}

/**
 * Encodes a directory as git does and keeps the encoded form, so that changing one row does not sort the thousands of
 * others again.
 */
function toRows(entries: TreeEntry[]): DirectoryRows {
  const sorted = entries.map((entry) => ({ entry, key: toKey(entry) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  let at = 0;
  const starts = sorted.map(({ entry }) => (at += toRow(entry).length) - toRow(entry).length);
  const bytes = encodeTree(entries);
  return { bytes, length: bytes.length, keys: sorted.map(({ key }) => key), starts };
}

/**
 * Sets one row, and returns how much the directory shares with its previous version. Cannot turn a file into a
 * directory or a directory into a file.
 */
function setRow(rows: DirectoryRows, mode: TreeMode, name: string, oid: Oid): SharedEnds {
  const key = toKey({ mode, name });
  const at = findPosition(rows.keys, key);
  const row = toRow({ mode, name, oid });
  const start = rows.starts[at] ?? rows.length;
  const isThere = rows.keys[at] === key;
  const end = isThere ? (rows.starts[at + 1] ?? rows.length) : start;
  const after = rows.length - end;
  const same = findSharedEnds(rows.bytes.subarray(start, end), row);
  const added = row.length - (end - start);
  if (rows.length + added > rows.bytes.length)
    rows.bytes = Buffer.concat([rows.bytes.subarray(0, rows.length)], 2 * (rows.length + added));
  if (added !== 0) rows.bytes.copyWithin(end + added, end, rows.length);
  row.copy(rows.bytes, start);
  rows.length += added;
  if (!isThere) {
    rows.keys.splice(at, 0, key);
    rows.starts.splice(at, 0, start);
  }
  if (added !== 0) for (let next = at + 1; next < rows.starts.length; next += 1) rows.starts[next]! += added;
  return { before: start + same.before, after: after + same.after };
}

function toKey({ mode, name, rawName }: Pick<TreeEntry, 'mode' | 'name' | 'rawName'>): string {
  const bytes = rawName === undefined ? Buffer.from(name) : Buffer.from(rawName);
  return bytes.toString('latin1') + (mode === '40000' ? '/' : '');
}

function toRow(entry: TreeEntry): Buffer {
  return encodeTree([entry]);
}

/** Finds the first key that does not sort before `key`. */
function findPosition(keys: string[], key: string): number {
  let low = 0;
  for (let high = keys.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
