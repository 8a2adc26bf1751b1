/** Replaces a project file's whole content: completely or not at all, and durably once it returns. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, link, mkdir, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { RepoPath } from '../../names.ts';
import { locate, missingDirectories, type Located } from './contained-path.ts';
import { removeDirectory, syncDirectory, writeDurably } from '../../disk/durable-file.ts';
import { errorCode, errorReason, toDiskError } from '../../disk/system-error.ts';

/**
 * Writes through a symlink that stays inside the project, and keeps the link. Keeps an existing file's owner and
 * permission bits, except for the execute bit when the caller passes `executable`. Throws DISK_FULL or WRITE_FAILED
 * after removing its temporary file and the directories that it made.
 */
export async function installFile(
  root: string,
  path: RepoPath,
  bytes: Uint8Array,
  executable?: boolean,
): Promise<void> {
  await installBy(rename, root, path, bytes, executable);
}

/** Like `installFile`, but only when nothing exists at the path: exactly one of several concurrent calls is `done`. */
export async function installNewFile(root: string, path: RepoPath, bytes: Uint8Array): Promise<'done' | 'exists'> {
  try {
    await installBy(linkAway, root, path, bytes);
    return 'done';
  } catch (error) {
    if (error instanceof TeddyError && errorCode(error.cause) === 'EEXIST') return 'exists';
    throw error;
  }
}

/** Unlike a rename, a link never replaces anything. */
async function linkAway(from: string, to: string): Promise<void> {
  await link(from, to);
  await unlink(from);
}

async function installBy(
  publish: (from: string, to: string) => Promise<void>,
  root: string,
  path: RepoPath,
  bytes: Uint8Array,
  executable?: boolean,
): Promise<void> {
  const madeDirectories: string[] = [];
  let temporary: string | null = null;
  try {
    const { real, mode, owner } = toDestination(await locate(root, path));
    await makeDirectories(dirname(real), madeDirectories);
    temporary = join(dirname(real), `.teddy-tmp-${randomBytes(8).toString('hex')}`);
    await writeDurably(temporary, bytes, toMode(mode, executable));
    if (owner !== null) await keepOwner(temporary, owner, toMode(mode, executable));
    // A symlink may have appeared at the path since the first check.
    if (toDestination(await locate(root, path)).real !== real)
      throw new Error('it was moved while it was being written');
    await publish(temporary, real);
    await syncDirectory(dirname(real));
  } catch (error) {
    if (temporary !== null) await unlink(temporary).catch(() => undefined);
    for (const directory of madeDirectories.reverse()) await removeDirectory(directory);
    throw toWriteError(path, error);
  }
}

/** Only root may change a file's owner; as with every editor, other users become the owner of a file that they replace. */
async function keepOwner(path: string, { uid, gid }: Owner, mode: number): Promise<void> {
  const { uid: ours, gid: group } = await stat(path);
  if (uid === ours && gid === group) return;
  try {
    await chown(path, uid, gid);
    // Changing the owner clears mode bits that the new owner must not receive by accident.
    await chmod(path, mode);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') throw error;
  }
}

interface Owner {
  uid: number;
  gid: number;
}

/** Follows git's rule: anybody who may read the file may execute it. */
function toMode(mode: number, executable: boolean | undefined): number {
  if (executable === undefined || executable === ((mode & 0o100) !== 0)) return mode;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

/** Treats a missing file as removed. Throws WRITE_FAILED. */
export async function removeFile(root: string, path: RepoPath): Promise<void> {
  try {
    const located = await locate(root, path);
    if (located.kind === 'absent') return;
    const { real } = toDestination(located);
    await unlink(real);
    await removeEmptyParents(await realpath(root), dirname(real));
  } catch (error) {
    throw new TeddyError(
      'WRITE_FAILED',
      `${path} could not be removed: ${errorReason(error)}.`,
      'Check the permissions of its directory, and run the command again.',
      { cause: error },
    );
  }
}

/** Makes the removal durable in the first directory that still exists. */
async function removeEmptyParents(root: string, directory: string): Promise<void> {
  const isGone = directory !== root && (await removeDirectory(directory));
  if (isGone) return removeEmptyParents(root, dirname(directory));
  await syncDirectory(directory);
}

/** Removes teddy's temporary files next to the path. A path that teddy must not change has none. */
export async function removeLeftovers(root: string, path: RepoPath): Promise<void> {
  const located = await locate(root, path);
  if (located.kind !== 'found' && located.kind !== 'absent') return;
  const directory = dirname(located.real);
  for (const name of await readdir(directory).catch(() => [] as string[])) {
    if (/^\.teddy-tmp-[0-9a-f]{16}$/.test(name)) await unlink(join(directory, name)).catch(() => undefined);
  }
}

function toDestination(located: Located): { real: string; mode: number; owner: Owner | null } {
  switch (located.kind) {
    case 'absent':
      return { real: located.real, mode: 0o666 & ~process.umask(), owner: null };
    case 'outside':
      throw new Error(`${located.link} leads out of the project, or into .git or .teddy`);
    case 'foreign':
      throw new Error(`${located.repository} is a separate repository`);
    case 'blocked':
      throw new Error(`${located.parent} is not a directory`);
    case 'found':
      if (located.stats.isDirectory()) throw new Error('it is a directory');
      if (!located.stats.isFile()) throw new Error('it is a device, a socket or a FIFO');
      return { real: located.real, mode: located.stats.mode & 0o777, owner: located.stats };
  }
}

/** Adds each directory to `made` as soon as it exists, so that the caller can undo partial work. */
async function makeDirectories(path: string, made: string[]): Promise<void> {
  for (const directory of await missingDirectories(path)) {
    try {
      await mkdir(directory);
      made.push(directory);
    } catch (error) {
      // Somebody else has just made the directory, so teddy must not remove it.
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    await syncDirectory(dirname(directory));
  }
}

function toWriteError(path: RepoPath, error: unknown): TeddyError {
  return toDiskError(
    error,
    `${path} could not be written`,
    'The file was not changed. Check its permissions and its parent directories, and run the command again.',
    'The file was not changed. Free some space and run the command again.',
  );
}
