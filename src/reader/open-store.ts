/** Makes a repository that isomorphic-git reads look like the workflows' store. Writes nothing. */
import { getConfig, listRefs, readObject, resolveRef } from 'isomorphic-git';
import { DamagedObjectError, TeddyError } from '../errors.ts';
import { isOid, type Oid, type RefName, type RepoPath } from '../names.ts';
import type { Cache, Commit, FileBelow, RefTip, SessionStore, TreeEntry } from '../ports/git.ts';
import { decodeCommit, decodeTree } from '../session/entries/object-format.ts';
import type { DatedSource } from '../session/lines/main-lines.ts';
import { openFiles, type FileSystem } from './file-system.ts';

/** A repository's location, in isomorphic-git's form. */
export interface RepositoryOptions {
  /** The file system: `node:fs`, memfs, or one for browsers, with promises or with callbacks. */
  fs: FileSystem;
  /** The work tree, whose repository is `<dir>/.git`. */
  dir?: string | undefined;
  /** The repository itself: a bare one, or the `.git` of a work tree. Takes precedence over `dir`. */
  gitdir?: string | undefined;
  /**
   * An object that keeps packs, commits and results between calls; pass the same object to all calls for a repository.
   * By default, each call rereads every pack that it needs. Packs stay in memory as long as this object.
   */
  cache?: object | undefined;
}

/** Everything read from one repository. It never becomes outdated, because object IDs are its keys. */
interface Kept {
  commits: Map<Oid, Promise<Commit>>;
  rows: Cache;
}

const kept = new WeakMap<object, Map<string, Kept>>();
const hint = 'Check the repository with `git fsck`. Missing objects may be in another clone: `git fetch`.';

/** An open repository. */
interface Repo {
  at: { fs: FileSystem; gitdir: string; cache: object };
  commits: Kept['commits'];
  /** The commits where a shallow clone cuts off the history. */
  cut: ReadonlySet<string>;
}

/** Throws NOT_A_REPOSITORY, and UNKNOWN_FORMAT for a repository that isomorphic-git cannot read. */
export async function openStore(options: RepositoryOptions): Promise<DatedSource> {
  const { fs, cache = {} } = options;
  const gitdir = await findGitdir(options);
  await refuseOtherFormats(options, gitdir);
  const { commits, rows } = keptOf(cache, gitdir);
  const cut = new Set((await readText(options, `${gitdir}/shallow`))?.trim().split('\n'));
  const store = storeOf({ at: { fs, gitdir, cache }, commits, cut });
  return { clock: { now: () => new Date() }, repository: { store, cache: rows } };
}

function storeOf(repo: Repo): SessionStore {
  return {
    readBlob: (oid) => read(repo, oid, 'blob'),
    streamBlob: async (oid, take) => take(await read(repo, oid, 'blob')),
    readCommit: (oid) => readCommit(repo, oid),
    async readDir(treeish, path) {
      const entry = await findEntry(repo, treeish, path);
      return entry?.mode === '40000' ? { oid: entry.oid, entries: await readTree(repo, entry.oid) } : null;
    },
    hasPath: async (treeish, path) => (await findEntry(repo, treeish, path)) !== null,
    async resolve(revision) {
      const oid = isOid(revision) ? revision : await toOid(repo, revision);
      return oid !== null && (await isCommit(repo, oid)) ? oid : null;
    },
    listRefs: (...prefixes) => listTips(repo, prefixes),
    async readFile(treeish, path) {
      const entry = await findEntry(repo, treeish, path);
      if (entry === null || entry.mode === '40000') return null;
      return { mode: entry.mode, oid: entry.oid, bytes: await read(repo, entry.oid, 'blob') };
    },
    readSize: async (oid) => (await readRaw(repo, oid))?.object.length ?? null,
    firstParents: (from, not = []) => walkFirst(repo, from, not),
    firstParentsOf: (tips) => walkFirstOf(repo, tips),
    async isAncestor(ancestor, descendant) {
      for await (const oid of walkAll(repo, descendant)) if (oid === ancestor) return true;
      return false;
    },
    async findReachable(text, from, not) {
      const without = await reachedBy(repo, not);
      const found: Oid[] = [];
      for await (const oid of walkAll(repo, from))
        if (!without.has(oid) && (await readCommit(repo, oid)).message.includes(text)) found.push(oid);
      return found;
    },
    async *readFilesBelow(treeish, dir, isWanted) {
      const entry = await findEntry(repo, treeish, dir);
      if (entry?.mode === '40000') yield* readBelow(repo, entry.oid, '', isWanted);
    },
    setting: async (path): Promise<string | undefined> => getConfig({ ...repo.at, path }),
  };
}

