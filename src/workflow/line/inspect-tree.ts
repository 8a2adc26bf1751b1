/** Shows a commit's files as a plan sees the files in a work tree: follows links, but never out of the project. */
import type { Inspect } from '../../plan/effects/virtual-files.ts';
import type { FileTarget } from '../../ports/files.ts';
import type { Store, TreeEntry } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';

/** The number of links that a system follows before it reports a loop. */
const maxLinks = 40;

/** With `large`, the file is over the limit and was not read. */
export type FoundInTree = FileTarget | { kind: 'large' };

interface Tree {
  store: Store;
  maxBytes: number;
  /** Returns the entry at a path that contains no link. */
  find(path: string): Promise<TreeEntry | null>;
}

export function inspectTree(store: Store, treeish: Oid): Inspect;
export function inspectTree(store: Store, treeish: Oid, maxBytes: number): (path: RepoPath) => Promise<FoundInTree>;
export function inspectTree(store: Store, treeish: Oid, maxBytes = Number.POSITIVE_INFINITY) {
  const listed = new Map<string, Promise<TreeEntry[]>>();
  const list = (dir: string) => {
    const known = listed.get(dir) ?? store.readDir(treeish, dir as RepoPath).then((found) => found?.entries ?? []);
    listed.set(dir, known);
    return known;
  };
  const find = async (path: string) => {
    const slash = path.lastIndexOf('/');
    const entries = await list(slash === -1 ? '' : path.slice(0, slash));
    return entries.find(({ name }) => name === path.slice(slash + 1)) ?? null;
  };
  return (path: RepoPath) => look({ store, maxBytes, find }, path, 0);
}

async function look(tree: Tree, path: string, links: number): Promise<FoundInTree> {
  const direct = await tree.find(path);
  if (direct !== null) return toTarget(tree, path, direct, '', links);
  const names = path.split('/');
  for (let count = 1; count < names.length; count += 1) {
    const above = names.slice(0, count).join('/');
    const entry = await tree.find(above);
    if (entry === null) return { kind: 'absent' };
    if (entry.mode === '40000') continue;
    if (entry.mode === '120000') return toTarget(tree, above, entry, names.slice(count).join('/'), links);
    if (entry.mode === '160000') return { kind: 'foreign', repository: above as RepoPath };
    return { kind: 'blocked', parent: above as RepoPath };
  }
  return { kind: 'absent' };
}

/** Returns an entry's target; `rest` is the part of the path below the entry. */
async function toTarget(
  tree: Tree,
  path: string,
  { mode, oid }: TreeEntry,
  rest: string,
  links: number,
): Promise<FoundInTree> {
  if (mode === '40000') return { kind: 'directory' };
  if (mode === '160000') return { kind: 'foreign', repository: path as RepoPath };
  if (mode !== '120000' && ((await tree.store.readSize(oid)) ?? 0) > tree.maxBytes) return { kind: 'large' };
  const bytes = await tree.store.readBlob(oid);
  if (mode !== '120000') return { kind: 'file', bytes, executable: mode === '100755' };
  const place = links < maxLinks ? resolveLink(path, new TextDecoder().decode(bytes)) : null;
  if (place === null) return { kind: 'outside', link: path as RepoPath };
  const real = [place, rest].filter((part) => part !== '').join('/');
  const found: FoundInTree = real === '' ? { kind: 'directory' } : await look(tree, real, links + 1);
  return found.kind === 'file' || found.kind === 'absent' ? { real: real as RepoPath, ...found } : found;
}

/** Returns null when the link leads out of the project, or into `.git` or `.teddy`. */
function resolveLink(path: string, target: string): string | null {
  if (target.startsWith('/')) return null;
  const parts = path.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..' && parts.pop() === undefined) return null;
    if (part !== '' && part !== '.' && part !== '..') parts.push(part);
  }
  return parts[0] === '.git' || parts[0] === '.teddy' ? null : parts.join('/');
}
