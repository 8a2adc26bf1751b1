/** git's own difference between two versions of an object: their common beginning and end, and what is new in between. */

const blockBytes = 4096;
/** git writes no longer copies either, though its readers take them. */
const maxCopyBytes = 0x10000;
const maxInsertBytes = 0x7f;

/** Null where the whole is not much longer than the difference would be. */
export function toDelta(base: Buffer, target: Buffer): Buffer | null {
  const shorter = Math.min(base.length, target.length);
  const before = countEqual(base, target, shorter);
  const after = countEqualAtEnd(base, target, shorter - before);
  const added = target.subarray(before, target.length - after);
  if (added.length > target.length / 2) return null;
  return Buffer.concat([
    encodeSize(base.length),
    encodeSize(target.length),
    ...encodeCopy(0, before),
    ...encodeInsert(added),
    ...encodeCopy(base.length - after, after),
  ]);
}

/** Block by block in native code, and only within the block that differs byte by byte. */
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

/** Bytes that are zero are left out, and the first byte says which are there; a size of 64 KiB has none. */
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
