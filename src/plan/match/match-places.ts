/** Finds FIND's places in a text. Tries the matchers in order; the first one with any match decides. */

import { findSequence } from './match-sequence.ts';

/**
 * `lines`: whole lines, byte for byte. `part`: a part of a line, byte for byte. `trailing-space`: whole lines, ignoring
 * white space at their ends and the style of line endings. `indentation`: like `trailing-space`, with one constant
 * indentation offset.
 */
export type PlaceKind = 'lines' | 'part' | 'trailing-space' | 'indentation';

/** FIND and REPLACE, with lines ended by `\n` as in the text. */
export interface Substitution {
  find: string;
  replace: string;
}

/**
 * The result of `toReplacement` replaces the text from `start` to `end`, in UTF-16 units. A function instead of a
 * string, because there may be as many overlapping places as lines, each with a long replacement that is never read.
 */
export interface MatchSite {
  start: number;
  end: number;
  toReplacement(): string;
}

/** The engine's search is quadratic in the length of the search text, so pass at most this much of a FIND. */
const searchedLength = 32;
/**
 * The limit on comparisons at places that begin like FIND, as a multiple of the text's length; beyond it, the search
 * uses another method.
 */
const maxCompared = 16;
/** The number of lines in FIND to look for one by one before splitting a text into lines. */
const maxLookedFor = 100;

const matchers: readonly { kind: PlaceKind; findPlaces: (text: string, wanted: Substitution) => MatchSite[] }[] = [
  { kind: 'lines', findPlaces: findWholeLines },
  { kind: 'part', findPlaces: findParts },
  { kind: 'trailing-space', findPlaces: findTrimmedLines },
  { kind: 'indentation', findPlaces: findIndentedLines },
];

/** Returns all places of the first kind with any match, in order; they may overlap. Null when there is no match. */
export function findPlaces(text: string, wanted: Substitution): { kind: PlaceKind; places: MatchSite[] } | null {
  for (const { kind, findPlaces } of matchers) {
    const places = findPlaces(text, wanted);
    if (places.length > 0) return { kind, places };
  }
  return null;
}

function findWholeLines(text: string, { find, replace }: Substitution): MatchSite[] {
  if (text === '') return [];
  const needle = endLastLine(find);
  const replacement = replace === '' ? '' : endLastLine(replace);
  // A last line without a newline also counts as a whole line.
  const starts = findAll(endLastLine(text), needle).filter((at) => at === 0 || text[at - 1] === '\n');
  const toReplacement = () => replacement;
  return starts.map((start) => ({ start, end: Math.min(start + needle.length, text.length), toReplacement }));
}

function findParts(text: string, { find, replace }: Substitution): MatchSite[] {
  const needle = withoutLastNewline(find);
  const replacement = withoutLastNewline(replace);
  if (joinsLines(needle, replacement)) return [];
  const toReplacement = () => replacement;
  return findAll(text, needle).map((start) => ({ start, end: start + needle.length, toReplacement }));
}

function findTrimmedLines(text: string, { find, replace }: Substitution): MatchSite[] {
  const wanted = splitLines(find);
  if (!mayHold(text, wanted)) return [];
  const lines = splitLines(text);
  const toKey = ({ indent, body }: Line) => indent + body;
  const toPlace = makePlacer(lines, wanted.length, replace);
  return findSequence(lines.map(toKey), wanted.map(toKey)).map((first) => toPlace(first, noOffset));
}

function findIndentedLines(text: string, { find, replace }: Substitution): MatchSite[] {
  const wanted = splitLines(find);
  if (!mayHold(text, wanted)) return [];
  const lines = splitLines(text);
  const accepts = acceptsOffset(replace);
  const toPlace = makePlacer(lines, wanted.length, replace);
  const found = findIndented(lines, wanted).filter(({ offset }) => accepts(offset));
  return found.map(({ first, offset }) => toPlace(first, offset));
}

/** Detects most misses without splitting the text: the text lacks the beginning of one of the lines. */
function mayHold(text: string, wanted: Line[]): boolean {
  const bodies = wanted.map((line) => line.body).filter((body) => body !== '');
  return [...bodies.slice(0, maxLookedFor), bodies.at(-1) ?? ''].every((body) =>
    text.includes(body.slice(0, searchedLength)),
  );
}

function makePlacer(lines: Line[], height: number, replace: string): (first: number, offset: Offset) => MatchSite {
  const replacing = splitLines(replace);
  return (first, offset) => {
    const toReplacement = () => replacing.map((line) => `${applyOffset(line, offset)}\n`).join('');
    return { start: lines[first]!.start, end: lines[first + height - 1]!.end, toReplacement };
  };
}

