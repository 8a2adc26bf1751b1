/** An answer that the user brings. */
import { readFile } from 'node:fs/promises';
import { buffer as readStream } from 'node:stream/consumers';
import { TeddyError } from '../errors.ts';
import { errorReason } from './system-error.ts';

/** `from` is a path, or `-` for stdin. Throws FILE_NOT_FOUND, USAGE for what is not UTF-8. */
export async function readAnswer(from: string): Promise<string> {
  const bytes = from === '-' ? await readStream(process.stdin) : await readAnswerFile(from);
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new TeddyError(
    'USAGE',
    `The answer in ${from} is not UTF-8 text.`,
    'Save it as UTF-8 and run the command again.',
  );
}

async function readAnswerFile(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new TeddyError(
      'FILE_NOT_FOUND',
      `The answer cannot be read from ${path}: ${errorReason(error)}.`,
      'Give a file, or - for stdin.',
    );
  });
}
