/** The objects and refs of an in-memory repository: isomorphic-git encodes and decodes, without any part of `src/git`. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { deflateSync, inflateSync } from 'node:zlib';
import git, { type PromiseFsClient } from 'isomorphic-git';
import { createFsFromVolume, Volume, type IFs } from 'memfs';
import { TeddyError } from '../../src/errors.ts';
import type { Commit, ObjectBatch, TreeEntry, TreeFile, TreeMode } from '../../src/ports/git.ts';
import { parseOid, type Oid, type RepoPath } from '../../src/names.ts';

export const root = '/project';
export const gitdir = `${root}/.git`;

export interface MemoryDisk {
  /** The work tree, at `/project`. */
  fs: IFs;
  /** A ref, or a commit if HEAD is detached. */
  head: string;
  refs: Map<string, Oid>;
  objects: ObjectFiles;
  /** Objects that were read once: they never change, and inflating them is most of the work. */
  known: Map<string, unknown>;
}

/** Deflated objects by their path. */
type ObjectFiles = Map<string, Uint8Array>;

/**
 * isomorphic-git hashes and deflates on another thread if it can, or else in JavaScript. For objects as small as these,
 * the round trip took a fifth of the processor time, and JavaScript a twelfth.
 */
Reflect.deleteProperty(globalThis, 'CompressionStream');
const digest = crypto.subtle.digest.bind(crypto.subtle);
crypto.subtle.digest = async (algorithm, data) =>
  algorithm === 'SHA-1' && data instanceof Uint8Array
    ? Uint8Array.from(createHash('sha1').update(data).digest()).buffer
    : digest(algorithm, data);
Object.assign(createRequire(import.meta.resolve('isomorphic-git'))('pako'), {
  deflate: (bytes: Uint8Array) => deflateSync(bytes, { level: 1 }),
  inflate: inflateSync,
});

/** An empty repository whose HEAD is on the unborn branch `main`. */
export async function memoryDisk(): Promise<MemoryDisk> {
  const fs = createFsFromVolume(new Volume());
  await fs.promises.mkdir(gitdir, { recursive: true });
  return { fs, head: 'refs/heads/main', refs: new Map(), objects: new Map(), known: new Map() };
}

/**
 * The part of a file system that isomorphic-git needs to read and write loose objects. memfs took a seventh of the
 * processor time: it asks the system for the user of each file, and makes a stack trace of each file that is missing.
 */
function objectFs(files: ObjectFiles): PromiseFsClient {
  const find = async (path: string) => {
    const bytes = files.get(path);
    if (bytes === undefined) throw missing;
    return bytes;
  };
  return {
    promises: {
      readFile: find,
      writeFile: async (path: string, bytes: Uint8Array) => void files.set(path, bytes),
      stat: find,
      lstat: find,
      readdir: async () => [],
      mkdir: nothing,
      rmdir: nothing,
      unlink: nothing,
      readlink: nothing,
      symlink: nothing,
    },
  };
}

const missing = Object.assign(new Error('There is no such object.'), { code: 'ENOENT' });
const nothing = async () => undefined;

function toObjectPath(oid: string): string {
  return `${gitdir}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`;
}

/** Returns a copy as the files of a git directory at `/project/.git`, for code that reads those. */
export function toGitDirectory({ head, refs, objects }: MemoryDisk): IFs {
  const files: Record<string, string | Buffer> = {
    [`${gitdir}/HEAD`]: head.startsWith('refs/') ? `ref: ${head}\n` : `${head}\n`,
    [`${gitdir}/config`]: '[core]\n\trepositoryformatversion = 0\n\tbare = false\n',
  };
  for (const [ref, oid] of refs) files[`${gitdir}/${ref}`] = `${oid}\n`;
  for (const [path, bytes] of objects) files[path] = Buffer.from(bytes);
  return createFsFromVolume(Volume.fromJSON(files));
}

/** Loses the object, as a damaged disk would. */
export function dropObject({ objects }: MemoryDisk, oid: Oid): void {
  objects.delete(toObjectPath(oid));
}

/** The commit that a ref, a branch, HEAD or an id names; null if there is no such ref. */
export function resolveRef({ head, refs }: MemoryDisk, name: string): Oid | null {
  if (/^[0-9a-f]{40}$/.test(name)) return parseOid(name);
  const full = name === 'HEAD' ? head : name;
  if (name === 'HEAD' && !head.startsWith('refs/')) return parseOid(head);
  const found = ['', 'refs/', 'refs/tags/', 'refs/heads/', 'refs/remotes/'].find((prefix) => refs.has(prefix + full));
  return found === undefined ? null : (refs.get(found + full) ?? null);
}

/** Sets or deletes a ref; `HEAD` becomes detached. */
export function putRef(disk: MemoryDisk, ref: string, oid: Oid | null): void {
  if (oid === null) disk.refs.delete(ref);
  else if (ref === 'HEAD') disk.head = oid;
  else disk.refs.set(ref, oid);
}

