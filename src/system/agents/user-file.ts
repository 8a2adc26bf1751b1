/** A file in the user's own configuration, which may be a link, and which other programs read and write. */
import { chmod, lstat, mkdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { removeFile } from '../../disk/replace-file.ts';
import { replaceDurably, temporaryOf } from '../../disk/durable-file.ts';
import { errorCode, errorReason, nullIfGone } from '../../disk/system-error.ts';
import { TeddyError } from '../../errors.ts';
import type { SetupFile } from '../../ports/setup.ts';

/** Preserves a link. Throws FILES_IN_THE_WAY for a file that is unreadable or read-only, and WRITE_FAILED. */
export function userFile(path: string): SetupFile {
  return {
    path,
    read: () =>
      readIfThere(path).catch((error: unknown) => {
        throw toInTheWay(path, `cannot be read: ${errorReason(error)}`, 'Check its permissions.');
      }),
    async write(bytes) {
      const target = await resolveLink(path);
      const found = await stat(target).catch(() => null);
      if (isReadOnly(found)) throw toInTheWay(path, 'is read-only', 'Make it writable, or change it at its source.');
      await writeUserFile(target, bytes, found === null ? null : found.mode & 0o777);
    },
    remove: async () => removeFile(await resolveLink(path)),
    clear: async () => removeFile(temporaryOf(await resolveLink(path))),
  };
}

function toInTheWay(path: string, fault: string, hint: string): TeddyError {
  return new TeddyError('FILES_IN_THE_WAY', `${path} was not changed: it ${fault}.`, hint);
}

/** A rename would replace even a read-only file, but somebody made it read-only for a reason. */
export function isReadOnly(found: { mode: number } | null): boolean {
  return found !== null && (found.mode & 0o222) === 0;
}

export async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

/** Returns null when the file does not exist. */
export function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch(nullIfGone);
}

/** Users may keep the file elsewhere and link to it; teddy preserves the link. */
export async function resolveLink(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const link = await lstat(path).catch(() => null);
  return link?.isSymbolicLink() === true ? resolve(dirname(path), await readlink(path)) : path;
}

/** A `mode` of null means the default mode for new files. Throws WRITE_FAILED. */
export async function writeUserFile(path: string, content: Uint8Array | string, mode: number | null): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await replaceDurably(path, content, mode ?? undefined);
    if (mode !== null) await chmod(path, mode);
  } catch (error) {
    if (error instanceof TeddyError || errorCode(error) === null) throw error;
    const message = `${path} could not be written: ${errorReason(error)}.`;
    throw new TeddyError('WRITE_FAILED', message, `Check the permissions of ${dirname(path)}.`, { cause: error });
  }
}

/** Removes the file, and what an interrupted write has left beside it. */
export async function removeUserFile(path: string): Promise<void> {
  await removeFile(temporaryOf(path));
  await removeFile(path);
}
