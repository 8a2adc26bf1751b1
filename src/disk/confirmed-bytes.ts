/** Bytes that arrive in pieces, in their own file. A record elsewhere confirms the first part by size and sha256. */
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { TeddyError } from '../errors.ts';
import { writeAll } from './durable-file.ts';

/** The confirmed bytes, as their number and running hash. */
export interface Confirmed {
  size: number;
  hash: Hash;
}

/** The written form of `Confirmed`, with `sha256` in hex. */
export interface Confirmation {
  size: number;
  sha256: string;
}

export function confirmedOf(bytes: Uint8Array): Confirmed {
  return { size: bytes.length, hash: createHash('sha256').update(bytes) };
}

export function toConfirmation({ size, hash }: Confirmed): Confirmation {
  return { size, sha256: hash.copy().digest('hex') };
}

/**
 * Writes bytes after the confirmed ones, over anything that a failed attempt left behind; the bytes are durable when
 * this resolves. Throws STAGING_DAMAGED when the file has become shorter, because the write would leave a hole, and
 * ENOENT when the file is gone.
 */
export async function addConfirmed(path: string, { size, hash }: Confirmed, bytes: Uint8Array): Promise<Confirmed> {
  if (!(await writeAt(path, bytes, size))) throw changedError(path);
  return { size: size + bytes.length, hash: hash.copy().update(bytes) };
}

async function writeAt(path: string, bytes: Uint8Array, position: number): Promise<boolean> {
  const file = await open(path, constants.O_WRONLY | (position === 0 ? constants.O_CREAT : 0), 0o600);
  try {
    if ((await file.stat()).size < position) return false;
    await writeAll(file, bytes, position);
    await file.datasync();
    return true;
  } finally {
    await file.close();
  }
}

export function changedError(path: string): TeddyError {
  return new TeddyError(
    'STAGING_DAMAGED',
    `${path} was changed or removed by another program.`,
    'Nothing more will be added to it. Inspect it before it is removed.',
  );
}

/** Returns the confirmed bytes at the start of `content`, or null when they differ. */
export function confirmedPart(content: Uint8Array, { size, sha256 }: Confirmation): Uint8Array | null {
  const part = content.subarray(0, size);
  return toConfirmation(confirmedOf(part)).sha256 === sha256 && part.length === size ? part : null;
}
