/** The hooks and other files that ship with teddy, and the message file that git passes to a hook. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { MessageFile } from '../../ports/git.ts';
import { replaceDurably } from '../../disk/durable-file.ts';
import { errorReason } from '../../disk/system-error.ts';

/** Returns the directory of the package that the executable belongs to. */
export async function findPackage(program: string): Promise<string> {
  return join(dirname(await realpath(program).catch(() => program)), '..');
}

/** `program` is the executable; its package also contains the scripts. Throws FILE_NOT_FOUND. */
export function readHookScript(program: string, name: string): Promise<string> {
  return readPackageFile(program, `hooks/${name}`, `hook ${name}`);
}

/** Reads a file of the executable's package. Throws FILE_NOT_FOUND. */
export async function readPackageFile(program: string, name: string, what = `file ${name}`): Promise<string> {
  const path = join(await findPackage(program), name);
  return readFile(path, 'utf8').catch((error: unknown) => {
    const message = `teddy's ${what} cannot be read: ${errorReason(error)}.`;
    throw new TeddyError('FILE_NOT_FOUND', message, `It should be at ${path}. Reinstall teddy.`, { cause: error });
  });
}

/** Reading throws FILE_NOT_FOUND when the file does not exist. */
export function messageFile(path: string): MessageFile {
  return {
    read: () =>
      readFile(path, 'latin1').catch((error: unknown) => {
        const message = `The commit message cannot be read from ${path}: ${errorReason(error)}.`;
        throw new TeddyError('FILE_NOT_FOUND', message, 'git passes this path to its hooks.', { cause: error });
      }),
    write: async (text) => replaceDurably(path, Buffer.from(text, 'latin1'), (await stat(path)).mode & 0o777),
  };
}
