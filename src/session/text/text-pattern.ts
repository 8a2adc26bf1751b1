/** The text or expression that `teddy search` looks for, with literal texts that every matching file contains. */
import { TeddyError, toMessage } from '../../errors.ts';
import { readLiterals, sortNeeded } from './regex-literals.ts';

/** The places to search: the user's messages, plans, runs with their results, the models' answers, and the code. */
export const searchScopes = ['message', 'plan', 'report', 'answer', 'code'] as const;
export type SearchScope = (typeof searchScopes)[number];

export interface TextPattern {
  /** A file with a match contains one text from each group, as plain text, JSON or YAML. Empty when any file may match. */
  needles: string[][];
  ignoresCase: boolean;
  isIn(text: string): boolean;
  /** The lines that `isIn` skipped, each identified by length, beginning and end. */
  passedOver: ReadonlySet<string>;
  /** Returns the lines in which a match begins. */
  findLines(text: string): FoundLine[];
}

export interface FoundLine {
  /** The number of the line, from 1. */
  number: number;
  text: string;
  /** The positions of the matches within this line. */
  marks: { start: number; end: number }[];
}

interface PatternOptions {
  ignoresCase: boolean;
}

/** Searches for a plain text, which may span several lines. */
export function plainPattern(text: string, { ignoresCase }: PatternOptions): TextPattern {
  // Without `u`, an ASCII letter never matches a non-ASCII one, so git, which folds only ASCII, misses no match.
  const flags = ignoresCase ? 'gi' : 'g';
  const expression = new RegExp(escapeLiteral(text), flags);
  const lines = text.split('\n').filter((line) => line !== '');
  const find = text.includes('\n') ? findAcross : findInLines;
  return {
    needles: sortNeeded(lines.flatMap((line) => toNeedles(line, flags))),
    ignoresCase,
    isIn: (whole) => whole.search(expression) !== -1,
    passedOver: new Set(),
    findLines: (whole) => find(whole, expression),
  };
}

interface RegexOptions extends PatternOptions {
  /** Runs a search with a repeating expression, and throws when the search takes too long. */
  limit<T>(search: () => T): T;
}

/**
 * A repeating expression may need a number of steps that grows with the square of the line's length. Skip longer lines;
 * `limit` ends expressions that need even more steps.
 */
export const maxRepeatedLine = 20_000;

/** Searches each line for a JavaScript regular expression with the flag `u`. Throws USAGE. */
export function regexPattern(text: string, { ignoresCase, limit }: RegexOptions): TextPattern {
  const expression = compile(text, ignoresCase ? 'giu' : 'gu');
  const { needed, repeats } = readLiterals(text);
  const needles = needed.flatMap((texts) => {
    const groups = texts.map((one) => sortNeeded(toNeedles(one, expression.flags))[0]);
    return groups.every((group) => group !== undefined) ? [[...new Set(groups.flat())]] : [];
  });
  const search = <T>(find: () => T): T => (repeats ? limit(find) : find());
  const longest = repeats ? maxRepeatedLine : Infinity;
  const passedOver = new Set<string>();
  return {
    needles: sortNeeded(needles),
    ignoresCase,
    passedOver,
    isIn: (whole) =>
      search(() => {
        let isFound = false;
        for (const line of splitLines(whole))
          if (line.length > longest) passedOver.add(`${line.length} ${line.slice(0, 200)} ${line.slice(-200)}`);
          else isFound ||= line.search(expression) !== -1;
        return isFound;
      }),
    findLines: (whole) => search(() => findInLines(whole, expression, longest)),
  };
}

/** Compiles an expression. With `u`, JavaScript rejects parts of other dialects: `[[:digit:]]`, `\<`, `{,2}`. */
function compile(text: string, flags: string): RegExp {
  try {
    return new RegExp(text, flags);
  } catch (error) {
    throw new TeddyError(
      'USAGE',
      `${toMessage(error)}.`,
      'Write it as a JavaScript expression, with \\d for a digit and \\b for a word boundary, or leave out -E to search for plain text.',
    );
  }
}

/** Escapes a text for use in an expression, with or without the flag `u`. */
function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** A longer text's beginning is selective enough. */
const maxNeedle = 200;
/** A shorter run occurs nearly everywhere. */
const shortRun = 4;

