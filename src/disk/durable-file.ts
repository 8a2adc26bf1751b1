/** Writes and removes files so that they are complete and on disk once the call returns. */
import { mkdir, open, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, fallBackTo } from './system-error.ts';

/**
 * Writes a new file. Sets the final mode last, so that nobody else can read the file until its content is complete.
 * Without a mode, the file has the user's default permissions.
 */
export async function writeDurably(path: string, bytes: Uint8Array | string, mode?: number): Promise<void> {
  const file = await open(path, 'wx', mode === undefined ? 0o666 : 0o600);
  try {
    await file.writeFile(bytes);
    if (mode !== undefined) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The name that `replaceDurably` gives to a file until it is complete. */
export function temporaryOf(path: string): string {
  return `${path}.tmp`;
}

/**
 * Replaces a file so that a crash leaves either the old content or the new content. `path` has one writer at a time.
 * Without a mode, the file has the user's default permissions.
 */
export async function replaceDurably(path: string, bytes: Uint8Array | string, mode?: number): Promise<void> {
  const temporary = temporaryOf(path);
  // A failed attempt, or a killed writer, may have left a temporary file.
  await removeFile(temporary);
  await writeDurably(temporary, bytes, mode);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Writes all the bytes, because a single write may accept only some of them. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

/** Removes a file; does nothing when it is missing. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(fallBackTo(undefined, 'ENOENT'));
}

/** Removes an empty directory. Returns false when the system refuses, and for the current directory, which git also keeps. */
export async function removeDirectory(path: string): Promise<boolean> {
  if (path === currentDirectory()) return false;
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

/** Returns null when the directory no longer exists. */
function currentDirectory(): string | null {
  try {
    return process.cwd();
  } catch {
    return null;
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } catch (error) {
    // Some file systems cannot fsync a directory, and teddy cannot change that.
    if (!['EINVAL', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await directory.close();
  }
}

/**
 * Makes a directory that only its user can read. An existing directory keeps its mode; missing parents have the default
 * mode.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch(fallBackTo(undefined, 'EEXIST'));
}
