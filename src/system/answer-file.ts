/** An answer that the user brings. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer as readStream } from 'node:stream/consumers';
import { TeddyError } from '../errors.ts';
import { errorReason } from '../disk/system-error.ts';

/** `from` is a path from `cwd`, or `-` for stdin. Throws FILE_NOT_FOUND, USAGE for what is not UTF-8. */
export async function readAnswer(from: string, { cwd, stdin }: { cwd: string; stdin: Readable }): Promise<string> {
  const bytes = from === '-' ? await readStream(stdin) : await readAnswerFile(from, cwd);
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new TeddyError(
    'USAGE',
    `The answer in ${from} is not UTF-8 text.`,
    'Save it as UTF-8 and run the command again.',
  );
}

async function readAnswerFile(path: string, cwd: string): Promise<Buffer> {
  return readFile(resolve(cwd, path)).catch((error: unknown) => {
    throw new TeddyError(
      'FILE_NOT_FOUND',
      `The answer cannot be read from ${path}: ${errorReason(error)}.`,
      'Give a file, or - for stdin.',
    );
  });
}
