/** Checks of the bytes: UTF-8, control characters, and the target's format, which the content must keep. */
import { decodeText, isUtf8, type Candidate, type Verdict } from './candidate.ts';
import { locator } from './positions.ts';
import type { Base, Finding } from './write.ts';

const said = { lf: 'LF', crlf: 'CRLF' };

export function checkBom({ bytes, base, operation }: Candidate): Verdict {
  if (base === null) return null;
  const hasBom = beginsWithBom(bytes);
  const place = { check: 'bom', line: 1, column: 1 };
  if (operation === 'append') {
    return hasBom
      ? [{ ...place, message: 'The content begins with a byte order mark: it would end up inside the file.' }]
      : [];
  }
  const hadBom = beginsWithBom(base.bytes);
  if (hasBom === hadBom) return [];
  const message = hadBom
    ? 'The target begins with a byte order mark, but the content does not.'
    : 'The content begins with a byte order mark, but the target does not.';
  return [{ ...place, message }];
}

/** Reports line endings that differ from the target's. Does not report content with mixed line endings. */
export function checkLineEndings({ bytes, base }: Candidate): Verdict {
  if (base === null) return null;
  const [had, has] = [lineEndingsOf(base.bytes), lineEndingsOf(bytes)];
  if ((had !== 'lf' && had !== 'crlf') || (has !== 'lf' && has !== 'crlf') || had === has) return [];
  return [
    {
      check: 'line-endings',
      message: `All lines in the target end in ${said[had]}, but those in the content end in ${said[has]}.`,
      line: 1,
    },
  ];
}

export function checkFinalNewline({ bytes, base, text }: Candidate): Verdict {
  if (base === null) return null;
  if (!endsInNewline(base.bytes) || endsInNewline(bytes)) return [];
  const line = text.split('\n').length;
  return [{ check: 'final-newline', message: 'The target ends in a newline, but the content does not.', line }];
}

/** Returns notes about facts that are worth mentioning but are not findings. */
export function noteFormat({ bytes, base, operation }: Candidate): string[] {
  const notes: string[] = [];
  if (base === null && beginsWithBom(bytes)) notes.push('The content begins with a byte order mark.');
  if (lineEndingsOf(bytes) === 'mixed' && (base === null || lineEndingsOf(base.bytes) !== 'mixed')) {
    notes.push('Some lines in the content end in LF, others in CRLF.');
  }
  if (!endsInNewline(bytes) && base === null) notes.push('The content does not end in a newline.');
  if (operation === 'append' && base !== null && base.bytes.length > 0 && !endsInNewline(base.bytes)) {
    notes.push("The target's last line had no newline: the appended text begins on that line.");
  } else if (base !== null && base.bytes.length > 0 && !endsInNewline(base.bytes) && endsInNewline(bytes)) {
    notes.push('The target did not end in a newline, and now it does.');
  }
  return notes;
}

/** Reports the first byte that is not valid UTF-8. */
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

/** Replaces each invalid sequence with U+FFFD, and counts the replacements. */
export function repairUtf8(bytes: Uint8Array): { bytes: Uint8Array; count: number } {
  const repaired = new TextEncoder().encode(decodeText(bytes));
  return { bytes: repaired, count: countMarks(repaired) - countMarks(bytes) };
}

/** Returns the offset of the first byte that does not begin a well-formed sequence, or the end's offset. */
function findBadByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** Returns the number of bytes in the character at `at`; 0 when the character is not well formed. */
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

// oxlint-disable-next-line no-control-regex -- this looks for control characters
const control = /[\0-\x08\x0b\x0e-\x1f\x7f]/g;

const maxTold = 20;

const names: Record<string, string> = { '\0': 'NUL', '\x1b': 'ESC', '\x08': 'backspace', '\x7f': 'DEL' };

/**
 * Reports control characters, which do not belong in a text file, except tab, line feed, form feed and carriage return.
 * Makes one finding for each such character, at its first position, and none for a character already in the target.
 */
export function checkCharacters({ text, base }: Candidate): Verdict {
  const firsts = new Map<string, number>();
  for (const { 0: found, index } of text.matchAll(control)) if (!firsts.has(found)) firsts.set(found, index);
  const locate = locator(text);
  const findings: Finding[] = [];
  for (const [character, offset] of firsts) {
    if (findings.length === maxTold) break;
    if (base?.text().includes(character)) continue;
    const message = `The text has the control character ${nameCharacter(character)}.`;
    findings.push({ check: 'control-characters', message, ...locate(offset) });
  }
  return findings;
}

function nameCharacter(character: string): string {
  const code = `U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
  const name = names[character];
  return name === undefined ? code : `${code} (${name})`;
}

const lf = 0x0a;
const cr = 0x0d;

/** Returns `none` when no line ends. */
export function lineEndingsOf(bytes: Uint8Array): Base['lineEndings'] {
  let [hasLf, hasCrlf] = [false, false];
  for (let at = bytes.indexOf(lf); at !== -1 && !(hasLf && hasCrlf); at = bytes.indexOf(lf, at + 1)) {
    if (at > 0 && bytes[at - 1] === cr) hasCrlf = true;
    else hasLf = true;
  }
  if (hasLf && hasCrlf) return 'mixed';
  return hasCrlf ? 'crlf' : hasLf ? 'lf' : 'none';
}

export function endsInNewline(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes[bytes.length - 1] === lf;
}

export function beginsWithBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
