/**
 * Makes a tree with some paths taken from disk. One git process reads the files, by its own rules for filters, line
 * endings and modes, into a separate index, which teddy parses here. The index format is simple and fixed, while `git
 * write-tree` would need another process, and so would `git read-tree` for the few entries that git needs beforehand.
 */
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store, TreeEntry, TreeMode } from '../../ports/git.ts';
import { fallBackTo, nullIfGone } from '../../disk/system-error.ts';
import { joinPath, parseOid, type Oid, type RepoPath } from '../../names.ts';
import { editTree } from '../../session/paths/edit-tree.ts';
import type { GitRunner } from '../run/run.ts';

export interface TreeTools {
  git: GitRunner;
  store: Store;
  /** The root of the work tree. */
  root: string;
  /** The absolute path at which git may make an index. */
  index: string;
}

/** The limit for all of a process's arguments together; Windows allows the least. */
const maxArgumentBytes = 16 * 1024;

/** Returns a tree that is durable except for the names of its blobs. */
export async function treeOfPaths(tools: TreeTools, base: Oid, paths: readonly RepoPath[]): Promise<Oid> {
  const { store, root } = tools;
  // `base` may be a commit.
  const tree = (await store.readDir(base, '' as RepoPath))?.oid ?? base;
  const isThere = await Promise.all(paths.map((path) => isFile(root, path)));
  const present = paths.filter((_, at) => isThere[at]);
  const staged = await stageFiles(tools, await findKnown(store, tree, present), present);
  const batch = store.batch();
  const edits = paths.map((path) => ({ path, entry: staged.get(path) ?? null }));
  const edited = await editTree(store, batch, tree, edits);
  await batch.flush();
  return edited;
}

type StagedFiles = Map<RepoPath, { mode: TreeMode; oid: Oid }>;

/**
 * Finds the data that git needs besides the files: the existing entry for each path, which determines line endings and,
 * on file systems without modes, the mode; and attributes that are not on disk.
 */
async function findKnown(store: Store, base: Oid, present: readonly RepoPath[]): Promise<StagedFiles> {
  const directories = new Map<string, Promise<readonly TreeEntry[]>>();
  const list = (directory: string) => {
    const known = directories.get(directory) ?? readDirectory(store, base, directory);
    directories.set(directory, known);
    return known;
  };
  const known: StagedFiles = new Map();
  const find = async (directory: string, name: string) => {
    const found = (await list(directory)).find((entry) => entry.name === name && entry.mode !== '40000');
    if (found !== undefined)
      known.set(directory === '' ? (name as RepoPath) : joinPath(directory as RepoPath, name), found);
  };
  for (const path of present) {
    const parts = path.split('/');
    await find(parts.slice(0, -1).join('/'), parts.at(-1) ?? '');
    for (let depth = 0; depth < parts.length; depth += 1) await find(parts.slice(0, depth).join('/'), '.gitattributes');
  }
  return known;
}

async function readDirectory(store: Store, base: Oid, directory: string): Promise<readonly TreeEntry[]> {
  return (await store.readDir(base, directory as RepoPath))?.entries ?? [];
}

async function stageFiles(
  { git, store, index }: TreeTools,
  known: StagedFiles,
  present: readonly RepoPath[],
): Promise<StagedFiles> {
  if (present.length === 0) return new Map();
  const env = { GIT_INDEX_FILE: index };
  const wanted = [...known].map(([path, { mode, oid }]) => ({ mode, oid, path }));
  const seeds = wanted.flatMap(({ mode, oid, path }) => ['--cacheinfo', `${mode},${oid},${path}`]);
  const isShort = seeds.reduce((sum, text) => sum + Buffer.byteLength(text), 0) <= maxArgumentBytes;
  if (!isShort) {
    const input = wanted.map(({ mode, oid, path }) => `${mode} ${oid}\t${path}\0`).join('');
    await git.run(['update-index', '-z', '--index-info'], { env, input });
  }
  // Write one plain file: an unshared index with an entry for each file.
  const format = ['-c', 'core.splitIndex=false', '-c', 'index.sparse=false'];
  // With `--remove`, a file that vanishes now counts as already gone.
  const flags = ['--add', '--remove', '--replace', '--index-version', '2', ...(isShort ? seeds : []), '-z', '--stdin'];
  const input = present.map((path) => `${path}\0`).join('');
  await git.run([...format, 'update-index', ...flags], { env, input });
  // git writes no index if the index would be empty.
  const written = await readFile(index).catch(fallBackTo(null, 'ENOENT'));
  return readIndex(written, store.objectFormat === 'sha1' ? 20 : 32);
}

const headerBytes = 12;
/** Times, device, inode, mode, owner and size. */
const statBytes = 40;
const modeAt = 24;

/** Parses the index (`git help gitformat-index`): sorted entries, each padded with one to eight NULs to a multiple of eight. */
function readIndex(bytes: Buffer | null, oidBytes: number): StagedFiles {
  const files: StagedFiles = new Map();
  if (bytes === null) return files;
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || bytes.readUInt32BE(4) !== 2)
    throw new Error('git wrote an index in a different version from the one requested');
  let at = headerBytes;
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const nameAt = at + statBytes + oidBytes + 2;
    const end = bytes.indexOf(0, nameAt);
    const mode = bytes.readUInt32BE(at + modeAt).toString(8) as TreeMode;
    const oid = parseOid(bytes.toString('hex', at + statBytes, at + statBytes + oidBytes));
    files.set(bytes.toString('utf8', nameAt, end) as RepoPath, { mode, oid });
    at += Math.floor((end - at) / 8 + 1) * 8;
  }
  return files;
}

/** Returns true if the path is a file or link below real directories only, because git tracks no files behind a link. */
async function isFile(root: string, path: RepoPath): Promise<boolean> {
  const parts = path.split('/');
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const found = await lstat(join(root, ...parts.slice(0, depth))).catch(nullIfGone);
    if (found === null) return false;
    if (depth === parts.length) return found.isFile() || found.isSymbolicLink();
    if (!found.isDirectory()) return false;
  }
  return false;
}
