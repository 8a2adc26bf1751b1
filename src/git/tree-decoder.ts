/** Decodes directories that grow: what a tree has in common with one that was decoded shortly before is not read again. */
import type { TreeEntry } from '../ports/git.ts';
import { decodeRow } from '../session/object-format.ts';

interface DecodedTree {
  bytes: Buffer;
  entries: TreeEntry[];
  /** Where each row begins, and behind the last one. */
  starts: number[];
}

/** A smaller one is decoded at once. */
const minBytes = 2048;
/** A larger tree is not kept: memory has a limit. */
const maxBytes = 1024 * 1024;
const maxKept = 4;

/** The arrays are the caller's, their entries are shared: nobody may change one. Throws as `decodeTree` does. */
export function treeDecoder(oidBytes: 20 | 32): (bytes: Buffer) => TreeEntry[] {
  let kept: DecodedTree[] = [];
  return (bytes) => {
    if (bytes.length < minBytes || bytes.length > maxBytes) return decodeFrom(bytes, oidBytes, null).entries;
    const [base = null] = kept.toSorted((a, b) => sharedStart(b.bytes, bytes) - sharedStart(a.bytes, bytes));
    const decoded = decodeFrom(bytes, oidBytes, base);
    // A row that has only changed makes the older one worthless.
    kept = [decoded, ...kept.filter((tree) => tree !== base)].slice(0, maxKept);
    return decoded.entries.slice();
  };
}

/** The rows before and behind a place depend on their own bytes alone. */
function decodeFrom(bytes: Buffer, oidBytes: 20 | 32, base: DecodedTree | null): DecodedTree {
  const shared = base === null ? 0 : countStarts(base.starts, sharedStart(base.bytes, bytes));
  const entries = base?.entries.slice(0, shared) ?? [];
  const starts = base?.starts.slice(0, shared) ?? [];
  const sharedEndAt = base === null ? Infinity : bytes.length - sharedEnd(base.bytes, bytes);
  const grown = bytes.length - (base?.bytes.length ?? 0);
  let at = base?.starts[shared] ?? 0;
  while (at < bytes.length) {
    const known = base === null || at < sharedEndAt ? -1 : findStart(base.starts, at - grown);
    if (base !== null && known !== -1) {
      for (let row = known; row < base.entries.length; row += 1) {
        entries.push(base.entries[row]!);
        starts.push(base.starts[row]! + grown);
      }
      break;
    }
    const { entry, end } = decodeRow(bytes, at, oidBytes);
    entries.push(entry);
    starts.push(at);
    at = end;
  }
  starts.push(bytes.length);
  return { bytes, entries, starts };
}

/** How many rows end within the first `length` bytes. */
function countStarts(starts: readonly number[], length: number): number {
  let low = 0;
  for (let high = starts.length - 1; low < high;) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? Infinity) <= length) low = middle;
    else high = middle - 1;
  }
  return low;
}

function findStart(starts: readonly number[], at: number): number {
  const row = countStarts(starts, at);
  return starts[row] === at ? row : -1;
}

function sharedStart(a: Buffer, b: Buffer): number {
  return countSame(Math.min(a.length, b.length), (length) => a.compare(b, 0, length, 0, length) === 0);
}

function sharedEnd(a: Buffer, b: Buffer): number {
  return countSame(
    Math.min(a.length, b.length),
    (length) => a.compare(b, b.length - length, b.length, a.length - length, a.length) === 0,
  );
}

/** The largest length up to `max` at which they are the same. */
function countSame(max: number, isSame: (length: number) => boolean): number {
  let low = 0;
  for (let high = max; low < high;) {
    const middle = (low + high + 1) >> 1;
    if (isSame(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
