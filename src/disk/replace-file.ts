/** Small files that survive a crash: written whole, fsynced, renamed into place. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import { syncDirectory, writeDurably } from './durable-file.ts';
import { errorCode, fallBackTo, nullIfGone, toDiskError } from './system-error.ts';

/** A directory that is gone has nothing to lose, and some cannot be synced. */
export async function syncDir(path: string): Promise<void> {
  await syncDirectory(path).catch((error: unknown) => {
    if (!['ENOENT', 'EPERM'].includes(errorCode(error) ?? '')) throw toWriteError(error, path);
  });
}

/**
 * Replaces the file atomically; makes its directories. After it returns, the new content survives a power cut. With
 * `scratch`, the temporary file lies in that directory, where a crash leaves nothing for the user to see.
 */
export async function replaceFile(path: string, bytes: Uint8Array | string, scratch?: string): Promise<void> {
  const name = `file-${process.pid}-${randomBytes(6).toString('hex')}`;
  const temporary = scratch === undefined ? `${path}.tmp-${name}` : join(scratch, name);
  try {
    await mkdir(dirname(path), { recursive: true });
    if (scratch !== undefined) await mkdir(scratch, { recursive: true });
    await writeDurably(temporary, bytes);
    await rename(temporary, path);
    await syncDir(dirname(path));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    // A linked work tree may lie on another file system than its git directory.
    if (scratch !== undefined && (error as NodeJS.ErrnoException).code === 'EXDEV') return replaceFile(path, bytes);
    throw toWriteError(error, path);
  }
}

/** Nothing there is as good as removed. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw toWriteError(error, path);
  });
}

/** Names the file and the reason; an error that is ours already stays as it is. */
export function toWriteError(error: unknown, what: string): unknown {
  if (errorCode(error) === null || error instanceof TeddyError) return error;
  return toDiskError(error, `${what} could not be written`, 'Check the permissions of the repository.');
}

/** The text of a small file, or `fallback` where there is none. Throws WRITE_FAILED where it cannot be read. */
export function readTextOr(path: string, fallback: string): Promise<string> {
  return readFile(path, 'utf8').catch(fallBackTo(fallback, 'ENOENT')).catch(throwUnread(path));
}

/** For `catch`: what the system does not tell is not taken for nothing. */
function throwUnread(path: string): (error: unknown) => never {
  return (error) => {
    throw toDiskError(error, `${path} could not be read`, 'Check its permissions.');
  };
}

/** False: nothing is there. */
export function renameIfThere(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(() => true, fallBackTo(false, 'ENOENT'));
}

/** Throws WRITE_FAILED when the system does not tell. */
export async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(nullIfGone).catch(throwUnread(path))) !== null;
}
