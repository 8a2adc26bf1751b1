/** The files of a tree, found by path or by directory without walking through all of them. */
import type { TreeFile } from '../../ports/git.ts';

export interface SortedTree {
  /** Null when there is no file of that name. */
  file(path: string): TreeFile | null;
  /** In the order of the tree; the empty directory is the whole project. */
  filesBelow(directory: string): readonly TreeFile[];
}

/** `files` as git lists them; what comes in another order is sorted, so that no file can be missed. */
export function sortTree(files: readonly TreeFile[]): SortedTree {
  const sorted = isSorted(files) ? files : files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    file(path) {
      const found = sorted[firstFrom(sorted, path)];
      return found?.path === path ? found : null;
    },
    filesBelow(directory) {
      if (directory === '') return sorted;
      // `0` is the character after `/`.
      return sorted.slice(firstFrom(sorted, `${directory}/`), firstFrom(sorted, `${directory}0`));
    },
  };
}

/** git sorts by bytes and this by UTF-16 units, which differs for rare characters only. */
function isSorted(files: readonly TreeFile[]): boolean {
  for (let at = 1; at < files.length; at += 1) {
    if ((files[at - 1]?.path ?? '') > (files[at]?.path ?? '')) return false;
  }
  return true;
}

/** The index of the first file whose path is not before `path`. */
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
