/** Applies the pairs of an EDIT to a text: exact and positional, never a guess. */
import { describeMiss } from './match-miss.ts';
import { type Place, type PlaceKind, findPlaces } from './match-places.ts';
import type { EditAction, EditPair, Problem } from './plan.ts';

/** How a FIND was found; `file`: there was none, the whole file is replaced. */
type MatchKind = PlaceKind | 'file';

/** `pair` and `line` count from 1; `line` is that of the text as the earlier pairs left it. */
export interface EditMatch {
  pair: number;
  kind: MatchKind;
  line: number;
}

export type EditOutcome = { ok: true; text: string; matches: EditMatch[] } | { ok: false; problems: Problem[] };

type LineEnding = '\n' | '\r\n';
type PairOutcome = { text: string; kind: MatchKind; lines: number[] } | Pick<Problem, 'message' | 'hint'>;

const byteOrderMark = '\uFEFF';
const maxListedLines = 20;

/**
 * Applies the pairs one after the other, each to the result of the earlier ones. The text keeps its byte order mark, its
 * kind of line endings and its present or missing final newline. A pair that does not apply leaves the text to the next
 * one, so that all problems are found.
 */
export function applyEdit(text: string, { pairs, matchAll }: Pick<EditAction, 'pairs' | 'matchAll'>): EditOutcome {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : '';
  const ending = findLineEnding(text);
  const matches: EditMatch[] = [];
  const problems: Problem[] = [];
  let current = text.slice(mark.length);
  pairs.forEach((pair, i) => {
    const outcome = applyPair(current, toEnding(pair, ending), matchAll);
    if ('message' in outcome) {
      const { line, column } = pair;
      problems.push({ line, column, ...outcome, message: `${nameOf(i, pairs)} ${outcome.message}` });
      return;
    }
    current = keepFinalNewline(current, outcome.text);
    matches.push(...outcome.lines.map((line) => ({ pair: i + 1, kind: outcome.kind, line })));
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, text: mark + current, matches };
}

function applyPair(text: string, { find, replace }: EditPair, matchAll: boolean): PairOutcome {
  if (find === null) return { text: replace, kind: 'file', lines: [1] };
  if (find === '') {
    return { message: 'is empty.', hint: 'Give the lines to replace, or leave FIND out to replace the whole file.' };
  }
  const found = findPlaces(text, { find, replace });
  if (found === null) return describeMiss(text, { find, replace });
  if (found.places.length > 1 && !matchAll) return describeAmbiguity(text, found.places);
  const places = withoutOverlaps(found.places);
  return { text: replacePlaces(text, places), kind: found.kind, lines: toLineNumbers(text, places) };
}

function replacePlaces(text: string, places: Place[]): string {
  let end = 0;
  const parts = places.flatMap((place) => {
    const untouched = text.slice(end, place.start);
    end = place.end;
    return [untouched, place.toReplacement()];
  });
  return parts.join('') + text.slice(end);
}

/** Of places that overlap, the first one counts, as in every editor. */
function withoutOverlaps(places: Place[]): Place[] {
  let end = 0;
  return places.filter((place) => {
    if (place.start < end) return false;
    end = place.end;
    return true;
  });
}

function describeAmbiguity(text: string, places: Place[]): Pick<Problem, 'message' | 'hint'> {
  const lines = [...new Set(toLineNumbers(text, places))];
  const listed = lines.slice(0, maxListedLines).join(', ');
  const more = lines.length > maxListedLines ? ` and ${lines.length - maxListedLines} more` : '';
  return {
    message: `matches ${places.length} places, expected one: ${lines.length > 1 ? 'lines' : 'line'} ${listed}${more}.`,
    hint: 'Add lines around it until it is unique, or set `- **Match All:** true`.',
  };
}

/** The lines, from 1, at which the places start. */
function toLineNumbers(text: string, places: Place[]): number[] {
  let line = 1;
  let newline = text.indexOf('\n');
  return places.map(({ start }) => {
    for (; newline !== -1 && newline < start; newline = text.indexOf('\n', newline + 1)) line += 1;
    return line;
  });
}

function nameOf(index: number, pairs: EditPair[]): string {
  return pairs.length === 1 ? 'FIND' : `FIND ${index + 1}`;
}

/** Null when there is none, or more than one kind. */
function findLineEnding(text: string): LineEnding | null {
  if (!text.includes('\n')) return null;
  if (!text.includes('\r\n')) return '\n';
  return /(?<!\r)\n/.test(text) ? null : '\r\n';
}

function toEnding(pair: EditPair, ending: LineEnding | null): EditPair {
  if (ending === null) return pair;
  const convert = (text: string) => text.replace(/\r?\n/g, ending);
  return { ...pair, find: pair.find === null ? null : convert(pair.find), replace: convert(pair.replace) };
}

function keepFinalNewline(before: string, after: string): string {
  if (before === '' || after === '' || before.endsWith('\n') === after.endsWith('\n')) return after;
  if (after.endsWith('\n')) return after.replace(/\r?\n$/, '');
  return after + (before.endsWith('\r\n') ? '\r\n' : '\n');
}
