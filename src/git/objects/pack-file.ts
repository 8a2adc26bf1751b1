/**
 * Writes a pack object by object. Stores only the new part of each version of a file or directory. The complete pack is
 * durable.
 */
import { createHash, randomBytes, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import type { Oid } from '../../names.ts';
import { removeFile, syncDirectoryIfPossible, toWriteError, fileExists } from '../../disk/replace-file.ts';
import { readBootId } from '../../disk/process-identity.ts';
import { toSharedMode, type ObjectWriterOptions } from './object-writer.ts';
import { packIndex, type PackIndex } from './pack-index.ts';
import { removeDeadPacks } from '../run/living-gits.ts';

export interface PackFile {
  /**
   * Adds an object. `same` counts the bytes shared with the previous object in the series; without it, this method
   * compares the two.
   */
  add(type: ObjectType, content: Buffer, series: Series | null, same?: SharedEnds): Oid;
  /** Writes to disk when much data is buffered. The caller must not add anything meanwhile. */
  drain(): Promise<void>;
  /** Makes all objects durable and visible. */
  finish(): Promise<void>;
  /** Removes all written data. */
  discard(): Promise<void>;
}

/** The versions of one file or directory. Each usually adds a little to the previous one. */
export interface Series {
  stored: Stored | null;
  /** The newest version; null when the caller specifies how much of it the next one shares. */
  content: Buffer | null;
  hashed: Hashed | null;
}

/** The number of bytes at the beginning and the end that an earlier version shares. */
export interface SharedEnds {
  before: number;
  after: number;
}

type ObjectType = keyof typeof typeNumbers;

const typeNumbers = { commit: 1, tree: 2, blob: 3 } as const;
const offsetDelta = 6;
const flushBytes = 1 << 20;
/**
 * Each version is stored as the difference from the previous one, every 50th as the difference from the 50th before it,
 * and every 2,500th completely. Every version is thus within 100 steps, and large directories do not fill the pack.
 */
const stepsToMilestone = 50;
const milestones = 50;
const smallBytes = 4096;
const tinyBytes = 128;

/** For content of at least this size, storing the hash of the shared part pays off. */
const largeBytes = 64 * 1024;

/** A stored version, with the number of bytes that it shares with the newest one. */
interface Version extends SharedEnds {
  offset: number;
  length: number;
}

interface Stored {
  last: Version;
  milestone: Version;
  /** The number of versions since the last completely stored one. */
  steps: number;
}

/** The hash of a version up to the point where later versions of equal length begin to differ. */
interface Hashed {
  hash: Hash;
  at: number;
  length: number;
}

export function openSeries(): Series {
  return { stored: null, content: null, hashed: null };
}

/** Opens a pack. The temporary file's name identifies its process and has a form that git's gc removes. */
export async function openPack(options: ObjectWriterOptions): Promise<PackFile> {
  const dir = join(options.objectsDir, 'pack');
  await mkdir(dir, { recursive: true });
  await removeDeadPacks(dir, options.objectFormat);
  const temporary = join(dir, `tmp_pack_teddy-${process.pid}-${await readBootId()}-${randomBytes(4).toString('hex')}`);
  const file = await open(temporary, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  const index = packIndex(options.objectFormat);
  let waiting = Buffer.allocUnsafe(2 * flushBytes);
  let waitingBytes = encodeHeader(0).copy(waiting);
  let flushedBytes = 0;

  const flush = async () => {
    await writeAll(file, waiting.subarray(0, waitingBytes), flushedBytes);
    flushedBytes += waitingBytes;
    waitingBytes = 0;
  };
  return {
    add(type, content, series, given) {
      const same = given ?? (series?.content ? findSharedEnds(series.content, content) : null);
      const id = hashObject(options.objectFormat, type, content, series, same);
      const oid = id.toString('hex') as Oid;
      if (series !== null) advance(series, same, given === undefined ? content : null);
      if (index.has(id)) return oid;
      const offset = flushedBytes + waitingBytes;
      const base = series?.stored ? chooseBase(series.stored) : null;
      const delta = base && encodeDelta(base, content);
      const bytes = encodeEntry(type, content, base && delta ? { delta, distance: offset - base.offset } : null);
      index.add(id, crc32(bytes), offset);
      if (waitingBytes + bytes.length > waiting.length)
        waiting = Buffer.concat([waiting.subarray(0, waitingBytes)], 2 * (waitingBytes + bytes.length));
      waitingBytes += bytes.copy(waiting, waitingBytes);
      if (series !== null) series.stored = toStored(delta && series.stored, offset, content.length);
      return oid;
    },
    async drain() {
      if (waitingBytes >= flushBytes) await flush();
    },
    async finish() {
      await flush();
      const checksum = await sealPack(file, options.objectFormat, index.count, flushedBytes);
      await file.sync();
      await finishFile(file, options);
      options.onStep?.('pack-written');
      await install({ dir, temporary, checksum, index, options });
    },
    async discard() {
      await file.close().catch(() => undefined);
      await removeFile(temporary);
    },
  };
}

function hashObject(
  format: ObjectWriterOptions['objectFormat'],
  type: ObjectType,
  content: Buffer,
  series: Series | null,
  same: SharedEnds | null,
): Buffer {
  const begin = () => createHash(format).update(`${type} ${content.length}\0`);
  if (series === null || content.length < largeBytes) {
    if (series !== null) series.hashed = null;
    return begin().update(content).digest();
  }
  const { hashed } = series;
  const isUsable = hashed?.length === content.length && same !== null && hashed.at <= same.before;
  const at = same?.before ?? 0;
  const known = isUsable ? hashed : { hash: begin().update(content.subarray(0, at)), at, length: content.length };
  series.hashed = known;
  return known.hash.copy().update(content.subarray(known.at)).digest();
}

/** Moves the series on to the next version, even one that is not stored because it is already in the pack. */
function advance(series: Series, same: SharedEnds | null, content: Buffer | null): void {
  series.content = content;
  if (same === null) series.stored = null;
  if (series.stored === null || same === null) return;
  for (const version of [series.stored.last, series.stored.milestone]) {
    version.before = Math.min(version.before, same.before);
    version.after = Math.min(version.after, same.after);
  }
}

/** Returns the version to build on, or null to store the next version completely. */
function chooseBase({ last, milestone, steps }: Stored): Version | null {
  if ((steps + 1) % (stepsToMilestone * milestones) === 0) return null;
  return (steps + 1) % stepsToMilestone === 0 ? milestone : last;
}

/** Records a stored version; `known` is null when it was stored completely. */
function toStored(known: Stored | null, offset: number, length: number): Stored {
  const version = { offset, length, before: length, after: length };
  if (known === null) return { last: version, milestone: version, steps: 0 };
  const steps = known.steps + 1;
  return { last: version, milestone: steps % stepsToMilestone === 0 ? version : known.milestone, steps };
}

function encodeHeader(count: number): Buffer {
  const header = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1');
  header.writeUInt32BE(count, 8);
  return header;
}

function encodeEntry(
  type: ObjectType,
  content: Buffer,
  difference: { delta: Buffer; distance: number } | null,
): Buffer {
  const body = difference?.delta ?? content;
  const head = encodeTypeAndSize(difference === null ? typeNumbers[type] : offsetDelta, body.length);
  const distance = difference === null ? [] : encodeDistance(difference.distance);
  return Buffer.concat([Buffer.from([...head, ...distance]), compress(body)]);
}

/**
 * Compresses a body. Stores a tiny body uncompressed, because a directory's change is an ID, which does not compress.
 * Uses a small window for a small body, because the setup is then faster.
 */
function compress(body: Buffer): Buffer {
  if (body.length <= tinyBytes) return asIs(body);
  return deflateSync(
    body,
    body.length <= smallBytes ? { level: 1, windowBits: 12, memLevel: 5, chunkSize: smallBytes } : { level: 1 },
  );
}

/** Makes a zlib stream with one stored block. */
function asIs(body: Buffer): Buffer {
  let [low, high] = [1, 0];
  for (const byte of body) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  const stream = Buffer.allocUnsafe(body.length + 11);
  stream.set([0x78, 0x01, 0x01]);
  stream.writeUInt16LE(body.length, 3);
  stream.writeUInt16LE(0xffff - body.length, 5);
  stream.set(body, 7);
  stream.writeUInt16BE(high, body.length + 7);
  stream.writeUInt16BE(low, body.length + 9);
  return stream;
}

function encodeTypeAndSize(type: number, size: number): number[] {
  const bytes = [(type << 4) | (size % 16)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 0x80)) {
    bytes[bytes.length - 1] = 0x80 | (bytes.at(-1) ?? 0);
    bytes.push(rest % 0x80);
  }
  return bytes;
}

/** Encodes the distance back to the base: most significant part first, and each part but the last reduced by one. */
function encodeDistance(distance: number): number[] {
  const bytes = [distance % 0x80];
  for (let rest = Math.floor(distance / 0x80); rest > 0; rest = Math.floor(rest / 0x80)) {
    rest -= 1;
    bytes.unshift(0x80 | (rest % 0x80));
  }
  return bytes;
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** Writes the number of objects, which is known only now, into the header, and the checksum at the end. */
async function sealPack(file: FileHandle, format: 'sha1' | 'sha256', count: number, size: number): Promise<Buffer> {
  await writeAll(file, encodeHeader(count), 0);
  const hash = createHash(format);
  const piece = Buffer.alloc(flushBytes);
  for (let at = 0; at < size;) {
    const { bytesRead } = await file.read(piece, 0, Math.min(piece.length, size - at), at);
    if (bytesRead === 0) throw new Error('The pack is shorter than what was written to it.');
    hash.update(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
  const checksum = hash.digest();
  await writeAll(file, checksum, size);
  return checksum;
}

async function finishFile(file: FileHandle, { shared }: ObjectWriterOptions): Promise<void> {
  await file.chmod(toSharedMode(0o444, shared) ?? 0o444 & ~process.umask());
  await file.close();
}

interface WrittenPack {
  dir: string;
  temporary: string;
  checksum: Buffer;
  index: PackIndex;
  options: ObjectWriterOptions;
}

/** Renames the pack first and its index last, because git finds packs by their index and never removes a pack without one. */
async function install({ dir, temporary, checksum, index, options }: WrittenPack): Promise<void> {
  const temporaryIndex = temporary.replace('tmp_pack_', 'tmp_idx_');
  const name = join(dir, `pack-${checksum.toString('hex')}`);
  let isNamed = false;
  try {
    const file = await open(temporaryIndex, 'wx', 0o600);
    for (const part of index.render(checksum)) await file.writeFile(part);
    await file.sync();
    await finishFile(file, options);
    await rename(temporary, `${name}.pack`);
    isNamed = true;
    options.onStep?.('pack-named');
    await rename(temporaryIndex, `${name}.idx`);
    await syncDirectoryIfPossible(dir);
  } catch (error) {
    await removeFile(temporaryIndex);
    if (isNamed && !(await fileExists(`${name}.idx`))) await removeFile(`${name}.pack`);
    throw toWriteError(error, `${name}.pack`);
  }
}

/** Deltas in git's format: the common beginning, the new bytes in between, and the common end. */

const blockBytes = 4096;
/** git does not write longer copies either, though it can read them. */
const maxCopyBytes = 0x10000;
const maxInsertBytes = 0x7f;

/** Encodes the difference; null when it would not be much shorter than the whole. */
export function encodeDelta({ length, before, after }: Omit<Version, 'offset'>, target: Buffer): Buffer | null {
  const added = target.subarray(before, target.length - after);
  if (added.length > target.length / 2) return null;
  return Buffer.concat([
    encodeSize(length),
    encodeSize(target.length),
    ...encodeCopy(0, before),
    ...encodeInsert(added),
    ...encodeCopy(length - after, after),
  ]);
}

export function findSharedEnds(a: Buffer, b: Buffer): SharedEnds {
  const shorter = Math.min(a.length, b.length);
  const before = countEqual(a, b, shorter);
  return { before, after: countEqualAtEnd(a, b, shorter - before) };
}

/** Compares whole blocks in native code, and single bytes only within the differing block. */
function countEqual(a: Buffer, b: Buffer, max: number): number {
  let at = 0;
  while (at < max) {
    const end = Math.min(at + blockBytes, max);
    if (a.compare(b, at, end, at, end) !== 0) break;
    at = end;
  }
  while (at < max && a[at] === b[at]) at += 1;
  return at;
}

function countEqualAtEnd(a: Buffer, b: Buffer, max: number): number {
  let count = 0;
  while (count < max) {
    const next = Math.min(count + blockBytes, max);
    const inB = [b.length - next, b.length - count] as const;
    if (a.compare(b, ...inB, a.length - next, a.length - count) !== 0) break;
    count = next;
  }
  while (count < max && a[a.length - 1 - count] === b[b.length - 1 - count]) count += 1;
  return count;
}

function encodeSize(size: number): Buffer {
  const bytes: number[] = [];
  let rest = size;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push(0x80 | (rest % 0x80));
  return Buffer.from([...bytes, rest]);
}

function encodeCopy(from: number, length: number): Buffer[] {
  const copies: Buffer[] = [];
  for (let done = 0; done < length; done += maxCopyBytes)
    copies.push(encodeOneCopy(from + done, Math.min(maxCopyBytes, length - done)));
  return copies;
}

/** Encodes one copy. Omits zero bytes and flags the present ones in the first byte; a size of 64 KiB has no size bytes. */
function encodeOneCopy(offset: number, size: number): Buffer {
  const bytes: number[] = [];
  let flags = 0x80;
  const add = (byte: number, flag: number) => {
    if (byte === 0) return;
    bytes.push(byte);
    flags |= flag;
  };
  for (let at = 0; at < 4; at += 1) add((offset >>> (8 * at)) & 0xff, 1 << at);
  if (size < maxCopyBytes) for (let at = 0; at < 2; at += 1) add((size >>> (8 * at)) & 0xff, 0x10 << at);
  return Buffer.from([flags, ...bytes]);
}

function encodeInsert(added: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < added.length; at += maxInsertBytes) {
    const part = added.subarray(at, at + maxInsertBytes);
    parts.push(Buffer.from([part.length]), part);
  }
  return parts;
}