export function readBlob(disk: MemoryDisk, oid: Oid): Promise<Uint8Array> {
  return readOnce(
    disk,
    `blob ${oid}`,
    async () => (await git.readBlob({ fs: objectFs(disk.objects), gitdir, oid })).blob,
  );
}

/** The tree itself or that of a commit. */
export function readTree(disk: MemoryDisk, treeish: Oid): Promise<{ oid: Oid; entries: TreeEntry[] }> {
  return readOnce(disk, `tree ${treeish}`, async () => {
    const { oid, tree } = await git.readTree({ fs: objectFs(disk.objects), gitdir, oid: treeish });
    const entries = tree.map((entry) => ({
      mode: entry.mode.replace(/^0/, '') as TreeMode,
      name: entry.path,
      oid: parseOid(entry.oid),
    }));
    return { oid: parseOid(oid), entries: entries.toSorted((a, b) => Buffer.compare(toSortKey(a), toSortKey(b))) };
  });
}

/** git sorts a directory as if its name ended in `/`; isomorphic-git returns the entries by name. */
function toSortKey({ mode, name }: TreeEntry): Buffer {
  return Buffer.from(mode === '40000' ? `${name}/` : name);
}

export function readCommit(disk: MemoryDisk, oid: Oid): Promise<Commit> {
  return readOnce(disk, `commit ${oid}`, async () => {
    const { commit } = await git.readCommit({ fs: objectFs(disk.objects), gitdir, oid });
    return {
      tree: parseOid(commit.tree),
      parents: commit.parent.map(parseOid),
      author: renderIdent(commit.author),
      committer: renderIdent(commit.committer),
      message: commit.message,
    };
  });
}

export async function readObject(disk: MemoryDisk, oid: string): Promise<{ type: string; size: number } | null> {
  const read = () => git.readObject({ fs: objectFs(disk.objects), gitdir, oid, format: 'content' });
  return readOnce(disk, `object ${oid}`, read).then(
    ({ type, object }) => ({ type, size: (object as Uint8Array).length }),
    () => null,
  );
}

/** Every file below a tree, in git's order. */
export async function listFiles(disk: MemoryDisk, treeish: Oid, prefix = ''): Promise<TreeFile[]> {
  const { entries } = await readTree(disk, treeish);
  const files: TreeFile[] = [];
  for (const { mode, name, oid } of entries) {
    const path = `${prefix}${name}` as RepoPath;
    if (mode === '40000') files.push(...(await listFiles(disk, oid, `${path}/`)));
    else files.push({ path, mode, oid });
  }
  return files;
}

/** The objects are not visible before they are flushed. */
export function memoryBatch({ objects }: MemoryDisk): ObjectBatch {
  const made: ObjectFiles = new Map();
  const fs = objectFs(made);
  return {
    blob: async (bytes) => parseOid(await git.writeBlob({ fs, gitdir, blob: Buffer.from(bytes) })),
    tree: async (entries) => parseOid(await git.writeTree({ fs, gitdir, tree: entries.map(toIsomorphicEntry) })),
    commit: async (commit) =>
      parseOid(await git.writeCommit({ fs, gitdir, commit: { ...commit, ...toIsomorphicCommit(commit) } })),
    async flush() {
      for (const [path, bytes] of made) objects.set(path, bytes);
    },
  };
}

async function readOnce<Value>({ known }: MemoryDisk, name: string, read: () => Promise<Value>): Promise<Value> {
  try {
    if (!known.has(name)) known.set(name, await read());
    return known.get(name) as Value;
  } catch (error) {
    throw new TeddyError('DAMAGED_SESSION', `The ${name} is missing or of another type.`, undefined, { cause: error });
  }
}

function toIsomorphicEntry({ mode, name, oid }: TreeEntry) {
  const type = mode === '40000' ? ('tree' as const) : mode === '160000' ? ('commit' as const) : ('blob' as const);
  return { mode: mode.padStart(6, '0'), path: name, oid, type };
}

function toIsomorphicCommit(commit: Commit) {
  return { parent: commit.parents, author: parseIdent(commit.author), committer: parseIdent(commit.committer) };
}

type Ident = Awaited<ReturnType<typeof git.readCommit>>['commit']['author'];

/** isomorphic-git counts the zone in minutes west of Greenwich. */
function parseIdent(text: string): Ident {
  const [, name = '', email = '', timestamp = '0', sign = '+', hours = '0', minutes = '0'] =
    /^(.*) <(.*)> (\d+) ([+-])(\d\d)(\d\d)$/.exec(text) ?? [];
  const east = Number(hours) * 60 + Number(minutes);
  return { name, email, timestamp: Number(timestamp), timezoneOffset: sign === '-' ? east : -east };
}

function renderIdent({ name, email, timestamp, timezoneOffset }: Ident): string {
  const minutes = Math.abs(timezoneOffset);
  const digits = (value: number) => String(value).padStart(2, '0');
  const zone = `${timezoneOffset > 0 ? '-' : '+'}${digits(Math.floor(minutes / 60))}${digits(minutes % 60)}`;
  return `${name} <${email}> ${timestamp} ${zone}`;
}