async function read(repo: Repo, oid: Oid, type: 'blob' | 'tree' | 'commit'): Promise<Buffer> {
  const found = await readRaw(repo, oid);
  if (found?.type === type) return found.object as Buffer;
  const what = found === null ? `The ${type} ${oid} is missing.` : `${oid} is a ${found.type}, not a ${type}.`;
  throw new TeddyError('DAMAGED_SESSION', what, hint);
}

async function readRaw({ at }: Repo, oid: Oid) {
  try {
    // A file that is not an object has no type; the caller refuses an object of another type.
    return (await readObject({ ...at, oid, format: 'content' })) as { type?: string; object: Uint8Array };
  } catch (error) {
    if ((error as { code?: unknown }).code === 'NotFoundError') return null;
    throw new TeddyError('DAMAGED_SESSION', `The object ${oid} cannot be read: ${reasonOf(error)}`, hint, {
      cause: error,
    });
  }
}

function readCommit(repo: Repo, oid: Oid): Promise<Commit> {
  const reading = repo.commits.get(oid) ?? read(repo, oid, 'commit').then(decodeCommit);
  repo.commits.set(oid, reading);
  reading.catch(() => repo.commits.delete(oid));
  return reading;
}

async function isCommit(repo: Repo, oid: Oid): Promise<boolean> {
  return repo.commits.has(oid) || (await readRaw(repo, oid))?.type === 'commit';
}

async function readTree(repo: Repo, oid: Oid): Promise<TreeEntry[]> {
  return decodeTree(await read(repo, oid, 'tree'), 20);
}

async function findEntry(repo: Repo, treeish: Oid, path: RepoPath): Promise<TreeEntry | null> {
  const found = repo.commits.has(treeish) ? null : await readRaw(repo, treeish);
  const root = found?.type === 'tree' ? treeish : (await readCommit(repo, treeish)).tree;
  let entry: TreeEntry | null = { mode: '40000', name: '', oid: root };
  for (const part of path.split('/')) {
    if (entry?.mode !== '40000') return null;
    entry = (await readTree(repo, entry.oid)).find(({ name }) => name === part) ?? null;
  }
  return entry;
}

/** Yields the files of one directory at a time. */
async function* readBelow(
  repo: Repo,
  tree: Oid,
  prefix: string,
  isWanted: (path: string) => boolean,
): AsyncGenerator<FileBelow[]> {
  const entries = await readTree(repo, tree);
  const files = entries.filter(({ mode, name }) => mode.startsWith('100') && isWanted(prefix + name));
  if (files.length > 0)
    yield await Promise.all(
      files.map(async ({ name, oid }) => ({ path: prefix + name, bytes: await read(repo, oid, 'blob') })),
    );
  for (const { mode, name, oid } of entries)
    if (mode === '40000') yield* readBelow(repo, oid, `${prefix}${name}/`, isWanted);
}

async function listTips(repo: Repo, prefixes: readonly string[]): Promise<RefTip[]> {
  const lists = await Promise.all(
    prefixes.map(async (prefix) => {
      const below = prefix.replace(/\/$/, '');
      const names = await listRefs({ ...repo.at, filepath: below });
      return Promise.all(
        names
          .filter((name) => !name.endsWith('.lock') && !name.startsWith(below))
          .map(async (name) => ({ ref: `${below}/${name}` as RefName, oid: await toOid(repo, `${below}/${name}`) })),
      );
    }),
  );
  return lists.flat().flatMap(({ ref, oid }) => (oid === null ? [] : [{ ref, oid }]));
}

/** Returns null for a name that is not a ref, or for a ref that points to nothing. */
async function toOid({ at }: Repo, ref: string): Promise<Oid | null> {
  try {
    const oid = await resolveRef({ ...at, ref });
    return isOid(oid) ? oid : null;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'NotFoundError' || code === 'InternalError') return null;
    throw error;
  }
}

async function* walkFirst(repo: Repo, from: Oid, not: readonly Oid[]) {
  const without = await reachedBy(repo, not);
  for (let next: Oid | null = from; next !== null && !without.has(next);) {
    // The walk ends where the available history ends, even if no shallow clone declares that commit.
    if (next !== from && !(await isCommit(repo, next))) return;
    const oid: Oid = next;
    const commit = await readCommit(repo, oid);
    yield { oid, commit };
    next = parentOf(repo, oid, commit);
  }
}

async function* walkFirstOf(repo: Repo, tips: Iterable<Oid>) {
  const seen = new Set<Oid>();
  // All tips advance in turn, so that no walk continues to the root when another walk would soon end them all.
  for (let at: readonly Oid[] = [...new Set(tips)]; at.length > 0;) {
    const next: Oid[] = [];
    for (const oid of at) {
      if (seen.has(oid)) continue;
      seen.add(oid);
      const commit = await readCommit(repo, oid).catch((error: unknown) => {
        throw error instanceof TeddyError ? new DamagedObjectError(error.message, error.hint) : error;
      });
      const parent = parentOf(repo, oid, commit);
      yield { ...commit, oid, parent };
      if (parent !== null) next.push(parent);
    }
    at = next;
  }
}

