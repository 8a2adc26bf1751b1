/** Applies the pairs of an EDIT to a text: exact and positional, never a guess. */
import { newestGrammar, type Grammar } from '../session/grammar.ts';
import {
  keepFinalNewline,
  listEndings,
  renderEndings,
  replaceEnded,
  splitEndings,
  toNewlines,
  type EndedText,
} from './match-endings.ts';
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

type PairOutcome = { ended: EndedText; kind: MatchKind; lines: number[] } | Pick<Problem, 'message' | 'hint'>;

const byteOrderMark = '\uFEFF';
const maxListedLines = 20;

/**
 * Applies the pairs one after the other, each to the result of the earlier ones. The text keeps its byte order mark, its
 * line endings, mixed ones line by line, and its present or missing final newline. A pair that does not apply leaves the text to the next
 * one, so that all problems are found.
 */
export function applyEdit(
  text: string,
  { pairs, matchAll }: Pick<EditAction, 'pairs' | 'matchAll'>,
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
