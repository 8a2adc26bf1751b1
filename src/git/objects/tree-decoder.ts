/** Decodes growing directories. Does not decode the part of a tree again that it shares with a recently decoded one. */
import type { TreeEntry, TreeChange } from '../../ports/git.ts';
import { decodeRow } from '../../session/entries/object-format.ts';
import { repoPathFromGit, type Oid, type RepoPath } from '../../names.ts';
import { toTree } from '../../session/paths/count-paths.ts';

interface DecodedTree {
  bytes: Buffer;
  entries: TreeEntry[];
  /** The start of each row, and the end of the last row. */
  starts: number[];
}

/** Smaller trees are always decoded afresh. */
const minBytes = 2048;
/** Larger trees are not cached, to limit memory. */
const maxBytes = 1024 * 1024;
const maxKept = 4;

/** Returns a decoder. Callers own its arrays but must not change the entries, which are shared. Throws as `decodeTree` does. */
export function treeDecoder(oidBytes: 20 | 32): (bytes: Buffer) => TreeEntry[] {
  let kept: DecodedTree[] = [];
  return (bytes) => {
    if (bytes.length < minBytes || bytes.length > maxBytes) return decodeFrom(bytes, oidBytes, null).entries;
    const [base = null] = kept.toSorted((a, b) => sharedStart(b.bytes, bytes) - sharedStart(a.bytes, bytes));
    const decoded = decodeFrom(bytes, oidBytes, base);
    // A tree's new version makes the older one useless.
    kept = [decoded, ...kept.filter((tree) => tree !== base)].slice(0, maxKept);
    return decoded.entries.slice();
  };
}

/** Reuses the rows of `base` before and after the changed part, because each row depends only on its own bytes. */
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

/** Counts the rows that end within the first `length` bytes. */
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

/** Finds the largest length up to `max` for which `isSame` returns true. */
function countSame(max: number, isSame: (length: number) => boolean): number {
  let low = 0;
  for (let high = max; low < high;) {
    const middle = (low + high + 1) >> 1;
    if (isSame(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Compares two trees by reading only the differing directories, which is faster than starting git. */
type ReadTree = (oid: Oid) => Promise<TreeEntry[]>;

/** Lists the changes in git's order. A rename is a deletion and an addition, as is a file that replaces a directory. */
export async function diffTrees(
  readTree: ReadTree,
  before: Oid | null,
  after: Oid,
  without?: RepoPath,
): Promise<TreeChange[]> {
  const changes: TreeChange[] = [];
  const tell: Tell = (path, old, now) => changes.push(toChange(path, old, now));
  await diffDirectories({ readTree, tell, without }, '', before, after);
  return changes.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

type Tell = (path: string, before: TreeEntry | undefined, after: TreeEntry | undefined) => void;

interface DiffOptions {
  readTree: ReadTree;
  tell: Tell;
  without: RepoPath | undefined;
}

async function diffDirectories(
  options: DiffOptions,
  below: string,
  before: Oid | null,
  after: Oid | null,
): Promise<void> {
  if (before === after) return;
  const { readTree, tell, without } = options;
  const [old, now] = await Promise.all(
    [before, after].map(async (oid) => toMap(oid === null ? [] : await readTree(oid))),
  );
  for (const name of new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])) {
    const [a, b] = [old?.get(name), now?.get(name)];
    if (a?.oid === b?.oid && a?.mode === b?.mode) continue;
    const path = `${below}${a?.name ?? b?.name ?? ''}`;
    if (path === without) continue;
    const [fileBefore, fileAfter] = [toFile(a), toFile(b)];
    if (fileBefore || fileAfter) tell(path, fileBefore, fileAfter);
    await diffDirectories(options, `${path}/`, toTree(a), toTree(b));
  }
}

/** Uses the raw bytes of names that are not UTF-8, because different names may decode to equal text. */
function toMap(entries: TreeEntry[]): Map<string, TreeEntry> {
  return new Map(entries.map((entry) => [entry.rawName ? `\0${entry.rawName.join(' ')}` : entry.name, entry]));
}

function toFile(entry: TreeEntry | undefined): TreeEntry | undefined {
  return entry?.mode === '40000' ? undefined : entry;
}

function toChange(path: string, before: TreeEntry | undefined, after: TreeEntry | undefined): TreeChange {
  return {
    path: repoPathFromGit(path),
    change: before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified',
    before: before?.oid ?? null,
    after: after?.oid ?? null,
    mode: after?.mode ?? null,
  };
}
