/** The objects of an in-memory repository: isomorphic-git on memfs, without any part of `src/git`. */
import { createHash } from 'node:crypto';
import git from 'isomorphic-git';
import { createFsFromVolume, Volume, type IFs } from 'memfs';
import { TeddyError } from '../../src/errors.ts';
import type { Commit, ObjectBatch, TreeEntry, TreeFile, TreeMode } from '../../src/ports/git.ts';
import { parseOid, type Oid, type RepoPath } from '../../src/names.ts';

export const root = '/project';
export const gitdir = `${root}/.git`;

export interface MemoryDisk {
  fs: IFs;
  /** Objects that were read once: they never change, and inflating them is most of the work. */
  known: Map<string, unknown>;
}

/**
 * isomorphic-git hashes and deflates on another thread if it can. For objects as small as these, the round trip took a
 * fifth of the processor time.
 */
Reflect.deleteProperty(globalThis, 'CompressionStream');
const digest = crypto.subtle.digest.bind(crypto.subtle);
crypto.subtle.digest = async (algorithm, data) =>
  algorithm === 'SHA-1' && data instanceof Uint8Array
    ? Uint8Array.from(createHash('sha1').update(data).digest()).buffer
    : digest(algorithm, data);

/** An empty repository whose HEAD is on the unborn branch `main`. */
export async function memoryDisk(): Promise<MemoryDisk> {
  const fs = createFsFromVolume(new Volume());
  answerProbes(fs);
  await git.init({ fs, dir: root, defaultBranch: 'main' });
  return { fs, known: new Map() };
}

/**
 * isomorphic-git detects promise-based file systems by reading no file, twice for each call. memfs then makes an error
 * with its stack, which took a tenth of the time in some tests.
 */
function answerProbes({ promises }: IFs): void {
  const read = promises.readFile.bind(promises);
  const probed = new Error('No file is read.');
  const readFile = (...args: [] | Parameters<typeof read>) =>
    args.length === 0 ? Promise.reject(probed) : read(...args);
  Object.assign(promises, { readFile });
}

export function readBlob(disk: MemoryDisk, oid: Oid): Promise<Uint8Array> {
  return readOnce(disk, `blob ${oid}`, async () => (await git.readBlob({ fs: disk.fs, gitdir, oid })).blob);
}

/** The tree itself or that of a commit. */
export function readTree(disk: MemoryDisk, treeish: Oid): Promise<{ oid: Oid; entries: TreeEntry[] }> {
  return readOnce(disk, `tree ${treeish}`, async () => {
    const { oid, tree } = await git.readTree({ fs: disk.fs, gitdir, oid: treeish });
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
    const { commit } = await git.readCommit({ fs: disk.fs, gitdir, oid });
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
  const { fs } = disk;
  const read = () => git.readObject({ fs, gitdir, oid, format: 'content' });
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

let batches = 0;

/** The objects are made in a separate directory, and are not visible before they are copied from there. */
export function memoryBatch({ fs }: MemoryDisk): ObjectBatch {
  const staging = `/staging/${(batches += 1)}`;
  const made = new Set<Oid>();
  const note = (oid: string) => {
    made.add(parseOid(oid));
    return parseOid(oid);
  };
  return {
    blob: async (bytes) => note(await git.writeBlob({ fs, gitdir: staging, blob: Buffer.from(bytes) })),
    tree: async (entries) => note(await git.writeTree({ fs, gitdir: staging, tree: entries.map(toIsomorphicEntry) })),
    commit: async (commit) =>
      note(await git.writeCommit({ fs, gitdir: staging, commit: { ...commit, ...toIsomorphicCommit(commit) } })),
    async flush() {
      for (const oid of made) {
        const name = `objects/${oid.slice(0, 2)}/${oid.slice(2)}`;
        await fs.promises.mkdir(`${gitdir}/objects/${oid.slice(0, 2)}`, { recursive: true });
        await fs.promises.copyFile(`${staging}/${name}`, `${gitdir}/${name}`);
      }
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
