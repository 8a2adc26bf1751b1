/** Reads agents' logs in whole lines, starting where the last reading stopped. */
import { constants } from 'node:fs';
import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fallBackTo } from '../../disk/system-error.ts';
import type { LogLine, LogPosition, LogReading, LogStat } from '../../ports/agent-logs.ts';
import { sha256 } from '../ids.ts';

const pieceBytes = 256 * 1024;
const maxLineBytes = 64 * 1024 * 1024;
const tailBytes = 4096;
const maxTextBytes = 16 * 1024 * 1024;

/** Returns null for a path that does not exist, is not a regular file, or is outside `root`, by name or through links. */
export async function statLog(path: string, root: string): Promise<LogStat | null> {
  const stats = await stat(path).catch(ignoreMissing);
  if (stats === null || !stats.isFile()) return null;
  const isIn = (inner: string, outer: string) => resolve(inner).startsWith(`${outer}/`);
  if (!isIn(path, root) && !isIn(await realPath(path), await realPath(root))) return null;
  return { device: stats.dev, inode: stats.ino, size: stats.size, mtimeMs: stats.mtimeMs };
}

/** Resolves links in as much of the path as exists. */
export async function realPath(path: string): Promise<string> {
  const real = await realpath(path).catch(ignoreMissing);
  return real ?? (dirname(path) === path ? path : join(await realPath(dirname(path)), basename(path)));
}

/**
 * Returns null when the file does not exist, is not a regular file, is over 16 MiB, is not UTF-8, or is unreadable for
 * any other reason.
 */
export async function readNamed(path: string): Promise<string | null> {
  // Resolving a relative path would start from another directory than the agent's, and opening a FIFO would block.
  const file = isAbsolute(path) ? await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null) : null;
  try {
    const stats = await file?.stat();
    if (file === null || stats === undefined || !stats.isFile() || stats.size > maxTextBytes) return null;
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.readFile());
  } catch {
    return null;
  } finally {
    await file?.close();
  }
}

/** Returns null when the file is gone or does not continue the bytes before `position`. */
export async function readLog(path: string, position: LogPosition | null): Promise<LogReading | null> {
  const file = await open(path, 'r').catch(ignoreMissing);
  if (file === null) return null;
  try {
    const { dev, ino, size } = await file.stat();
    const start = position ?? { device: dev, inode: ino, offset: 0, lines: 0, tail: { length: 0, sha256: '' } };
    if (position !== null && !(await continues(file, size, position))) {
      await file.close();
      return null;
    }
    return openReading(file, { ...start, device: dev, inode: ino });
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function continues(file: FileHandle, size: number, { offset, tail }: LogPosition): Promise<boolean> {
  if (size < offset) return false;
  return tail.length === 0 || sha256(await readBytes(file, offset - tail.length, tail.length)) === tail.sha256;
}

async function readBytes(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Closes the file once it has yielded all lines, or the caller stops. */
function openReading(file: FileHandle, start: LogPosition): LogReading {
  let { offset, lines: count } = start;
  let last: Buffer = Buffer.alloc(0);
  let isFresh = true;
  const take = (line: Buffer): void => {
    offset += line.length;
    count += 1;
    last = line.subarray(Math.max(0, line.length - tailBytes));
    isFresh = false;
  };
  async function* lines(): AsyncIterable<LogLine> {
    const decoder = new TextDecoder('utf-8');
    let parts: Buffer[] = [];
    let [held, skipped] = [0, 0];
    let at = offset;
    try {
      for (;;) {
        const piece = await readBytes(file, at, pieceBytes);
        if (piece.length === 0) return;
        at += piece.length;
        let from = 0;
        for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, from)) {
          parts.push(piece.subarray(from, end + 1));
          from = end + 1;
          const line = Buffer.concat(parts);
          const isLong = skipped > 0 || line.length > maxLineBytes;
          [parts, held] = [[], 0];
          offset += skipped;
          skipped = 0;
          take(line);
          const text = isLong ? null : decoder.decode(line).replace(/\r?\n$/, '');
          if (text === null || text.trim() !== '') yield { number: count, text };
        }
        const rest = piece.subarray(from);
        parts.push(rest);
        held += rest.length;
        // Counts the beginning of an overlong line but does not keep it.
        if (held > maxLineBytes) {
          skipped += held;
          [parts, held] = [[], 0];
        }
      }
    } finally {
      await file.close();
    }
  }
  return {
    lines: lines(),
    position: () => ({
      ...start,
      offset,
      lines: count,
      tail: isFresh ? start.tail : { length: last.length, sha256: sha256(last) },
    }),
  };
}

const ignoreMissing = fallBackTo(null, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES');
