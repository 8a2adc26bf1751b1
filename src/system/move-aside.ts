/** Takes a file out of the way without losing it. */
import { lstat, mkdir, realpath, rename, cp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { RepoPath } from '../session/names.ts';
import { syncDirectory } from './durable-file.ts';
import { errorCode, errorReason } from './system-error.ts';

/** Below `to`, under the same path, or the first free name like it. Returns where it is, absolute. Throws WRITE_FAILED. */
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
  const target = await findFree(join(to, path));
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    await rename(from, target);
  } catch (error) {
    // A linked work tree may lie on another file system than the repository.
    if (errorCode(error) !== 'EXDEV') throw error;
    await cp(from, target, { verbatimSymlinks: true, preserveTimestamps: true, errorOnExist: true, force: false });
    await rm(from);
  }
  await syncDirectory(dirname(target));
  return target;
}

async function findFree(path: string): Promise<string> {
  for (let number = 0; ; number += 1) {
    const name = number === 0 ? path : `${path}.${number}`;
    const found = await lstat(name).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
      return null;
    });
    if (found === null) return name;
  }
}
