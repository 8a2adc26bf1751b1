/** Takes a file out of the way without losing it. */
import { cp, lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { RepoPath } from '../names.ts';
import { syncDirectory } from '../disk/durable-file.ts';
import { errorCode, errorReason } from '../disk/system-error.ts';

/** Below `to`, or where that has one, below the first of `to.1`, `to.2`, ... that is free, under the same path. Returns where it is, absolute. Throws WRITE_FAILED. */
export async function moveAside(root: string, path: RepoPath, to: string): Promise<string> {
  try {
    return await move(root, path, to);
  } catch (error) {
    const message = `${path} could not be moved aside: ${errorReason(error)}.`;
    throw new TeddyError('WRITE_FAILED', message, 'Check the permissions of its directory.', { cause: error });
  }
}

async function move(root: string, path: RepoPath, to: string): Promise<string> {
  const from = join(await realpath(root), path);
  const target = await findFree(to, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    await rename(from, target);
  } catch (error) {
    // A linked work tree may lie on another file system than the repository.
    if (errorCode(error) !== 'EXDEV') throw error;
    await cp(from, target, { verbatimSymlinks: true, preserveTimestamps: true, errorOnExist: true, force: false });
    await syncFile(target);
    await syncUpwards(dirname(target), dirname(dirname(to)));
    await rm(from);
  }
  await syncUpwards(dirname(target), dirname(dirname(to)));
  return target;
}

async function findFree(to: string, path: RepoPath): Promise<string> {
  for (let number = 0; ; number += 1) {
    const directory = number === 0 ? to : `${to}.${number}`;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const name = join(directory, path);
    if (await isFree(name)) return name;
  }
}

/** Where a parent is a file, no directory can be made. */
async function isFree(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true;
    if (errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** A link's own content is durable with its directory. */
async function syncFile(path: string): Promise<void> {
  if ((await lstat(path)).isSymbolicLink()) return;
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The directories that were made on the way as well. */
async function syncUpwards(directory: string, last: string): Promise<void> {
  await syncDirectory(directory);
  if (directory !== last) await syncUpwards(dirname(directory), last);
}
