/** Bytes that come in pieces, in a file of their own: what stands beside them confirms so many, by their sha256. */
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { TeddyError } from '../errors.ts';
import { writeAll } from './durable-file.ts';

/** The bytes that are confirmed. */
export interface Confirmed {
  size: number;
  hash: Hash;
}

/** The same as it is written down. `sha256`: hex. */
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
 * Writes bytes behind the confirmed ones, over what a failed attempt has left there; durable when it resolves. Throws STAGING_DAMAGED
 * where somebody has made the file shorter, since it would have a hole, and ENOENT where it is gone.
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
    `${path} was changed or removed by somebody else.`,
    'Nothing more is added to it; look at it before anything removes it.',
  );
}

/** The confirmed bytes of a content; null when it has others. */
export function confirmedPart(content: Uint8Array, { size, sha256 }: Confirmation): Uint8Array | null {
  const part = content.subarray(0, size);
  return toConfirmation(confirmedOf(part)).sha256 === sha256 && part.length === size ? part : null;
}
