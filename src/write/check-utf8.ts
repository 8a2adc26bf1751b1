/** Well-formed UTF-8: what is not is told with the place of its first byte. */
import { decodeText, isUtf8, type Candidate, type Verdict } from './candidate.ts';

export function checkUtf8({ bytes, isUtf8: isWellFormed, base }: Candidate): Verdict {
  if (isWellFormed) return [];
  if (base !== null && !isUtf8(base.bytes)) return { skipped: 'the target was not UTF-8 before' };
  const offset = findBadByte(bytes);
  const hex = (bytes[offset] ?? 0).toString(16).padStart(2, '0').toUpperCase();
  const lineStart = offset === 0 ? 0 : bytes.lastIndexOf(0x0a, offset - 1) + 1;
  const before = decodeText(bytes.subarray(lineStart, offset));
  return [
    {
      check: 'utf-8',
      message: `The byte 0x${hex} at offset ${offset} is not UTF-8.`,
      line: countLines(bytes, lineStart),
      column: before.length + 1,
    },
  ];
}

/** Each broken sequence becomes U+FFFD; `count` says how many did. */
export function repairUtf8(bytes: Uint8Array): { bytes: Uint8Array; count: number } {
  const repaired = new TextEncoder().encode(decodeText(bytes));
  return { bytes: repaired, count: countMarks(repaired) - countMarks(bytes) };
}

/** The first byte of the first sequence that is none, or the length. The encoded text is the same up to there. */
function findBadByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** Of the character at `at` in bytes; 0: it is not well formed. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length =
    first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  const isWhole = length > 0 && at + length <= bytes.length;
  return isWhole && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

function countLines(bytes: Uint8Array, end: number): number {
  let line = 1;
  for (let at = bytes.indexOf(0x0a); at !== -1 && at < end; at = bytes.indexOf(0x0a, at + 1)) line += 1;
  return line;
}

function countMarks(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(0xef); at !== -1; at = bytes.indexOf(0xef, at + 1)) {
    if (bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd) count += 1;
  }
  return count;
}
