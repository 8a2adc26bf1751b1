/** Puts the files back that a checkout had written when it was killed, before it came to HEAD. */
import { chmod, lstat, readFile, readlink, rmdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Store, TreeChange } from '../ports/git.ts';
import type { Oid, RepoPath } from '../names.ts';
import { readCheckouts } from './checkouts.ts';
import { removeFile, replaceFile } from '../disk/replace-file.ts';
import type { Checkout } from './index-lock.ts';
import type { GitRunner } from './run.ts';

interface Place {
  git: GitRunner;
  store: Store;
  root: string;
  /** Temporary files lie there, where a crash leaves nothing for the user to see. */
  gitDir: string;
}

/** So many files are in memory at a time. */
const filesAtATime = 100;

/**
 * git has looked for work of the user's in its way before it wrote the first file, and would have refused. So a file that was
 * changed since, and holds what git writes or the beginning of that, is git's; any other one stays.
 */
export async function takeBackFiles(place: Place, { from, to }: Checkout, notedMs: number): Promise<void> {
  const { git, store } = place;
  const changes = (await store.diffTrees(from, to)).filter(({ mode }) => mode !== '160000');
  const staged = await readStaged(git, changes);
  const touched = changes.filter(({ path, before }) => (staged.get(path) ?? null) === before);
  for (let at = 0; at < touched.length; at += filesAtATime)
    await takeBackSome(place, from, touched.slice(at, at + filesAtATime), notedMs);
}

/** The user's index is as it was before: git worked on a copy. */
async function readStaged(git: GitRunner, changes: TreeChange[]): Promise<Map<string, string>> {
  if (changes.length === 0) return new Map();
  const rows = await git.list(['ls-files', '-s', '-z']);
  return new Map(
    rows.map((row): [string, string] => {
      const tab = row.indexOf('\t');
      return [row.slice(tab + 1), row.split(' ')[1] ?? ''];
    }),
  );
}

async function takeBackSome(place: Place, from: Oid | null, changes: TreeChange[], notedMs: number): Promise<void> {
  const { git, store, root } = place;
  const wanted = (side: 'before' | 'after') =>
    changes.flatMap((change) => {
      const oid = change[side];
      return oid === null ? [] : [{ path: change.path, oid }];
    });
  const [old, made] = await Promise.all([readCheckouts(git, wanted('before')), readCheckouts(git, wanted('after'))]);
  const modes = new Map(
    from === null
      ? []
      : await Promise.all(changes.map(async ({ path }) => [path, await readMode(store, from, path)] as const)),
  );
  for (const { path } of changes) {
    const disk = join(root, path);
    const found = await readFresh(disk, notedMs);
    const [before = null, after = null] = [old.get(path), made.get(path)];
    if (found === 'stale' || (found !== null && !isBeginning(found, after))) continue;
    // It was to be removed, or to be replaced, and the new one was not there yet.
    if (found === null && before === null) continue;
    if (before === null) await removeFile(disk).then(() => removeEmptyParents(root, path));
    else await writeBack(place, disk, before, modes.get(path) ?? null);
  }
}

function isBeginning(found: Uint8Array, whole: Uint8Array | null): boolean {
  return whole !== null && Buffer.from(whole).subarray(0, found.length).equals(found);
}

/** Null: there is none. `stale`: it was there before, and is no file of this checkout's. */
async function readFresh(path: string, notedMs: number): Promise<Uint8Array | 'stale' | null> {
  try {
    const found = await lstat(path);
    if (found.isDirectory() || found.ctimeMs <= notedMs) return 'stale';
    return found.isSymbolicLink() ? Buffer.from(await readlink(path)) : await readFile(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

async function readMode(store: Store, commit: Oid, path: RepoPath): Promise<string | null> {
  const parent = dirname(path);
  const dir = await store.readDir(commit, (parent === '.' ? '' : parent) as RepoPath);
  return dir?.entries.find(({ name }) => name === path.slice(path.lastIndexOf('/') + 1))?.mode ?? null;
}

async function writeBack({ gitDir }: Place, path: string, bytes: Uint8Array, mode: string | null): Promise<void> {
  if (mode === '120000') {
    await removeFile(path);
    return symlink(Buffer.from(bytes), path);
  }
  await replaceFile(path, bytes, join(gitDir, 'teddy'));
  if (mode === '100755') await chmod(path, 0o777 & ~process.umask());
}

async function removeEmptyParents(root: string, path: string): Promise<void> {
  for (let dir = dirname(path); dir !== '.'; dir = dirname(dir)) {
    const removed = await rmdir(join(root, dir)).then(
      () => true,
      () => false,
    );
    if (!removed) return;
  }
}
