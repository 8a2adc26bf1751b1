/** A file to be read in pieces, as text and with the checksum of its bytes, however large it is. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { SourceFile, SourceReading } from '../ports/disk.ts';
import { errorReason } from '../disk/system-error.ts';

const pieceBytes = 64 * 1024;

/** Throws FILE_NOT_FOUND for what is no regular file. */
export async function openSourceFile(path: string, cwd: string): Promise<SourceFile> {
  const file = resolve(cwd, path);
  const stats = await stat(file).catch(refuse(path));
  if (!stats.isFile()) {
    const what = stats.isDirectory() ? 'a directory' : 'no regular file';
    throw new TeddyError('FILE_NOT_FOUND', `${path} is ${what}.`, 'Name a file; it is read twice.');
  }
  return { path, sizeBytes: stats.size, read: () => readSource(path, file) };
}

function readSource(path: string, file: string): SourceReading {
  const hash = createHash('sha256');
  async function* pieces(): SourceReading['pieces'] {
    // A character may be torn apart between two pieces; what is no UTF-8 is for the reader of the text to judge.
    const decoder = new TextDecoder('utf-8');
    try {
      for await (const chunk of createReadStream(file, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
        hash.update(chunk);
        yield { text: decoder.decode(chunk, { stream: true }), bytes: chunk.length };
      }
    } catch (error) {
      if (error instanceof Error && 'syscall' in error) refuse(path)(error);
      throw error;
    }
    yield { text: decoder.decode(), bytes: 0 };
  }
  return { pieces: pieces(), sha256: () => hash.digest('hex') };
}

function refuse(path: string): (error: unknown) => never {
  return (error) => {
    throw new TeddyError('FILE_NOT_FOUND', `${path} cannot be read: ${errorReason(error)}.`, 'Name another file.', {
      cause: error,
    });
  };
}
