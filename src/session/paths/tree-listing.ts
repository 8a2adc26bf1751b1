/** Lists the project's files within a line limit, by folding deep and large directories first. */
import type { TreeFile } from '../../ports/git.ts';
import { renderPathWord } from './paths.ts';

interface Directory {
  /** The path with a final `/`; empty for the project itself. */
  path: string;
  depth: number;
  /** The children in tree order. */
  children: (Directory | string)[];
  /** The number of files below, at any depth. */
  fileCount: number;
  folded: boolean;
}

/**
 * Lists one path per line, in the order of `files` (sorted by path), without `.teddy`. If that takes more than
 * `maxLines` lines, folds directories to one line each, `dir/ (123 files)`; shallow and small ones stay open.
 */
export function renderTreeListing(files: readonly TreeFile[], maxLines = 2000): string {
  const root = growDirectories(files);
  unfold(root, maxLines);
  const lines = listLines(root);
  if (lines.length <= maxLines) return joinLines(lines);
  const kept = lines.slice(0, maxLines - 1);
  return joinLines([...kept, `(${lines.length - kept.length} more in the project's root)`]);
}

function growDirectories(files: readonly TreeFile[]): Directory {
  const root: Directory = { path: '', depth: 0, children: [], fileCount: 0, folded: true };
  const known = new Map<string, Directory>([['', root]]);
  const directoryAt = (path: string): Directory => {
    const found = known.get(path);
    if (found) return found;
    const parent = directoryAt(path.slice(0, path.lastIndexOf('/', path.length - 2) + 1));
    const made: Directory = { path, depth: parent.depth + 1, children: [], fileCount: 0, folded: true };
    parent.children.push(made);
    known.set(path, made);
    return made;
  };
  let current = root;
  for (const { path } of files) {
    if (path.startsWith('.teddy/')) continue;
    const parent = path.slice(0, path.lastIndexOf('/') + 1);
    if (parent !== current.path) current = directoryAt(parent);
    current.children.push(path);
  }
  countFiles(root);
  return root;
}

function countFiles(directory: Directory): number {
  directory.fileCount = 0;
  for (const child of directory.children) directory.fileCount += typeof child === 'string' ? 1 : countFiles(child);
  return directory.fileCount;
}

/** Opens directories level by level, fewest children first, while the list fits. */
function unfold(root: Directory, maxLines: number): void {
  root.folded = false;
  let lines = root.children.length;
  let level = subdirectories(root);
  while (level.length > 0) {
    // The sort is stable, so equal ones stay in tree order.
    level.sort((a, b) => a.children.length - b.children.length);
    for (const directory of level) {
      directory.folded = lines + directory.children.length - 1 > maxLines;
      if (!directory.folded) lines += directory.children.length - 1;
    }
    level = level.filter((directory) => !directory.folded).flatMap(subdirectories);
  }
}

function subdirectories(directory: Directory): Directory[] {
  return directory.children.filter((child) => typeof child !== 'string');
}

function listLines(directory: Directory, lines: string[] = []): string[] {
  for (const child of directory.children) {
    if (typeof child === 'string') lines.push(renderPathWord(child));
    else if (!child.folded) listLines(child, lines);
    else lines.push(`${renderPathWord(child.path)} (${child.fileCount} ${child.fileCount === 1 ? 'file' : 'files'})`);
  }
  return lines;
}

function joinLines(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
