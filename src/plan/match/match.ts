/** Applies an EDIT's pairs to a text exactly and in order, without guessing. */
import { newestGrammar, type Grammar } from '../../session/text/grammar.ts';
import { describeMiss } from './match-miss.ts';
import { type MatchSite, type PlaceKind, findPlaces } from './match-places.ts';
import type { Position, Problem } from './problem.ts';

export { findClosest } from './match-miss.ts';

export interface EditPair extends Position {
  /** Null when the replacement is the whole file. */
  find: string | null;
  replace: string;
}

/** How FIND matched; `file`: there was no FIND, so the replacement is the whole file. */
type MatchKind = PlaceKind | 'file';

/** `pair` and `line` count from 1; `line` refers to the text after the earlier pairs. */
export interface EditMatch {
  pair: number;
  kind: MatchKind;
  line: number;
}

export type EditOutcome = { ok: true; text: string; matches: EditMatch[] } | { ok: false; problems: Problem[] };

type PairOutcome = { ended: EndedText; kind: MatchKind; lines: number[] } | Pick<Problem, 'message' | 'hint'>;

const byteOrderMark = '\uFEFF';
const maxListedLines = 20;

/**
 * Applies the pairs in order, each to the result of the previous one. Preserves the text's byte order mark, its line
 * endings (line by line if mixed), and its present or missing final newline. A failing pair leaves the text unchanged
 * for the next pair, so that teddy finds all problems.
 */