/** Characters that JSON and YAML writers never escape. */
const safeRun = /[\w .,:;()[\]{}*#@!?%$^|~-]+/g;

/** Finds texts that every file with this line contains. */
function toNeedles(line: string, flags: string): string[][] {
  const runs = (line.match(safeRun) ?? []).toSorted((a, b) => b.length - a.length);
  const run = (runs[0] ?? '').slice(0, maxNeedle);
  const folded = toFolded(run, flags);
  if (run.length === Math.min(line.length, maxNeedle)) return [[run, ...folded]];
  const forms = toForms(line, flags);
  if (forms === null) return run === '' ? [] : [[run, ...folded]];
  return run.length < shortRun ? [forms] : [[run, ...folded], forms];
}

/**
 * Returns further letters that match with `iu`: the long s for s, and the Kelvin sign for k. git does not treat these
 * ASCII letters as equal to them.
 */
function toFolded(text: string, flags: string): string[] {
  if (!flags.includes('i') || !flags.includes('u')) return [];
  return [[/s/i, 'ſ', '\\u017f'] as const, [/k/i, '\u212A', '\\u212a'] as const].flatMap(([letter, ...others]) =>
    letter.test(text) ? others : [],
  );
}

/**
 * Returns the forms in which a file may contain the line. JSON has only one form for each text, except in files with
 * unnecessary escapes, which teddy always searches. Returns null when there are too many forms.
 */
function toForms(line: string, flags: string): string[] | null {
  const kept = cutNeedle(line, flags.includes('i') ? maxFolded : Infinity);
  const cases = flags.includes('i') ? toCases(kept, flags) : [kept];
  if (cases === null || kept === '') return null;
  const forms = cases.flatMap((text) => [text, JSON.stringify(text).slice(1, -1), text.replaceAll("'", "''")]);
  return [...new Set([...forms, ...toFolded(kept, flags), '\\u', '\\/'])];
}

/** The maximum number of non-ASCII letters to spell out in each case. */
const maxFolded = 3;
const maxCases = 32;

function cutNeedle(line: string, foreign: number): string {
  let [kept, left] = ['', foreign];
  for (const character of line) {
    if (character > '\u007F') left -= 1;
    if (left < 0 || kept.length >= maxNeedle) break;
    kept += character;
  }
  return kept;
}

/** Returns the spellings of a text with its non-ASCII letters in each case. */
function toCases(text: string, flags: string): string[] | null {
  let spelled = [''];
  for (const character of text) {
    const cases = character > '\u007F' ? casesOf(character, flags) : [character];
    spelled = spelled.flatMap((before) => cases.map((one) => before + one));
    if (spelled.length > maxCases) return null;
  }
  return spelled;
}

function casesOf(character: string, flags: string): string[] {
  const same = new RegExp(`^${escapeLiteral(character)}$`, flags.replace('g', ''));
  const cases = [character];
  for (let code = 0x41; code < 0x20000; code += 1) {
    const other = String.fromCodePoint(code);
    if (other !== character && same.test(other)) cases.push(other);
  }
  return cases;
}

function splitLines(whole: string): string[] {
  return whole.includes('\r') ? whole.split(/\r?\n/) : whole.split('\n');
}

function findInLines(whole: string, expression: RegExp, longest = Infinity): FoundLine[] {
  return splitLines(whole).flatMap((text, at) => {
    if (text.length > longest || text.search(expression) === -1) return [];
    const marks = [...text.matchAll(expression)].map(toMark).filter(({ start, end }) => end > start);
    return [{ number: at + 1, text, marks }];
  });
}

function toMark(found: RegExpExecArray): FoundLine['marks'][number] {
  return { start: found.index, end: found.index + found[0].length };
}

/** Finds matches that span several lines, and shows the first line of each. */
function findAcross(whole: string, expression: RegExp): FoundLine[] {
  return [...whole.matchAll(expression)].map((found) => {
    const from = whole.lastIndexOf('\n', found.index - 1) + 1;
    const end = whole.indexOf('\n', found.index);
    const text = whole.slice(from, end === -1 ? whole.length : end).replace(/\r$/, '');
    const start = found.index - from;
    const marks = [{ start, end: Math.min(start + found[0].length, text.length) }];
    return { number: whole.slice(0, from).split('\n').length, text, marks };
  });
}

/** Cuts a line to `width` characters around its first match and trims it. */
export function cutLine(
  { text, marks }: Pick<FoundLine, 'text' | 'marks'>,
  width: number,
): Pick<FoundLine, 'text' | 'marks'> {
  const first = marks[0]?.start ?? 0;
  const from = Math.max(0, Math.min(first - Math.floor(width / 4), text.length - width));
  const kept = text.slice(from, from + width).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
  const shown = kept.trim();
  const before = from > 0 ? '...' : '';
  const shift = before.length - (kept === '' ? from : text.indexOf(kept, from) + kept.indexOf(shown));
  const clamp = (at: number) => Math.min(Math.max(at + shift, before.length), before.length + shown.length);
  return {
    text: `${before}${shown}${from + width < text.length ? '...' : ''}`,
    marks: marks
      .map(({ start, end }) => ({ start: clamp(start), end: clamp(end) }))
      .filter(({ start, end }) => end > start),
  };
}
