/** A directory as git encodes it, kept encoded: one row changes without the thousand others being sorted again. */
import type { TreeEntry, TreeMode } from '../ports.ts';
import type { Oid } from '../session/names.ts';
import { encodeTree } from './object-format.ts';

export interface DirectoryRows {
  /** What is hashed. Never changed in place: an older version may still be somebody's. */
  bytes: Buffer;
  /** The names in git's order, a character for each byte; those of directories with `/`. */
  keys: string[];
  /** Where the row of each begins. */
  starts: number[];
}

export function toRows(entries: TreeEntry[]): DirectoryRows {
  const sorted = entries.map((entry) => ({ entry, key: toKey(entry) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  let at = 0;
  const starts = sorted.map(({ entry }) => (at += toRow(entry).length) - toRow(entry).length);
  return { bytes: encodeTree(entries), keys: sorted.map(({ key }) => key), starts };
}

/** A name is that of a file or that of a directory; to make one of the other is not for here. */
export function setRow(rows: DirectoryRows, mode: TreeMode, name: string, oid: Oid): void {
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