export function applyEdit(
  text: string,
  { pairs, matchAll }: { pairs: readonly EditPair[]; matchAll: boolean },
  grammar: Grammar = newestGrammar,
): EditOutcome {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : '';
  const matches: EditMatch[] = [];
  const problems: Problem[] = [];
  let current = splitEndings(text.slice(mark.length));
  pairs.forEach((pair, i) => {
    const outcome = applyPair(current, pair, { matchAll, grammar });
    if ('message' in outcome) {
      const { line, column } = pair;
      problems.push({ line, column, ...outcome, message: `${nameOf(i, pairs)} ${outcome.message}` });
      return;
    }
    current = keepFinalNewline(current, outcome.ended);
    matches.push(...outcome.lines.map((line) => ({ pair: i + 1, kind: outcome.kind, line })));
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, text: mark + renderEndings(current), matches };
}

function applyPair(
  ended: EndedText,
  pair: EditPair,
  { matchAll, grammar }: { matchAll: boolean; grammar: Grammar },
): PairOutcome {
  const { text } = ended;
  const replace = toNewlines(pair.replace);
  const own = listEndings(pair.replace);
  if (pair.find === null) {
    const whole = { start: 0, end: text.length, replacement: replace };
    return { ended: replaceEnded(ended, [whole], own), kind: 'file', lines: [1] };
  }
  if (pair.find === '') {
    return { message: 'is empty.', hint: 'Give the lines to replace, or leave FIND out to replace the whole file.' };
  }
  const wanted = { find: toNewlines(pair.find), replace };
  const found = findPlaces(text, wanted);
  if (found === null) return describeMiss(text, wanted, grammar);
  if (found.places.length > 1 && !matchAll) return describeAmbiguity(text, found.places);
  const places = withoutOverlaps(found.places);
  const replaced = places.map(({ start, end, toReplacement }) => ({ start, end, replacement: toReplacement() }));
  return { ended: replaceEnded(ended, replaced, own), kind: found.kind, lines: toLineNumbers(text, places) };
}

/** Uses the first of overlapping places, as every editor does. */
function withoutOverlaps(places: MatchSite[]): MatchSite[] {
  let end = 0;
  return places.filter((place) => {
    if (place.start < end) return false;
    end = place.end;
    return true;
  });
}

function describeAmbiguity(text: string, places: MatchSite[]): Pick<Problem, 'message' | 'hint'> {
  const lines = [...new Set(toLineNumbers(text, places))];
  const listed = lines.slice(0, maxListedLines).join(', ');
  const more = lines.length > maxListedLines ? ` and ${lines.length - maxListedLines} more` : '';
  return {
    message: `matches ${places.length} places, expected one: ${lines.length > 1 ? 'lines' : 'line'} ${listed}${more}.`,
    hint: 'Add lines around it until it is unique, or set `- **Match All:** true`.',
  };
}

/** Returns the line numbers (from 1) where the places start. */
function toLineNumbers(text: string, places: MatchSite[]): number[] {
  let line = 1;
  let newline = text.indexOf('\n');
  return places.map(({ start }) => {
    for (; newline !== -1 && newline < start; newline = text.indexOf('\n', newline + 1)) line += 1;
    return line;
  });
}

function nameOf(index: number, pairs: readonly EditPair[]): string {
  return pairs.length === 1 ? 'FIND' : `FIND ${index + 1}`;
}

/** teddy separates a file's line endings from its text: FIND and REPLACE match without them, and teddy restores them. */

type LineEnding = '\n' | '\r\n';

/** `text` has `\n` for every ending; `endings` lists the file's endings in order, or is the one ending of all lines. */
interface EndedText {
  text: string;
  endings: LineEnding | LineEnding[];
}

/** A replacement for the text from `start` to `end`, in UTF-16 units. */
interface Replaced {
  start: number;
  end: number;
  replacement: string;
}

/** Replaces only `\r\n` with `\n`, so that `renderEndings` restores the text. */
function splitEndings(text: string): EndedText {
  if (!text.includes('\n')) return { text, endings: [] };
  if (!text.includes('\r\n')) return { text, endings: '\n' };
  const isMixed = /(?<!\r)\n/.test(text);
  return { text: toNewlines(text), endings: isMixed ? listEndings(text) : '\r\n' };
}

function renderEndings({ text, endings }: EndedText): string {
  if (endings === '\n') return text;
  if (endings === '\r\n') return text.replaceAll('\n', endings);
  return text
    .split('\n')
    .map((line, at) => line + (endings[at] ?? ''))
    .join('');
}

function toNewlines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function listEndings(text: string): LineEnding[] {
  return (text.match(/\r?\n/g) ?? []) as LineEnding[];
}

/**
 * Replaces places that are in order and do not overlap. In a file with mixed endings, an unchanged line keeps its
 * ending, and a new line takes the ending of the line that it replaces, otherwise of the line before it. `own` contains
 * the plan's endings, for a file without any.
 */
function replaceEnded({ text, endings }: EndedText, replaced: Replaced[], own: LineEnding[]): EndedText {
  const parts: string[] = [];
  let end = 0;
  for (const place of replaced) {
    parts.push(text.slice(end, place.start), place.replacement);
    end = place.end;
  }
  parts.push(text.slice(end));
  const next = typeof endings === 'string' ? endings : replaceEach(text, endings, replaced, own);
  return { text: parts.join(''), endings: next };
}

function replaceEach(text: string, endings: LineEnding[], replaced: Replaced[], own: LineEnding[]): LineEnding[] {
  const next: LineEnding[] = [];
  let at = 0;
  let taken = 0;
  for (const { start, end, replacement } of replaced) {
    for (; at < start; at += 1) if (text[at] === '\n') next.push(endings[taken++]!);
    const removed = text.slice(start, end).split('\n');
    const old = endings.slice(taken, taken + removed.length - 1);
    const around = endings[taken + old.length] ?? endings[taken - 1];
    const fresh = chooseEndings({ removed, added: replacement.split('\n'), old, around, own });
    for (const ending of fresh) next.push(ending);
    taken += old.length;
    at = end;
  }
  for (; taken < endings.length; taken += 1) next.push(endings[taken]!);
  return next;
}

interface Change {
  /** The removed lines; the text after the last ending counts as the last line. */
  removed: string[];
  added: string[];
  /** The endings of `removed`. */
  old: LineEnding[];
  /** The ending of the line where the place ends, or of the line before. */
  around: LineEnding | undefined;
  own: LineEnding[];
}

function chooseEndings({ removed, added, old, around, own }: Change): LineEnding[] {
  const count = added.length - 1;
  const kept = countKept(removed, added);
  const near = old[0] ?? around;
  const chosen: LineEnding[] = [];
  for (let at = 0; at < count; at += 1) {
    const place = at >= count - kept ? old.length - count + at : Math.min(at, old.length - kept - 1);
    const beside = near === undefined ? own[at] : (chosen.at(-1) ?? near);
    chosen.push(old[place] ?? beside ?? '\n');
  }
  return chosen;
}

/** Counts the unchanged ended lines at the end of a place. Unchanged lines at its beginning keep their endings anyway. */
function countKept(removed: string[], added: string[]): number {
  const most = Math.min(removed.length, added.length) - 1;
  let kept = 0;
  while (kept < most && removed.at(-2 - kept) === added.at(-2 - kept)) kept += 1;
  return kept;
}

/** Makes a nonempty text end with a line ending exactly if `before` does. */
function keepFinalNewline(before: EndedText, after: EndedText): EndedText {
  const { text, endings } = after;
  if (before.text === '' || text === '' || before.text.endsWith('\n') === text.endsWith('\n')) return after;
  const isEnded = text.endsWith('\n');
  const last = typeof before.endings === 'string' ? before.endings : before.endings.at(-1);
  const changed = isEnded ? text.slice(0, -1) : `${text}\n`;
  if (typeof endings === 'string') return { text: changed, endings };
  return { text: changed, endings: isEnded ? endings.slice(0, -1) : [...endings, last ?? '\n'] };
}
