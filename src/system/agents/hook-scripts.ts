/** The hooks as they come with teddy, and the message file that git hands to one. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { MessageFile } from '../../ports/git.ts';
import { replaceDurably } from '../../disk/durable-file.ts';
import { errorReason } from '../../disk/system-error.ts';

/** `program`: the executable; the scripts lie in the package beside it. Throws FILE_NOT_FOUND. */
export async function readHookScript(program: string, name: string): Promise<string> {
  const path = join(dirname(await realpath(program).catch(() => program)), '..', 'hooks', name);
  return readFile(path, 'utf8').catch((error: unknown) => {
    const message = `The hook ${name} of teddy cannot be read: ${errorReason(error)}.`;
    throw new TeddyError('FILE_NOT_FOUND', message, `It belongs at ${path}; install teddy again.`, { cause: error });
  });
}

/** Throws FILE_NOT_FOUND when it is read and not there. */
export function messageFile(path: string): MessageFile {
  return {
    read: () =>
      readFile(path, 'latin1').catch((error: unknown) => {
        const message = `The message of the commit cannot be read from ${path}: ${errorReason(error)}.`;
        throw new TeddyError('FILE_NOT_FOUND', message, 'git names the file to its hooks.', { cause: error });
      }),
    write: async (text) => replaceDurably(path, Buffer.from(text, 'latin1'), (await stat(path)).mode & 0o777),
  };
}