/** A blank line at an edge of FIND would match just the end of a line; unless REPLACE restores it, two lines become one. */
function joinsLines(needle: string, replacement: string): boolean {
  if (needle.startsWith('\n') && !replacement.startsWith('\n')) return true;
  return needle.endsWith('\n') && !replacement.endsWith('\n');
}

function findAll(text: string, needle: string): number[] {
  const found: number[] = [];
  if (needle === '') return found;
  const head = needle.slice(0, searchedLength);
  let left = maxCompared * Math.ceil(text.length / needle.length);
  for (let at = text.indexOf(head); at !== -1; at = text.indexOf(head, at + 1)) {
    if (left === 0) return [...found, ...findSequence(text, needle, at)];
    left -= 1;
    if (text.startsWith(needle, at)) found.push(at);
  }
  return found;
}

function endLastLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

function withoutLastNewline(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

/** `added`: the file's lines have `prefix` before FIND's text; otherwise FIND's lines have it before the file's text. */
interface Offset {
  added: boolean;
  prefix: string;
}

const noOffset: Offset = { added: true, prefix: '' };

/** Returns the first line and the offset of each place. Compares tabs and spaces literally; they are never equivalent. */
function findIndented(lines: Line[], find: Line[]): { first: number; offset: Offset }[] {
  const lead = find.findIndex((line) => line.body !== '');
  const head = find[lead];
  if (head === undefined) return [];
  const keys = toSteps(lines);
  const tail = toSteps(find).slice(lead + 1);
  const heads = tail.length > 0 ? findSequence(keys, tail).map((at) => at - 1) : [...lines.keys()];
  return heads.flatMap((at) => {
    const first = at - lead;
    const line = lines[at];
    const offset = line?.body === head.body ? toOffset(line.indent, head.indent) : null;
    if (offset === null || first < 0 || !isBlank(lines, first, at)) return [];
    return [{ first, offset }];
  });
}

/**
 * Represents each line by its text and the change of its indentation from the last line that is not blank, both without
 * their common prefix. If lines with equal changes start at a line with some offset, all of them have that offset.
 */
function toSteps(lines: Line[]): string[] {
  let before = '';
  return lines.map(({ indent, body }) => {
    if (body === '') return '';
    if (indent === before) return `>>${body}`;
    const common = commonPrefix(before, indent).length;
    const step = `${before.slice(common)}>${indent.slice(common)}>${body}`;
    before = indent;
    return step;
  });
}

function toOffset(inFile: string, inFind: string): Offset | null {
  if (inFile.endsWith(inFind)) return { added: true, prefix: inFile.slice(0, inFile.length - inFind.length) };
  if (inFind.endsWith(inFile)) return { added: false, prefix: inFind.slice(0, inFind.length - inFile.length) };
  return null;
}

function isBlank(lines: Line[], from: number, to: number): boolean {
  for (let at = to - 1; at >= from; at -= 1) if (lines[at]?.body !== '') return false;
  return true;
}

/**
 * Returns a predicate that is true if `offset` can be applied to all lines of REPLACE. If a line lacks the prefix to
 * remove, its indentation would be a guess, so the place does not count.
 */
function acceptsOffset(replace: string): (offset: Offset) => boolean {
  const indents = splitLines(replace)
    .filter((line) => line.body !== '')
    .map((line) => line.indent);
  const shared = indents.length === 0 ? null : indents.reduce(commonPrefix);
  return ({ added, prefix }) => added || shared === null || shared.startsWith(prefix);
}

/** Never indents blank lines, and removes the prefix from a blank line only if the line has it. */
function applyOffset({ content, body }: Line, { added, prefix }: Offset): string {
  if (added) return body === '' ? content : prefix + content;
  return content.startsWith(prefix) ? content.slice(prefix.length) : content;
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, length);
}

/**
 * `start` to `end` is the line with its newline, in UTF-16 units. `body` has no white space at its ends; a blank line
 * has an empty `body` and no `indent`.
 */
interface Line {
  start: number;
  end: number;
  indent: string;
  body: string;
  /** The whole line without its newline. */
  content: string;
}

function splitLines(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline + 1;
    lines.push(toLine({ start, end }, text.slice(start, newline === -1 ? end : newline)));
    start = end;
  }
  return lines;
}

function toLine({ start, end }: Pick<Line, 'start' | 'end'>, content: string): Line {
  let [first, last] = [0, content.length];
  // A pattern such as /[ \t]+$/ is quadratic in a long run of spaces.
  while (last > 0 && isSpace(content.charCodeAt(last - 1))) last -= 1;
  while (first < last && isSpace(content.charCodeAt(first))) first += 1;
  // Lists the fields one by one, because a spread takes several times as long, and a large file has many lines.
  return { start, end, content, indent: content.slice(0, first), body: content.slice(first, last) };
}

/** Accepts space, tab, and an extra carriage return. All other characters, including a no-break space, must match. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}
