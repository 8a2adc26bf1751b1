/** Explains why FIND was not found, using the most similar region. Takes linear time, to be fast on large files too. */
import type { Grammar } from '../../session/text/grammar.ts';
import { type Substitution, findPlaces } from './match-places.ts';
import type { Problem } from './problem.ts';

/** Lines count from 1. `similarity`, from 0 to 1, is the share of common pairs of neighboring characters. */
interface ClosestRegion {
  firstLine: number;
  lastLine: number;
  similarity: number;
}

const leastSimilarity = 0.3;
const shownBefore = 20;
const shownLength = 60;

export function describeMiss(text: string, wanted: Substitution, grammar: Grammar): Pick<Problem, 'message' | 'hint'> {
  const lines = toLines(text);
  const find = toLines(wanted.find);
  const region = findClosestRegion(lines, find);
  const closest = region === null ? 'no part of the file is like it' : `closest is ${describeRegion(region)}`;
  const applied = grammar === 1 ? describeStanding(text, wanted.replace) : describeApplied(text, wanted, region);
  const message = `was not found; ${closest}.${applied}`;
  const hint = region && describeDifference(lines, find, region);
  return hint === null ? { message } : { message, hint };
}

function describeRegion({ firstLine, lastLine, similarity }: ClosestRegion): string {
  const where = firstLine === lastLine ? `line ${firstLine}` : `lines ${firstLine}-${lastLine}`;
  // FIND was not found, so never say 100%, even when only the order or white space differs.
  return `${where}, ${Math.min(99, Math.floor(similarity * 100))}% alike`;
}

/**
 * A pair counts as applied only if REPLACE is in the region most like FIND, if that region contains no line that the
 * pair removes, and if REPLACE is more than a small part of the region's lines: a lone bracket occurs in every file.
 */
function describeApplied(text: string, { find, replace }: Substitution, region: ClosestRegion | null): string {
  if (replace.trim() === '') return '';
  // If no region is like FIND, REPLACE counts as applied only when the file contains nothing else.
  if (region === null) return text.trim() === replace.trim() ? appliedAt(1) : '';
  const [from, to] = [lineStart(text, region.firstLine), lineStart(text, region.lastLine + 1)];
  const places = findPlaces(text, { find: replace, replace })?.places ?? [];
  const place = places.find(({ start, end }) => {
    return 2 * (Math.min(end, to) - Math.max(start, from)) >= Math.min(end - start, to - from);
  });
  if (place === undefined || keepsRemoved(find, replace, text.slice(from, to))) return '';
  const line = toLines(text.slice(0, place.start + 1)).length;
  const standing = text.slice(lineStart(text, line), nextLine(text, place.end - 1));
  if (findClosestRegion(toLines(standing), toLines(replace)) === null) return '';
  return appliedAt(line);
}

/** Used for reports without a recorded grammar: reports every place where REPLACE is found. */
function describeStanding(text: string, replace: string): string {
  const place = replace.trim() === '' ? undefined : findPlaces(text, { find: replace, replace })?.places[0];
  return place === undefined ? '' : appliedAt(toLines(text.slice(0, place.start + 1)).length);
}

function appliedAt(line: number): string {
  return ` REPLACE stands at line ${line}, perhaps already applied.`;
}

function keepsRemoved(find: string, replace: string, standing: string): boolean {
  const trim = (text: string) => toLines(text).map((line) => line.trim());
  const [kept, found] = [new Set(trim(replace)), new Set(trim(standing))];
  return trim(find).some((line) => line !== '' && !kept.has(line) && found.has(line));
}

/** Returns the offset of a line (counted from 1); for a line after the last one, returns the end of the text. */
function lineStart(text: string, line: number): number {
  let start = 0;
  for (let at = 1; at < line; at += 1) start = nextLine(text, start);
  return start;
}

function nextLine(text: string, at: number): number {
  const newline = text.indexOf('\n', at);
  return newline === -1 ? text.length : newline + 1;
}

