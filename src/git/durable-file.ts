/** Small files that survive a crash: written whole, fsynced, renamed into place. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TeddyError } from '../errors.ts';

/** Some file systems cannot fsync a directory (EINVAL, ENOTSUP); there is nothing more to do there. */
export async function syncDir(path: string): Promise<void> {
  let dir;
  try {
    dir = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    await dir.sync();
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await dir.close();
  }
}

/** Replaces the file atomically; makes its directories. After it returns, the new content survives a power cut. */
export async function replaceFile(path: string, bytes: Uint8Array | string, mode = 0o666): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.tmp-${randomBytes(4).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncDir(dirname(path));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw toWriteError(error, path);
  }
}

export function toWriteError(error: unknown, what: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof TeddyError) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new TeddyError(
      'DISK_FULL',
      `No space left while writing ${what}.`,
      'Free some space and run the command again; nothing was lost.',
      {
        cause: error,
      },
    );
  }
  return new TeddyError(
    'WRITE_FAILED',
    `${what} could not be written: ${message}`,
    'Check the permissions of the repository.',
    {
      cause: error,
    },
  );
}
