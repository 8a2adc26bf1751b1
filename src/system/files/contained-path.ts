/** Finds where a project path really is on disk, and whether teddy may change that place. */
import type { Stats } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { RepoPath } from '../../names.ts';
import { errorCode, fallBackTo } from '../../disk/system-error.ts';

/** `real` is absolute and free of symlinks; `stats` describe whatever exists at that path. */
export type Located =
  | { kind: 'found'; real: string; stats: Stats }
  | { kind: 'absent'; real: string }
  | { kind: 'outside'; link: RepoPath }
  | { kind: 'foreign'; repository: RepoPath }
  | { kind: 'blocked'; parent: RepoPath };

/** Linux's limit: a path that needs more symlinks than this is a loop. */
const maxLinks = 40;

/**
 * Resolves every symlink on the path, including dangling ones. Refuses a path as `outside` when it leaves the project
 * at `root`, is in a `.git` or in the root's `.teddy`, or loops. Opens nothing, so a FIFO cannot block it.
 */
export async function locate(root: string, path: RepoPath): Promise<Located> {
  const project = await realpath(root);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const links = { left: maxLinks };
  let real = project;
  let stats: Stats | null = await lstat(project);
  for (const [index, part] of parts.entries()) {
    const shown = parts.slice(0, index + 1).join('/') as RepoPath;
    const parent = parts.slice(0, index).join('/') as RepoPath;
    if (stats && !stats.isDirectory()) return { kind: 'blocked', parent };
    // A submodule or an embedded repository has its own `.git`.
    if (index > 0 && stats && (await lstatIfThere(join(real, '.git')))) return { kind: 'foreign', repository: parent };
    try {
      const next = await follow(real, part, links);
      if (next === null || !(await isContained(project, next))) return { kind: 'outside', link: shown };
      real = next;
      stats = await lstatIfThere(real);
    } catch (error) {
      // The symlink's target goes through a file.
      if (errorCode(error) === 'ENOTDIR') return { kind: 'blocked', parent: shown };
      throw error;
    }
  }
  return stats ? { kind: 'found', real, stats } : { kind: 'absent', real };
}

/**
 * Returns the real path of `target`, relative to the directory `from`; takes parts that do not exist literally. Returns
 * null for a loop.
 */
async function follow(from: string, target: string, links: { left: number }): Promise<string | null> {
  let at = isAbsolute(target) ? sep : from;
  for (const part of target.split('/')) {
    const next = join(at, part);
    const stats = await lstatIfThere(next, 'ENOTDIR');
    if (!stats?.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (links.left === 0) return null;
    links.left -= 1;
    const resolved = await follow(at, await readlink(next), links);
    if (resolved === null) return null;
    at = resolved;
  }
  return at;
}

async function isContained(project: string, real: string): Promise<boolean> {
  const inside = relative(project, real);
  if (inside === '') return true;
  const parts = inside.split(sep);
  const [first] = parts;
  if (first === undefined || first === '..' || isAbsolute(inside)) return false;
  if (parts.some(isGitName) || first.toLowerCase() === '.teddy') return false;
  const [top, git, teddy] = await Promise.all(
    [first, '.git', '.teddy'].map((name) => lstatIfThere(join(project, name))),
  );
  return !isSame(top, git) && !isSame(top, teddy);
}

/**
 * Recognizes `.git` in every spelling that some file system accepts: case, trailing dots and spaces, streams and short
 * names (NTFS), ignored characters (HFS+). Like git, refuses them all on every system, since people copy repositories
 * between systems.
 */
function isGitName(name: string): boolean {
  const plain = name
    .replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '')
    .replace(/:.*$/s, '')
    .replace(/[ .]+$/, '')
    .toLowerCase();
  return plain === '.git' || /^git~\d+$/.test(plain);
}

/** Catches file system spellings that no list of names covers. */
function isSame(a: Stats | null | undefined, b: Stats | null | undefined): boolean {
  return a != null && b != null && a.dev === b.dev && a.ino === b.ino;
}

/** Returns null when nothing exists at the path, or for one of the `tolerated` errors. */
function lstatIfThere(path: string, ...tolerated: string[]): Promise<Stats | null> {
  return lstat(path).catch(fallBackTo(null, 'ENOENT', ...tolerated));
}

/** Returns `path` and its parent directories that do not exist yet, outermost first. */
export async function missingDirectories(path: string): Promise<string[]> {
  return (await lstatIfThere(path)) ? [] : [...(await missingDirectories(dirname(path))), path];
}
