/** Small files that survive a crash: teddy writes them completely, fsyncs them, and renames them into place. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import { syncDirectory, writeDurably } from './durable-file.ts';
import { errorCode, fallBackTo, nullIfGone, toDiskError } from './system-error.ts';

/** Syncs a directory. A missing directory has nothing to lose, and the system cannot sync some directories. */
export async function syncDirectoryIfPossible(path: string): Promise<void> {
  await syncDirectory(path).catch((error: unknown) => {
    if (!['ENOENT', 'EPERM'].includes(errorCode(error) ?? '')) throw toWriteError(error, path);
  });
}

/**
 * Replaces the file atomically and makes its missing parent directories. Once this resolves, the new content survives a
 * power cut. `scratch` is the directory for the temporary file, so that a crash leaves nothing where the user would see
 * it.
 */
export async function replaceFile(path: string, bytes: Uint8Array | string, scratch?: string): Promise<void> {
  const name = `file-${process.pid}-${randomBytes(6).toString('hex')}`;
  const temporary = scratch === undefined ? `${path}.tmp-${name}` : join(scratch, name);
  try {
    await mkdir(dirname(path), { recursive: true });
    if (scratch !== undefined) await mkdir(scratch, { recursive: true });
    await writeDurably(temporary, bytes);
    await rename(temporary, path);
    await syncDirectoryIfPossible(dirname(path));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    // A linked work tree may be on another file system than its git directory.
    if (scratch !== undefined && (error as NodeJS.ErrnoException).code === 'EXDEV') return replaceFile(path, bytes);
    throw toWriteError(error, path);
  }
}

/** Removes a file; does nothing when it is missing. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw toWriteError(error, path);
  });
}

/** Returns an error that names the file and the reason. Returns one of teddy's own errors unchanged. */
export function toWriteError(error: unknown, what: string): unknown {
  if (errorCode(error) === null || error instanceof TeddyError) return error;
  return toDiskError(error, `${what} could not be written`, "Check the repository's permissions.");
}

/** Reads a small file's text; returns `fallback` when the file does not exist. Throws WRITE_FAILED when it is unreadable. */
export function readTextOr(path: string, fallback: string): Promise<string> {
  return readFile(path, 'utf8').catch(fallBackTo(fallback, 'ENOENT')).catch(throwReadError(path));
}

/** For `catch`: throws WRITE_FAILED, because an unreadable file must not count as missing. */
function throwReadError(path: string): (error: unknown) => never {
  return (error) => {
    throw toDiskError(error, `${path} could not be read`, 'Check its permissions.');
  };
}

/** Renames a file. Returns false when the file does not exist. */
export function renameIfExists(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(() => true, fallBackTo(false, 'ENOENT'));
}

/** Returns true if the file exists. Throws WRITE_FAILED when the system does not reveal it. */
export async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(nullIfGone).catch(throwReadError(path))) !== null;
}
