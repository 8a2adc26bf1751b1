/** Finds a tree's files by path or by directory without visiting all of them. */
import type { TreeFile } from '../../ports/git.ts';

export interface SortedTree {
  /** Returns null when there is no file with that path. */
  file(path: string): TreeFile | null;
  /** Lists files in tree order; the empty directory is the whole project. */
  filesBelow(directory: string): readonly TreeFile[];
}

/** Takes files in git's order, and sorts them again if UTF-16 order differs, so that no lookup misses a file. */
export function sortTree(files: readonly TreeFile[]): SortedTree {
  const sorted = isSorted(files) ? files : files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    file(path) {
      const found = sorted[firstFrom(sorted, path)];
      return found?.path === path ? found : null;
    },
    filesBelow(directory) {
      if (directory === '') return sorted;
      // In UTF-16, `0` is the character after `/`.
      return sorted.slice(firstFrom(sorted, `${directory}/`), firstFrom(sorted, `${directory}0`));
    },
  };
}

/** Returns true if the files are sorted by UTF-16 units. git sorts by bytes, which differs only for rare characters. */
function isSorted(files: readonly TreeFile[]): boolean {
  for (let at = 1; at < files.length; at += 1) {
    if ((files[at - 1]?.path ?? '') > (files[at]?.path ?? '')) return false;
  }
  return true;
}

/** Returns the index of the first file whose path does not sort before `path`. */
function firstFrom(files: readonly TreeFile[], path: string): number {
  let low = 0;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((files[middle]?.path ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return low;
}
