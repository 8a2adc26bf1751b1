/** Files that are whole and on disk once the call returns. */
import { mkdir, open, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, fallBackTo } from './system-error.ts';

/** A new file; the final mode comes last: until the content is whole, nobody else may read it. Without a mode, as the user's files are made. */
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

/** The old content or the new one, whatever happens. `path` has one writer at a time. */
export async function replaceDurably(path: string, bytes: Uint8Array | string, mode: number): Promise<void> {
  const temporary = `${path}.tmp`;
  // An attempt that failed, or a writer that was killed, may have left one.
  await removeFile(temporary);
  await writeDurably(temporary, bytes, mode);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** A disk may take less than it is given, in one go. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

/** Nothing there is as good as removed. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(fallBackTo(undefined, 'ENOENT'));
}

/**
 * False: a directory with something in it stays, and so does one that may not be removed, and the one that the person who started
 * the command stands in, as with git.
 */
export async function removeDirectory(path: string): Promise<boolean> {
  if (path === currentDirectory()) return false;
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

/** Null when somebody has removed it. */
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
    // Some file systems cannot fsync a directory; there is nothing more to do there.
    if (!['EINVAL', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await directory.close();
  }
}

/** Makes a directory for its user alone. One that is there is left as it is; those above it get the usual mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch(fallBackTo(undefined, 'EEXIST'));
}
