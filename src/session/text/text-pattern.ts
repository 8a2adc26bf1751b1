/** The text or expression that `session search` looks for, with what a file has to hold that may hold a match. */
import { TeddyError, toMessage } from '../../errors.ts';
import { readLiterals, sortNeeded } from './regex-literals.ts';

/** Places to search: what the user said, plans, what was run and what came of it, what models answered, and the code. */
export const searchScopes = ['message', 'plan', 'report', 'answer', 'code'] as const;
export type SearchScope = (typeof searchScopes)[number];

export interface TextPattern {
  /**
   * A file with a match holds, of each group, one of the texts, whether it is plain, JSON or YAML. Empty: any file may hold a
   * match.
   */
  needles: string[][];
  ignoresCase: boolean;
  isIn(text: string): boolean;
  /** The lines that `isIn` has not tried, each by its length, its beginning and its end. */
  passedOver: ReadonlySet<string>;
  /** The lines that a match begins in. */
  findLines(text: string): FoundLine[];
}

export interface FoundLine {
  /** From 1. */
  number: number;
  text: string;
  /** Where the matches are in it, as far as they are in it. */
  marks: { start: number; end: number }[];
}

interface PatternOptions {
  ignoresCase: boolean;
}

/** A text, which may have several lines. */
export function plainPattern(text: string, { ignoresCase }: PatternOptions): TextPattern {
  // Without `u`, no letter of ASCII is another case of one that is not: git, which knows only those, misses none.
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
  /** Searches a text with an expression that repeats something, and throws when that takes too long. */
  limit<T>(search: () => T): T;
}

/**
 * An expression that repeats something may need as many steps as the square of a line is long. A longer line is not tried; the
 * expressions that need still more steps end by `limit`.
 */
export const maxRepeatedLine = 20_000;

/** A regular expression of JavaScript, with the flag `u`, that is tried on each line. Throws USAGE. */
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

/** With `u`, JavaScript refuses what other kinds of expressions know and it does not: `[[:digit:]]`, `\<`, `{,2}`. */
function compile(text: string, flags: string): RegExp {
  try {
    return new RegExp(text, flags);
  } catch (error) {
    throw new TeddyError(
      'USAGE',
      `${toMessage(error)}.`,
      'Write it as JavaScript has it, with \\d for a digit and \\b for the edge of a word, or leave out -E to search for plain text.',
    );
  }
}

/** Returns an expression, with or without the flag `u`. */
function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** A longer text finds no less by its beginning. */
const maxNeedle = 200;
/** A run of fewer characters is nearly everywhere. */
const shortRun = 4;

/** Nobody who writes JSON or YAML escapes these. */
const safeRun = /[\w .,:;()[\]{}*#@!?%$^|~-]+/g;

/** `line`: a text of one line. */
function toNeedles(line: string, flags: string): string[][] {
  const runs = (line.match(safeRun) ?? []).toSorted((a, b) => b.length - a.length);
  const run = (runs[0] ?? '').slice(0, maxNeedle);
  const folded = toFolded(run, flags);
  if (run.length === Math.min(line.length, maxNeedle)) return [[run, ...folded]];
  const forms = toForms(line, flags);
  if (forms === null) return run === '' ? [] : [[run, ...folded]];
  return run.length < shortRun ? [forms] : [[run, ...folded], forms];
}

/** With `iu`, a long s is an s, and the sign of Kelvin a k: letters of ASCII that git does not take for the same. */
function toFolded(text: string, flags: string): string[] {
  if (!flags.includes('i') || !flags.includes('u')) return [];
  return [[/s/i, 'ſ', '\\u017f'] as const, [/k/i, '\u212A', '\\u212a'] as const].flatMap(([letter, ...others]) =>
    letter.test(text) ? others : [],
  );
}

/**
 * A line as a file may hold it. JSON has one form for each text, unless it has escapes that it could do without: then it is read.
 * Null: there are too many forms.
 */
function toForms(line: string, flags: string): string[] | null {
  const kept = cutNeedle(line, flags.includes('i') ? maxFolded : Infinity);
  const cases = flags.includes('i') ? toCases(kept, flags) : [kept];
  if (cases === null || kept === '') return null;
  const forms = cases.flatMap((text) => [text, JSON.stringify(text).slice(1, -1), text.replaceAll("'", "''")]);
  return [...new Set([...forms, ...toFolded(kept, flags), '\\u', '\\/'])];
}

/** So many letters that are not of ASCII are spelled in each case. */
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

/** The spellings of a text in which letters that are not of ASCII have another case. */
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

/** A match goes on in the lines below; the first one is shown. */
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

/** So many characters of a line, around its first match, without white space at its ends. */
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
