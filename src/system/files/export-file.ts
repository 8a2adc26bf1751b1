/** Exports files and directories completely, or not at all. */
import { randomBytes, createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { ExportDirectory, ExportTarget, SourceFile, SourceReading } from '../../ports/disk.ts';
import type { FileBelow } from '../../ports/git.ts';
import { syncDirectory } from '../../disk/durable-file.ts';
import { errorCode, nullIfGone, toDiskError, errorReason } from '../../disk/system-error.ts';
import { createReadStream } from 'node:fs';

/** `path` is relative to `cwd`, as the user wrote it. */
export function exportFile(path: string, { cwd, force }: { cwd: string; force: boolean }): ExportTarget {
  const target = resolve(cwd, path);
  return {
    name: path,
    async refuse() {
      await refuseParent(target);
      const found = await stat(target).catch(nullIfGone).catch(throwUnwritten);
      if (found?.isDirectory()) throw toInTheWay(`${path} is a directory.`, 'Name a file.');
      if (found !== null && !force) throw toInTheWay(`${path} already exists.`, 'Use --force to replace it.');
    },
    put: (pieces) =>
      atomically({ target, name: path }, async (temporary) => {
        const file = await open(temporary, 'wx', 0o666);
        await writeAndClose(file, pieces);
      }),
  };
}

export function exportDirectory(path: string, cwd: string): ExportDirectory {
  const target = resolve(cwd, path);
  return {
    name: path,
    async refuse() {
      await refuseParent(target);
      const names = await readdir(target).catch((error: unknown) => {
        if (errorCode(error) === 'ENOTDIR') throw toInTheWay(`${path} is a file.`, 'Name a directory.');
        return errorCode(error) === 'ENOENT' ? [] : throwUnwritten(error);
      });
      if (names.length > 0) throw toInTheWay(`${path} is not empty.`, 'Use a new or empty directory.');
    },
    put: (files) =>
      atomically({ target, name: path }, async (temporary) => {
        await mkdir(temporary);
        for await (const file of files) await writeBelow(temporary, file);
      }),
  };
}

/** A rename replaces only a file or an empty directory. */
async function atomically(
  { target, name }: { target: string; name: string },
  write: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${target}.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await write(temporary);
    await rename(temporary, target);
    await syncDirectory(dirname(target));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw toWriteError(error, name);
  }
}

/** The names come from a tree that anybody may have made. */
async function writeBelow(root: string, { path, bytes }: FileBelow): Promise<void> {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) {
    throw new TeddyError(
      'DAMAGED_SESSION',
      `The session contains a file named ${JSON.stringify(path)}.`,
      'Check the repository with `git fsck`.',
    );
  }
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeAndClose(await open(join(root, path), 'wx', 0o666), [bytes]);
}

async function writeAndClose(
  file: FileHandle,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const piece of pieces) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function refuseParent(target: string): Promise<void> {
  const parent = dirname(target);
  const found = await stat(parent).catch(nullIfGone).catch(throwUnwritten);
  if (found?.isDirectory()) return;
  throw new TeddyError(
    'FILE_NOT_FOUND',
    `The directory ${parent} does not exist.`,
    'Create it first, or use another path.',
  );
}

function toInTheWay(message: string, hint: string): TeddyError {
  return new TeddyError('FILES_IN_THE_WAY', message, hint);
}

function throwUnwritten(error: unknown): never {
  throw toWriteError(error, 'The export');
}

function toWriteError(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === null || error instanceof TeddyError) return error;
  // Somebody has created something at this path in the meantime.
  if (code === 'ENOTEMPTY' || code === 'EEXIST') return toInTheWay(`${path} is not empty.`, 'Use another directory.');
  return toDiskError(error, `${path} could not be written`, 'Use another path.');
}

/** Reads a file of any size in pieces, as text and with the checksum of its bytes. */
const pieceBytes = 64 * 1024;

/** Throws FILE_NOT_FOUND unless it is a regular file. */
export async function openSourceFile(path: string, cwd: string): Promise<SourceFile> {
  const file = resolve(cwd, path);
  const stats = await stat(file).catch(refuse(path));
  if (!stats.isFile()) {
    const [what, hint] = stats.isDirectory()
      ? ['a directory', 'Name a file.']
      : ['not a regular file', 'Save it to a file and pass that instead, because it is read twice.'];
    throw new TeddyError('FILE_NOT_FOUND', `${path === '' ? '""' : path} is ${what}.`, hint);
  }
  return { path, sizeBytes: stats.size, read: () => readSource(path, file) };
}

function readSource(path: string, file: string): SourceReading {
  const hash = createHash('sha256');
  async function* pieces(): SourceReading['pieces'] {
    // Two pieces may split a character; the text's reader deals with invalid UTF-8.
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
    throw new TeddyError('FILE_NOT_FOUND', `${path} cannot be read: ${errorReason(error)}.`, 'Use another file.', {
      cause: error,
    });
  };
}
