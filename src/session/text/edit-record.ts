/** Remembers an edit of a file compactly, so that the file can be restored byte for byte. */
import type { Hash } from '../../ports/project.ts';

/** The original bytes between the common start and the common end. */
export interface EditRecord {
  /** The sha256 of the file as teddy wrote it. */
  after: string;
  /** False when the file did not exist before. */
  existed: boolean;
  start: number;
  end: number;
  /** In base64. */
  between: string;
}

/** `before` is null when the file did not exist. */
export function toEditRecord(before: Uint8Array | null, after: Uint8Array, hash: Hash): EditRecord {
  const was = before ?? new Uint8Array();
  const most = Math.min(was.length, after.length);
  let start = 0;
  while (start < most && was[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && was[was.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const between = Buffer.from(was.subarray(start, was.length - end)).toString('base64');
  return { after: hash(after), existed: before !== null, start, end, between };
}

/**
 * Returns the file's state before the edit (`bytes` is null when it did not exist), or null when somebody has changed
 * the file since, or the record is damaged.
 */
export function findOriginal(
  now: Uint8Array | null,
  record: Readonly<Record<string, unknown>> | null,
  hash: Hash,
): { bytes: Uint8Array | null } | null {
  const { after, existed, start, end, between } = record ?? {};
  if (now === null || typeof between !== 'string' || after !== hash(now)) return null;
  if (existed !== true) return { bytes: null };
  const tail = now.subarray(now.length - Number(end));
  return { bytes: Buffer.concat([now.subarray(0, Number(start)), Buffer.from(between, 'base64'), tail]) };
}
