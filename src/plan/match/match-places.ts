/** Where FIND stands in a text. The matchers are tried in order; the first that finds any place decides. */

import { findSequence } from './match-sequence.ts';

/**
 * `lines`: whole lines, byte for byte. `part`: a part of a line, byte for byte. `trailing-space`: whole lines but for white
 * space at their ends and the style of line endings. `indentation`: the same, and one constant indentation offset.
 */
export type PlaceKind = 'lines' | 'part' | 'trailing-space' | 'indentation';

/** FIND and REPLACE, their lines ended by `\n` as those of the text are. */
export interface Substitution {
  find: string;
  replace: string;
}

/**
 * `start` to `end` of the text, in UTF-16 units, becomes what `toReplacement` gives: not a string, because places that
 * overlap may be as many as lines, each with a long replacement that nothing reads.
 */
export interface MatchSite {
  start: number;
  end: number;
  toReplacement(): string;
}

/** The engine's search is quadratic in the length of what it looks for: it is given no more than this much of a FIND. */
const searchedLength = 32;
/** How many times as much as the text is compared, at the places where that beginning stands, before we go on without it. */
const maxCompared = 16;
/** How many lines of FIND are looked for one by one before a text is split into lines. */
const maxLookedFor = 100;

const matchers: readonly { kind: PlaceKind; findPlaces: (text: string, wanted: Substitution) => MatchSite[] }[] = [
  { kind: 'lines', findPlaces: findWholeLines },
  { kind: 'part', findPlaces: findParts },
  { kind: 'trailing-space', findPlaces: findTrimmedLines },
  { kind: 'indentation', findPlaces: findIndentedLines },
];

/** All places of the first kind that has one, in order; they may overlap. Null when FIND stands nowhere. */
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
  // A last line without a newline is a whole line, too.
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

/** Most misses are seen without splitting the text: it lacks the beginning of one of the lines. */
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

/** A blank line at an edge of FIND would match the mere end of a line: unless REPLACE puts that back, two lines melt. */
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

/** `added`: the file's lines have `prefix` in front of those of FIND; otherwise FIND's have it in front of the file's. */
interface Offset {
  added: boolean;
  prefix: string;
}

const noOffset: Offset = { added: true, prefix: '' };

/** The first line of each place, and its offset. Tabs and spaces are compared as they are: neither is ever worth the other. */
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
 * Each line as its text and the step of its indentation from the line before that is not blank, both without what they
 * have in common in front. Lines with equal steps, from a first line with some offset, all have the same offset.
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
 * Whether `offset` can be taken to all lines of REPLACE. One that lacks a prefix to be removed would have to be guessed
 * at, so that the place is none.
 */
function acceptsOffset(replace: string): (offset: Offset) => boolean {
  const indents = splitLines(replace)
    .filter((line) => line.body !== '')
    .map((line) => line.indent);
  const shared = indents.length === 0 ? null : indents.reduce(commonPrefix);
  return ({ added, prefix }) => added || shared === null || shared.startsWith(prefix);
}

/** Blank lines are never indented; they lose the prefix only if they have it. */
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
 * `start` to `end` is the line with its newline, in UTF-16 units. `body` has no white space at its ends; a blank line has
 * an empty `body` and no `indent`.
 */
interface Line {
  start: number;
  end: number;
  indent: string;
  body: string;
  /** The line as it is, without its newline. */
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
  // Named one by one: a spread takes several times as long, and a large file has many lines.
  return { start, end, content, indent: content.slice(0, first), body: content.slice(first, last) };
}

/** Space, tab, and a carriage return too many. Every other character, a no-break space as well, has to be the same. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}