/** Returns null at the end of the history, including where a shallow clone cuts it off. */
function parentOf({ cut }: Repo, oid: Oid, { parents: [parent] }: Commit): Oid | null {
  return cut.has(oid) ? null : (parent ?? null);
}

async function reachedBy(repo: Repo, tips: readonly Oid[]): Promise<Set<Oid>> {
  const reached = new Set<Oid>();
  for (const tip of tips) for await (const oid of walkAll(repo, tip)) reached.add(oid);
  return reached;
}

/** Yields every commit reachable from `from` through any parent, each once. */
async function* walkAll(repo: Repo, from: Oid): AsyncGenerator<Oid> {
  const seen = new Set([from]);
  for (const oid of seen) {
    yield oid;
    if (repo.cut.has(oid)) continue;
    for (const parent of (await readCommit(repo, oid)).parents) seen.add(parent);
  }
}

function keptOf(cache: object, gitdir: string): Kept {
  const ofCache = kept.get(cache) ?? new Map<string, Kept>();
  kept.set(cache, ofCache);
  const rows = new Map<string, Uint8Array>();
  const found = ofCache.get(gitdir) ?? {
    commits: new Map(),
    rows: {
      read: async (key) => rows.get(key) ?? null,
      // Everything written here is short, and arrives in one piece.
      write: async (key, [piece = new Uint8Array()]) => void rows.set(key, piece),
    },
  };
  ofCache.set(gitdir, found);
  return found;
}

/** Throws USAGE. */
export function gitdirOf({ dir, gitdir }: Pick<RepositoryOptions, 'dir' | 'gitdir'>): string {
  const found = gitdir ?? (dir === undefined ? undefined : `${dir.replace(/\/+$/, '')}/.git`);
  if (found !== undefined) return found.length > 1 ? found.replace(/\/+$/, '') : found;
  throw new TeddyError('USAGE', 'Neither `dir` nor `gitdir` is given.', "Pass a repository's directory as `dir`.");
}

async function findGitdir(options: RepositoryOptions): Promise<string> {
  const gitdir = gitdirOf(options);
  if ((await readText(options, `${gitdir}/HEAD`)) !== null) return gitdir;
  const link = /^gitdir: (.+)/.exec((await readText(options, gitdir)) ?? '')?.[1];
  throw new TeddyError(
    'NOT_A_REPOSITORY',
    link === undefined
      ? `${gitdir} is not a git repository.`
      : `${gitdir} belongs to a linked work tree or a submodule.`,
    link === undefined
      ? 'Pass the work tree as `dir`, or the repository itself as `gitdir`.'
      : `Pass the repository itself as \`gitdir\`: ${link.replace(/\/worktrees\/[^/]+\/?$/, '')}`,
  );
}

/** Throws UNKNOWN_FORMAT, because isomorphic-git would find no ref or object and not explain why. */
async function refuseOtherFormats(options: RepositoryOptions, gitdir: string): Promise<void> {
  const { fs } = options;
  const setting = async (path: string) => String((await getConfig({ fs, gitdir, path })) ?? '').toLowerCase();
  const [objects, refs, alternates] = await Promise.all([
    setting('extensions.objectformat'),
    setting('extensions.refstorage'),
    readText(options, `${gitdir}/objects/info/alternates`),
  ]);
  if (!['', 'sha1'].includes(objects)) throw otherFormatError(`its object ids are ${objects.toUpperCase()}`);
  if (!['', 'files'].includes(refs)) throw otherFormatError(`its refs are stored as a ${refs}`);
  if (alternates !== null && alternates.trim() !== '')
    throw otherFormatError('it borrows objects from another repository (`objects/info/alternates`)');
}

export function otherFormatError(reason: string): TeddyError {
  return new TeddyError(
    'UNKNOWN_FORMAT',
    `The reader cannot read this repository: ${reason}, which isomorphic-git does not support.`,
    '`teddy history` reads it with git. `git clone --bare --no-local` makes a copy with objects of its own.',
  );
}

async function readText({ fs }: RepositoryOptions, path: string): Promise<string | null> {
  const bytes = await openFiles(fs).read(path);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** Returns only the first line, because isomorphic-git's other lines explain where to report a defect. */
export function reasonOf(error: unknown): string {
  const { data, message } = error as { data?: { message?: unknown }; message?: unknown };
  return String(data?.message ?? message ?? error).split('\n', 1)[0] ?? '';
}