function describeDifference(lines: string[], find: string[], { firstLine, lastLine }: ClosestRegion): string | null {
  const region = lines.slice(firstLine - 1, lastLine);
  const at = region.findIndex((line, i) => line !== find[i]);
  const [found, expected] = [region[at], find[at]];
  if (found === undefined || expected === undefined) return null;
  const from = Math.max(0, firstDifference(found, expected) - shownBefore);
  const show = (line: string) => JSON.stringify(line.slice(from, from + shownLength));
  const where = `Line ${firstLine + at} reads ${show(found)}, FIND reads ${show(expected)}`;
  return `${where}; ${describeCharacters(found, expected)}.`;
}

/** Shows both lines without their common beginning and end. */
function describeCharacters(found: string, expected: string): string {
  const from = firstDifference(found, expected);
  const most = Math.min(found.length, expected.length) - from;
  let shared = 0;
  while (shared < most && found.at(-1 - shared) === expected.at(-1 - shared)) shared += 1;
  const [one, other] = [found, expected].map((line) => line.slice(from, line.length - shared).slice(0, shownLength));
  const show = (text = '') => `${JSON.stringify(text)}${isTellable(one, other) ? '' : ` (${toCodePoints(text)})`}`;
  return `at column ${from + 1}, ${show(one)} is not ${show(other)}`;
}

const shownPoints = 8;

/** Returns true if a user can see the difference; spaces, accents and letters from other scripts are not visible enough. */
function isTellable(one = '', other = ''): boolean {
  return isAscii(one + other) || Math.max([...one].length, [...other].length) > shownPoints;
}

function isAscii(text: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(text);
}

function toCodePoints(text: string): string {
  const points = [...text].map((char) => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`);
  return points.join(' ') || 'nothing';
}

/**
 * Finds the window with as many lines as `find` that has the most in common with `find`; null when none has enough.
 * Moves the window over the lines once, with one table that counts the shared pairs of neighboring characters.
 */
function findClosestRegion(lines: string[], find: string[]): ClosestRegion | null {
  const height = Math.min(find.length, lines.length);
  const wanted = toPairs(find).pairs;
  const { pairs, ends } = toPairs(lines);
  const missing = new Int32Array(65_536);
  for (const pair of wanted) missing[pair]! += 1;
  let best = { firstLine: 0, similarity: 0 };
  let shared = 0;
  let first = 0;
  let next = 0;
  for (let line = 0; line < lines.length; line += 1) {
    for (; next < ends[line]!; next += 1) if (missing[pairs[next]!]!-- > 0) shared += 1;
    for (; first < (ends[line - height] ?? 0); first += 1) if (missing[pairs[first]!]!++ >= 0) shared -= 1;
    const similarity = (2 * shared) / (wanted.length + next - first || 1);
    if (line >= height - 1 && similarity > best.similarity) best = { firstLine: line - height + 2, similarity };
  }
  return best.similarity < leastSimilarity ? null : { ...best, lastLine: best.firstLine + height - 1 };
}

/** Encodes each pair of neighboring characters as a number, for all lines in a row; `ends` contains each line's end. */
function toPairs(lines: string[]): { pairs: Uint16Array; ends: Int32Array } {
  const pairs = new Uint16Array(lines.reduce((sum, line) => sum + line.length, 0));
  const ends = new Int32Array(lines.length);
  let count = 0;
  lines.forEach((line, i) => {
    // Ignore indentation, or all deeply indented lines would look alike.
    const text = line.trim();
    let previous = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      pairs[count++] = (previous << 8) ^ code;
      previous = code;
    }
    ends[i] = count;
  });
  return { pairs: pairs.subarray(0, count), ends };
}

function firstDifference(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i += 1;
  return i;
}

/** Returns the lines of the text that are most like `find`; null when none are. */
export function findClosest(text: string, find: string): Pick<ClosestRegion, 'firstLine' | 'lastLine'> | null {
  return findClosestRegion(toLines(text), toLines(find));
}

function toLines(text: string): string[] {
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
