/** Where FIND stands in a text. The matchers are tried in order; the first that finds any place decides. */

import { type Offset, acceptsOffset, applyOffset, findIndented, noOffset } from './match-indentation.ts';
import { type Line, splitLines } from './match-lines.ts';
import { findSequence } from './match-sequence.ts';

/**
 * `lines`: whole lines, byte for byte. `part`: a part of a line, byte for byte. `trailing-space`: whole lines but for white
 * space at their ends and the style of line endings. `indentation`: the same, and one constant indentation offset.
 */
export type PlaceKind = 'lines' | 'part' | 'trailing-space' | 'indentation';

/** FIND and REPLACE, already in the line endings of the file that they are for. */
export interface Substitution {
  find: string;
  replace: string;
}

/**
 * `start` to `end` of the text, in UTF-16 units, becomes what `toReplacement` gives: not a string, because places that
 * overlap may be as many as lines, each with a long replacement that nothing reads.
 */
export interface Place {
  start: number;
  end: number;
  toReplacement(): string;
}

/** How many places the engine's search finds before ours goes on. */
const maxSearched = 16;
/** How many lines of FIND are looked for one by one before a text is split into lines. */
const maxLookedFor = 100;

const matchers: readonly { kind: PlaceKind; findPlaces: (text: string, wanted: Substitution) => Place[] }[] = [
  { kind: 'lines', findPlaces: findWholeLines },
  { kind: 'part', findPlaces: findParts },
  { kind: 'trailing-space', findPlaces: findTrimmedLines },
  { kind: 'indentation', findPlaces: findIndentedLines },
];

/** All places of the first kind that has one, in order; they may overlap. Null when FIND stands nowhere. */
export function findPlaces(text: string, wanted: Substitution): { kind: PlaceKind; places: Place[] } | null {
  for (const { kind, findPlaces } of matchers) {
    const places = findPlaces(text, wanted);
    if (places.length > 0) return { kind, places };
  }
  return null;
}

function findWholeLines(text: string, { find, replace }: Substitution): Place[] {
  if (text === '') return [];
  const needle = endLastLine(find, find);
  const replacement = replace === '' ? '' : endLastLine(replace, find);
  // A last line without a newline is a whole line, too.
  const starts = findAll(endLastLine(text, find), needle).filter((at) => at === 0 || text[at - 1] === '\n');
  const toReplacement = () => replacement;
  return starts.map((start) => ({ start, end: Math.min(start + needle.length, text.length), toReplacement }));
}

function findParts(text: string, { find, replace }: Substitution): Place[] {
  const needle = withoutLastNewline(find);
  const replacement = withoutLastNewline(replace);
  if (joinsLines(needle, replacement)) return [];
  const toReplacement = () => replacement;
  return findAll(text, needle).map((start) => ({ start, end: start + needle.length, toReplacement }));
}

function findTrimmedLines(text: string, { find, replace }: Substitution): Place[] {
  const wanted = splitLines(find);
  if (!mayHold(text, wanted)) return [];
  const lines = splitLines(text);
  const toKey = ({ indent, body }: Line) => indent + body;
  const toPlace = makePlacer(lines, wanted.length, replace);
  return findSequence(lines.map(toKey), wanted.map(toKey)).map((first) => toPlace(first, noOffset));
}

function findIndentedLines(text: string, { find, replace }: Substitution): Place[] {
  const wanted = splitLines(find);
  if (!mayHold(text, wanted)) return [];
  const lines = splitLines(text);
  const accepts = acceptsOffset(replace);
  const toPlace = makePlacer(lines, wanted.length, replace);
  const found = findIndented(lines, wanted).filter(({ offset }) => accepts(offset));
  return found.map(({ first, offset }) => toPlace(first, offset));
}

/** Most misses are seen without splitting the text: it lacks one of the lines. */
function mayHold(text: string, wanted: Line[]): boolean {
  const bodies = wanted.map((line) => line.body).filter((body) => body !== '');
  return [...bodies.slice(0, maxLookedFor), bodies.at(-1) ?? ''].every((body) => text.includes(body));
}

/** Each line of REPLACE ends as the line that it takes the place of, the further ones as the last of these. */
function makePlacer(lines: Line[], height: number, replace: string): (first: number, offset: Offset) => Place {
  const replacing = splitLines(replace);
  return (first, offset) => {
    const last = first + height - 1;
    const endingAt = (i: number) => lines[Math.min(first + i, last)]!.ending;
    const toReplacement = () => replacing.map((line, i) => applyOffset(line, offset) + endingAt(i)).join('');
    return { start: lines[first]!.start, end: lines[last]!.end, toReplacement };
  };
}

/** A blank line at an edge of FIND would match the mere end of a line: unless REPLACE puts that back, two lines melt. */
function joinsLines(needle: string, replacement: string): boolean {
  const isLost = (edge: RegExp) => edge.test(needle) && !edge.test(replacement);
  return isLost(/^\r?\n/) || isLost(/\n$/);
}

function findAll(text: string, needle: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1)) {
    found.push(at);
    // The engine's own search is fastest, but compares all of the needle again at every place.
    if (found.length === maxSearched) return [...found, ...findSequence(text, needle, at + 1)];
  }
  return found;
}

function endLastLine(text: string, like: string): string {
  if (text.endsWith('\n')) return text;
  return text + (like.endsWith('\r\n') ? '\r\n' : '\n');
}

function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}
