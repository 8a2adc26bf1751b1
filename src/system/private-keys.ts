/**
 * Armoured private keys of every kind: secretlint's rule knows neither encrypted ones nor those of PGP, nor cut ones, nor
 * those that are quoted: in a diff, with line numbers, in the strings of a program, on one line.
 */
import type { FoundSecret } from '../session/mask.ts';

/** Newlines may be escaped, as in JSON. The lines of a key are headers, base64 (a short line only before the end), or empty. */
const newline = String.raw`(?:\r?\n|(?:\\r)?\\n)`;
const headerLine = String.raw`[A-Za-z-]{2,30}: [^\r\n\\]*`;
const keyLine = String.raw`[A-Za-z0-9+/=]{16,}(?=\s|[\\"'\x60]|$)`;
const begin = '-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----';
const end = '-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----';
const armour = new RegExp(
  String.raw`${begin}((?:${newline}[ \t]*(?:${headerLine}|${keyLine}|(?=${newline})))*)(?:(?:${newline}[ \t]*[A-Za-z0-9+/=]{0,15}){0,3}${newline}[ \t]*${end})?`,
  'g',
);
const header = /^[ \t]*[A-Za-z-]{2,30}: .*$/gm;
/** The smallest key in use has more; `...` and the like have less. */
const minBodyLength = 100;

/** Not anchored: what quotes a key puts something before its lines. */
const armourLine = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** The largest key in use has 16 KiB. */
const maxKeyLength = 64 * 1024;
const body = /[A-Za-z0-9+/=]{16,}/g;
/** A line of a key, with the log's time or the diff's sign before it. */
const longRun = /[A-Za-z0-9+/=]{40,}/;
const maxLineLength = 160;

interface ArmourLine {
  word: string;
  start: number;
  end: number;
}

/** Time grows in step with the text's length. What is found may overlap. */
export function findPrivateKeys(text: string): FoundSecret[] {
  const lines = [...text.matchAll(armourLine)].map(({ 0: line, 1: word = '', index }): ArmourLine => {
    return { word, start: index, end: index + line.length };
  });
  const quoted = lines.flatMap((line, at) => {
    if (line.word === 'BEGIN') return findFrom(text, line, lines[at + 1]) ?? [];
    return lines[at - 1]?.word === 'BEGIN' ? [] : (findBefore(text, line, lines[at - 1]?.end ?? 0) ?? []);
  });
  return [...findPlain(text), ...quoted];
}

function findPlain(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const match of text.matchAll(armour)) {
    const key = (match[1] ?? '')
      .replaceAll(/(?:\\r)?\\n/g, '\n')
      .replaceAll(header, '')
      .replaceAll(/\s/g, '');
    if (key.length < minBodyLength) continue;
    found.push({ start: match.index, end: match.index + match[0].trimEnd().length, kind: 'private key' });
  }
  return found;
}

/** To the key's end; where that was cut off, as far as its lines go. */
function findFrom(text: string, { start, end }: ArmourLine, next: ArmourLine | undefined): FoundSecret | null {
  if (next?.word === 'END' && next.start - end <= maxKeyLength) {
    return isKey(text.slice(end, next.start)) ? { start, end: next.end, kind: 'private key' } : null;
  }
  const limit = Math.min(next?.start ?? text.length, end + maxKeyLength);
  let last = end;
  for (let at = text.indexOf('\n', end); at !== -1 && at < limit;) {
    const newline = text.indexOf('\n', at + 1);
    const lineEnd = Math.min(newline === -1 ? text.length : newline, limit);
    if (!isKeyLine(text.slice(at + 1, lineEnd))) break;
    last = lineEnd;
    at = newline;
  }
  const key = text.slice(end, last).trimEnd();
  return isKey(key) ? { start, end: end + key.length, kind: 'private key' } : null;
}

/** The end of a key whose beginning was cut off, as `tail` does. */
function findBefore(text: string, { start, end }: ArmourLine, limit: number): FoundSecret | null {
  const lineStart = (before: number) => Math.max(text.lastIndexOf('\n', before - 1) + 1, limit);
  let first = lineStart(start);
  // The last line of a key may be short.
  for (let count = 0; first > limit && start - first <= maxKeyLength; count += 1) {
    const above = lineStart(first - 1);
    const line = text.slice(above, first - 1);
    if (!isKeyLine(line) && !(count === 0 && line.length <= maxLineLength)) break;
    first = above;
  }
  return isKey(text.slice(first, start)) ? { start: first, end, kind: 'private key' } : null;
}

function isKeyLine(line: string): boolean {
  return line.length <= maxLineLength && longRun.test(line);
}

/** Documentation has `...` between the lines, or prose. */
function isKey(text: string): boolean {
  const length = [...text.matchAll(body)].reduce((sum, [run]) => sum + run.length, 0);
  return length >= minBodyLength && length >= text.replaceAll(/\s/g, '').length / 2;
}
