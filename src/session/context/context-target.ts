/** Resolves a line in a context list to a file, a directory, a pattern, a page, or nothing that may be shown. */
import { type PathMatcher } from '../paths/context-glob.ts';
import { unwrapPath } from '../paths/path-marks.ts';
import { parseRepoPath } from '../paths/paths.ts';
import { parsePageUrl } from '../masks/urls.ts';
import type { TreeFile } from '../../ports/git.ts';
import type { ContextLine } from './context-lines.ts';
import type { RepoPath } from '../../names.ts';
import type { SortedTree } from '../paths/sorted-tree.ts';

export interface Surroundings {
  tree: SortedTree;
  /** The absolute root, to strip from the front of paths. */
  root: string | undefined;
  /** Null while no line has a pattern. */
  compileGlob: ((pattern: string) => PathMatcher | { problem: string }) | null;
}

export type Target =
  | { kind: 'file'; file: TreeFile }
  | { kind: 'directory'; path: string }
  /** `path` is the file that the pattern would name as a literal name. */
  | { kind: 'pattern'; path: RepoPath; matches: PathMatcher }
  | { kind: 'absent'; path: RepoPath }
  /** `page` is the URL to fetch. */
  | { kind: 'url'; url: string; page: string }
  | { kind: 'refused'; reason: string };

export function findTarget(line: ContextLine, around: Surroundings): Target {
  // A literal name takes precedence, so that an existing `[id].ts` is a file and not a pattern.
  const asWritten = lookUp(line.text, around);
  if (asWritten) return asWritten;
  const text = unwrap(line);
  if (isUrl(text)) return toUrl(text);
  if (line.literal) return toPath(text, around);
  if (isRoot(text, around.root)) return { kind: 'directory', path: '' };
  const target = toPath(text, around);
  if (target.kind !== 'absent') return target;
  return lookUp(target.path, around) ?? (isPattern(text) ? toPattern(text, target.path, around) : target);
}

/** Returns every name that `findTarget` may look up in the tree for a line; null when the line means the whole project. */
export function namesOf(line: ContextLine, root: string | undefined): string[] | null {
  const written = line.text.replace(/\/+$/, '');
  if (line.literal || isUrl(line.text)) return [written];
  const text = unwrap(line);
  if (isUrl(text)) return [written];
  if (isRoot(text, root)) return null;
  const parsed = parseRepoPath(text, root);
  return 'problem' in parsed ? [written] : [...new Set([written, parsed.path])];
}

export function isPattern(text: string): boolean {
  return /[*?[{]/.test(text);
}

/** Returns a predicate that is true for each path, existing or not, that a line with this target covers. */
export function coversPath(target: Target): (path: string) => boolean {
  switch (target.kind) {
    case 'file':
      return (path) => path === target.file.path;
    case 'directory':
      return (path) => isBelow(path, target.path);
    case 'pattern':
      return (path) => path === target.path || target.matches(path);
    case 'absent':
      return (path) => path === target.path || isBelow(path, target.path);
    case 'url':
      return (path) => path === target.url;
    case 'refused':
      return () => false;
  }
}

/** Returns true if a file is teddy's own; the tree contains these files too. */
export function isOwn(path: string): boolean {
  return path.startsWith('.teddy/');
}

/** Finds the file or directory with this name; null when the tree contains neither. */
function lookUp(text: string, { tree }: Surroundings): Target | null {
  const file = tree.file(text);
  if (file) return isOwn(file.path) ? null : { kind: 'file', file };
  const path = text.replace(/\/+$/, '');
  const first = path === '' ? undefined : tree.filesBelow(path)[0];
  return first === undefined || isOwn(first.path) ? null : { kind: 'directory', path };
}

/** Parses the path that a text names, when the tree has no entry for it. */
function toPath(text: string, { root }: Surroundings): Target {
  const parsed = parseRepoPath(text, root);
  return 'problem' in parsed ? { kind: 'refused', reason: parsed.problem } : { kind: 'absent', path: parsed.path };
}

/**
 * Compiles a pattern. `path` is the pattern with `..`, the root and repeated slashes resolved; only `text` still shows
 * whether the pattern was anchored.
 */
function toPattern(text: string, path: RepoPath, { compileGlob }: Surroundings): Target {
  const isAnchored = /[/\\]/.test(text.replace(/[/\\]+$/, ''));
  const isDirectory = /[/\\]$/.test(text);
  const matches = compileGlob?.(`${isAnchored ? '/' : ''}${path}${isDirectory ? '/' : ''}`) ?? (() => false);
  return typeof matches === 'function'
    ? { kind: 'pattern', path, matches }
    : { kind: 'refused', reason: matches.problem };
}

function toUrl(url: string): Target {
  const parsed = parsePageUrl(url);
  return 'problem' in parsed ? { kind: 'refused', reason: parsed.problem } : { kind: 'url', url, page: parsed.url };
}

function unwrap({ text, literal }: ContextLine): string {
  return !literal && /^[`[]/.test(text) ? unwrapPath(text) : text;
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function isRoot(text: string, root: string | undefined): boolean {
  return /^(?:\.?\/)*\.?$/.test(text) || text.replace(/\/$/, '') === root;
}

/** Returns true if the path is below the directory. An empty directory means the whole project; a URL is in none. */
function isBelow(path: string, directory: string): boolean {
  return directory === '' ? !path.includes('://') : path.startsWith(`${directory}/`);
}
