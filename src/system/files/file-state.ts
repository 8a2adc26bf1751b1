/** Reads the state of a project path itself, without following links. */
import type { FileAge } from '../../ports/disk.ts';
import { randomBytes } from 'node:crypto';
import { lstat, open, readlink, realpath, rename, symlink, unlink, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { constants } from 'node:fs';
import { TeddyError } from '../../errors.ts';
import type { FileState, NewFile } from '../../ports/files.ts';
import type { RepoPath } from '../../names.ts';
import { locate, missingDirectories } from './contained-path.ts';
import { removeDirectory, syncDirectory, writeDurably } from '../../disk/durable-file.ts';
import { errorCode, errorReason, nullIfGone, toDiskError } from '../../disk/system-error.ts';

/**
 * Nothing exists beyond a link. Throws ACTION_FAILED when the system denies access. Made for thousands of files: after
 * finding a directory in the project, it only checks whether the directory has become a link.
 */
export function readerOfStates(root: string): (path: RepoPath) => Promise<FileState> {
  const known = new Set<string>();
  let project: string | null = null;
  const find = async (path: RepoPath): Promise<string | null> => {
    project ??= await realpath(root);
    const directory = join(project, dirname(path));
    const isKnown = known.has(directory) && (await realpath(directory).catch(() => null)) === directory;
    if (!isKnown && !(await isInProject(root, path))) return null;
    known.add(directory);
    return join(project, path);
  };
  return (path) => readFileState(path, () => find(path));
}

/** `find` returns the real path, or null when it is not in the project. */
async function readFileState(path: RepoPath, find: () => Promise<string | null>): Promise<FileState> {
  try {
    const real = await find();
    if (real === null) return { kind: 'absent' };
    const stats = await lstat(real);
    if (stats.isSymbolicLink()) return { kind: 'link', target: await readlink(real) };
    if (!stats.isFile()) return { kind: 'other' };
    // If a FIFO or a link has replaced the file in between, neither follows nor waits for it.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return { kind: 'file', bytes: await file.readFile(), mode: (await file.stat()).mode & 0o7777 };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return { kind: 'absent' };
    throw new TeddyError(
      'ACTION_FAILED',
      `${path} cannot be read: ${errorReason(error)}.`,
      'Check the permissions of the file and its directories.',
      { cause: error },
    );
  }
}

/** The kernel's clock for files lags by up to a tick. */
const lagMs = 50;

/** A file that does not exist now counts as changed since then. */
export async function findFileAge(root: string, path: RepoPath, time: Date): Promise<FileAge> {
  const project = await realpath(root);
  const isOld = (ms: number) => ms < time.getTime() - lagMs;
  const stats = await lstat(join(project, path)).catch(() => null);
  if (stats === null) return 'since';
  // A directory's time changes with its content.
  if (stats.isDirectory()) return isOld(stats.birthtimeMs) ? 'before' : 'since';
  if (!isOld(stats.ctimeMs)) return 'since';
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    if (!isOld((await lstat(join(project, parent))).ctimeMs)) return 'unsure';
  }
  return 'before';
}

/**
 * Puts the path into the state `state` atomically and durably, with its mode, and makes parent directories. Never
 * replaces a directory, and never writes beyond a link. Throws DISK_FULL or WRITE_FAILED without having changed
 * anything.
 */
export async function putFileState(root: string, path: RepoPath, state: FileState | NewFile): Promise<void> {
  try {
    const real = await resolveInProject(root, path);
    if (state.kind === 'absent') {
      await unlink(real).catch(nullIfGone);
      await syncDirectory(await findExisting(dirname(real)));
    } else if (state.kind !== 'other') {
      await putInPlace(real, state);
    }
  } catch (error) {
    throw toDiskError(error, `${path} could not be restored`, 'Check the permissions of its directory.');
  }
}

/** Removes the directories that are empty, in the given order. */
export async function removeEmptyDirectories(root: string, directories: RepoPath[]): Promise<void> {
  const project = await realpath(root);
  for (const directory of directories) {
    const real = join(project, directory);
    if ((await isInProject(root, directory)) && (await removeDirectory(real))) {
      await syncDirectory(await findExisting(dirname(real)));
    }
  }
}

async function resolveInProject(root: string, path: RepoPath): Promise<string> {
  const real = join(await realpath(root), path);
  if (!(await isInProject(root, path)) || (await isInOwnRepository(path, real))) {
    throw new Error(`${dirname(path)} is no longer a directory in the project`);
  }
  return real;
}

/** Returns true if the path's own directory is a repository; `isInProject` checks the directories above it. */
async function isInOwnRepository(path: RepoPath, real: string): Promise<boolean> {
  if (dirname(path) === '.') return false;
  return (await lstat(join(dirname(real), '.git')).catch(nullIfGone)) !== null;
}

/** Returns false when a parent is a link or a file. */
async function isInProject(root: string, path: RepoPath): Promise<boolean> {
  const directory = dirname(path) as RepoPath;
  const parent = await locate(root, directory === '.' ? ('' as RepoPath) : directory);
  const isPlain = (parent.kind === 'found' && parent.stats.isDirectory()) || parent.kind === 'absent';
  return isPlain && parent.real === join(await realpath(root), directory);
}

type PresentState = Extract<FileState, { kind: 'file' | 'link' }> | NewFile;

async function putInPlace(real: string, state: PresentState): Promise<void> {
  for (const missing of await missingDirectories(dirname(real))) {
    await mkdir(missing);
    await syncDirectory(dirname(missing));
  }
  const temporary = join(dirname(real), `.teddy-tmp-${randomBytes(8).toString('hex')}`);
  try {
    if (state.kind === 'link') await symlink(state.target, temporary);
    else await writeDurably(temporary, state.bytes, state.kind === 'file' ? state.mode : toNewMode(state));
    await rename(temporary, real);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(real));
}

function toNewMode({ executable }: NewFile): number {
  return (executable ? 0o777 : 0o666) & ~process.umask();
}

async function findExisting(path: string): Promise<string> {
  const [outermost] = await missingDirectories(path);
  return outermost === undefined ? path : dirname(outermost);
}
