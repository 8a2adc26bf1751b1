/** Renders the turns that `teddy search` found: turn by turn for a terminal, line by line for a pipe. */
import { cutLine } from '../../session/text/text-pattern.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { FoundMatch, FoundTurn } from '../../workflow/review/search-sessions.ts';
import type { Terminal } from '../terminal.ts';
import { cutToWidth, padTo, widthOf } from './cut-to-width.ts';
import { describeAge } from './time.ts';

/** Shows at most `most` of a turn's lines. */
export function renderFoundTurn(
  terminal: Terminal,
  { line, lineName, turn, title, at, matches }: FoundTurn,
  { nowMs, most }: { nowMs: number; most: number },
): string {
  const head = `${toVisible(line.session)} ${turn}`;
  const isOther = lineName !== `teddy/${line.session}`;
  const place = line.isArchived ? ['archived'] : isOther ? [`on ${toVisible(lineName)}`] : [];
  const about = [`${describeAge(at, nowMs)} ago`, ...place].join(', ');
  const room = Math.max(terminal.columns - widthOf(head) - widthOf(about) - 5, 20);
  const rows = matches.slice(0, most).map((match) => ({ match, where: toWhere(match) }));
  const widest = Math.max(...rows.map(({ where }) => widthOf(where)));
  const left = matches.length - rows.length;
  return [
    `${terminal.style('yellow', head)}  ${cutToWidth(toVisible(title), room)} ${terminal.style('dim', `(${about})`)}`,
    ...rows.map(({ match, where }) => {
      const shown = fitMatch(match, terminal.columns - widest - 4);
      return `  ${terminal.style('cyan', padTo(where, widest))}  ${renderMarked(terminal, shown)}`;
    }),
    ...(left === 0 ? [] : [`  ${terminal.style('dim', `${left} more ${left === 1 ? 'line' : 'lines'}`)}`]),
    '',
  ].join('\n');
}

/** Fits a match into a width. `columns` may be infinite; wide characters take more than one. */
function fitMatch(match: FoundMatch, columns: number): Pick<FoundMatch, 'text' | 'marks'> {
  const width = widthOf(match.text);
  if (width <= columns) return match;
  const dots = 6;
  return cutLine(match, Math.max(Math.floor(((columns - dots) * match.text.length) / width), 20));
}

/** Returns rows with session, turn, branch, place, title and text. Only the text may contain a tab. */
export function renderFoundRows({ line, lineName, turn, title, matches }: FoundTurn): string {
  return matches
    .map((match) => [line.session, turn, lineName, toWhere(match), title.replaceAll('\t', ' '), match.text])
    .map((cells) => `${cells.map(toVisible).join('\t')}\n`)
    .join('');
}

/** Returns, for example, `message`, `plan:12`, `report:output/2.log:7` or `code:src/ago.js:3`. */
function toWhere({ place, file, number }: FoundMatch): string {
  const isOwn = file === null || file === 'plan.md' || file === 'report.md';
  return toVisible([place, ...(isOwn ? [] : [file]), ...(number === null ? [] : [number])].join(':'));
}

function renderMarked(terminal: Terminal, { text, marks }: Pick<FoundMatch, 'text' | 'marks'>): string {
  let shown = '';
  let at = 0;
  for (const { start, end } of marks) {
    if (start < at) continue;
    shown += toVisible(text.slice(at, start)) + terminal.style(['bold', 'red'], toVisible(text.slice(start, end)));
    at = end;
  }
  return shown + toVisible(text.slice(at));
}
