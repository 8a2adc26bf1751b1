/** The project's own files at one commit. Reads only the files that a request needs, because a large project has many. */
import type { TreeEntry, Store, TreeFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isOwn, namesOf, isPattern } from '../../session/context/context-target.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { renderTreeListing } from '../../session/paths/tree-listing.ts';
import { toText } from '../../view/view.ts';
import { parseContextLine, type ContextLine } from '../../session/context/context-lines.ts';

export interface CodeTree {
  /** Returns the files that these context list lines can match; for `resolveContext` they are equivalent to all files. */
  filesFor(lines: readonly string[], root: string | undefined): Promise<readonly TreeFile[]>;
  /** The list of all files in the form that the model sees. */
  listing(): Promise<string>;
}

export function openCodeTree(project: Project, tip: Oid): CodeTree {
  const { store, cache } = project.repository;
  let all: Promise<readonly TreeFile[]> | undefined;
  const readAll = () => (all ??= store.listTree(tip).then((files) => files.filter(({ path }) => !isOwn(path))));
  return {
    filesFor: async (lines, root) => all ?? (await readNamedFiles(store, tip, lines, root)) ?? readAll(),
    async listing() {
      const key = await toListingKey(project, tip);
      const known = await cache.read(key);
      if (known !== null) return toText(known);
      const listing = renderTreeListing(await readAll());
      await cache.write(key, [new TextEncoder().encode(listing)]);
      return listing;
    },
  };
}

/**
 * Returns the same key for all commits with the same code. Increase the number in it when the rendering of listings
 * changes.
 */
async function toListingKey({ repository, hash }: Project, tip: Oid): Promise<string> {
  const entries = (await repository.store.readDir(tip, '' as RepoPath))?.entries ?? [];
  const code = entries.filter(({ name }) => name !== '.teddy').map(({ mode, oid, name }) => `${mode} ${oid} ${name}`);
  return `tree-1-${hash(code.join('\0'))}`;
}

/** Each directory takes a git process; listing all files takes only one. */
const maxDirectories = 3;
/** No file system has longer paths, and the list may come from a model. */
const maxPathLength = 4096;
const ignoreFile = '.teddyignore';

/**
 * Returns the files sorted, with the `.teddyignore` files that apply to them. Returns null when any line matches all
 * files, or many directories. Paths may begin with `root`, which is absolute.
 */
export async function readNamedFiles(
  store: Store,
  tip: Oid,
  lines: readonly string[],
  root: string | undefined,
): Promise<TreeFile[] | null> {
  const walk = walkTree(store, tip);
  const found = new Map<string, TreeEntry>();
  for (const text of lines) {
    const line = parseContextLine(text);
    const named = line === null ? new Map<string, TreeEntry>() : await findNamed(line, root, walk);
    if (named === null) return null;
    for (const [path, entry] of named) found.set(path, entry);
  }
  const directories = [...found].filter(([, { mode }]) => mode === '40000');
  if (directories.length > maxDirectories) return null;
  const below = await Promise.all(directories.map(([path, { oid }]) => listBelow(store, path, oid)));
  const files = [...found].filter(([, { mode }]) => mode !== '40000').map(([path, entry]) => toFile(path, entry));
  const unique = new Map([...files, ...(await walk.ignoreFiles()), ...below.flat()].map((file) => [file.path, file]));
  return [...unique.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

interface TreeWalk {
  find(path: string): Promise<TreeEntry | null>;
  /** Returns the ignore files of every visited directory. */
  ignoreFiles(): Promise<TreeFile[]>;
}

/** Returns null when the line matches more files than teddy can look up by name. */
async function findNamed(
  line: ContextLine,
  root: string | undefined,
  walk: TreeWalk,
): Promise<Map<string, TreeEntry> | null> {
  const names = namesOf(line, root);
  if (names === null) return null;
  const named = new Map<string, TreeEntry>();
  for (const name of names) {
    const entry = await walk.find(name);
    if (entry !== null) named.set(name, entry);
  }
  return named.size === 0 && isPattern(line.text) ? null : named;
}

/** Reads every directory on the path only once. */
function walkTree(store: Store, tip: Oid): TreeWalk {
  const directories = new Map<string, Promise<TreeEntry[]>>();
  const readOnce = (path: string, read: () => Promise<TreeEntry[]>) => {
    const entries = directories.get(path) ?? read();
    directories.set(path, entries);
    return entries;
  };
  const find = async (path: string): Promise<TreeEntry | null> => {
    if (path.length > maxPathLength || path.startsWith('/') || path.includes('//')) return null;
    const cut = path.lastIndexOf('/');
    const name = path.slice(cut + 1);
    const entries = await entriesOf(cut === -1 ? '' : path.slice(0, cut));
    return entries.find((entry) => entry.name === name) ?? null;
  };
  const entriesOf = async (path: string): Promise<TreeEntry[]> => {
    if (path === '') return readOnce('', () => readRoot(store, tip));
    const directory = await find(path);
    return directory?.mode === '40000' ? readOnce(path, () => store.readTree(directory.oid)) : [];
  };
  return {
    find,
    async ignoreFiles() {
      const read = await Promise.all(
        [...directories].map(async ([path, entries]) => ({ path, entries: await entries })),
      );
      return read.flatMap(({ path, entries }) => {
        const entry = entries.find(({ name }) => name === ignoreFile);
        return entry ? [toFile(path === '' ? ignoreFile : `${path}/${ignoreFile}`, entry)] : [];
      });
    },
  };
}

/** Omits teddy's own files, which are not part of the code. */
async function readRoot(store: Store, tip: Oid): Promise<TreeEntry[]> {
  const root = await store.readDir(tip, '' as RepoPath);
  return root?.entries.filter(({ name }) => name !== '.teddy') ?? [];
}

async function listBelow(store: Store, directory: string, tree: Oid): Promise<TreeFile[]> {
  const files = await store.listTree(tree);
  return files.map((file) => ({ ...file, path: `${directory}/${file.path}` as RepoPath }));
}

function toFile(path: string, { mode, oid }: TreeEntry): TreeFile {
  return { path: path as RepoPath, mode, oid };
}
