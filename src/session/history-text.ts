/** The earlier turns of a line, as the model reads them. */
import { renderFenced } from './fenced-text.ts';
import { turnNumber, type TurnName } from '../names.ts';

/** One thing that was said, called or answered. */
export interface HistoryPart {
  /** `Message`, `Reply (spoken)`, `Result (denied)`. */
  title: string;
  /** The name of the tool that was called; it ends the title. */
  tool?: string;
  /** The text, byte for byte. */
  text: string;
  /** The language of its fence. */
  language: string;
  /** The file of the turn that it is, if it is one. */
  file?: string;
}

/** A turn with its parts, in order. */
export interface TurnHistory {
  turn: TurnName;
  parts: readonly HistoryPart[];
}

/** One turn as Markdown; everything that was said stands in a fence, exactly as it was. */
export function renderTurn({ turn, parts }: TurnHistory): string {
  return [`## Turn ${turn}\n`, ...parts.map(renderPart)].join('\n');
}

/** Rendered turns, oldest first, below the names of those before them that the budget has no room for. */
export function joinHistory(leftOut: readonly TurnName[], turns: readonly string[]): string {
  const note = leftOut.length === 0 ? [] : [`${renderLeftOut(leftOut)}\n`];
  return [...note, ...turns].join('\n');
}

export function renderLeftOut(turns: readonly TurnName[]): string {
  return `Left out to fit the budget: ${listTurns(turns)}.`;
}

function renderPart({ title, tool, text, language }: HistoryPart): string {
  const named = tool === undefined ? title : `${title} ${tool}`;
  return `### ${named}\n\n${renderFenced(text, language)}`;
}

/** `turn 01`, `turns 01-07`, `turns 01, 02-branch-01, 03-09`. */
function listTurns(turns: readonly TurnName[]): string {
  const runs: TurnName[][] = [];
  for (const turn of turns) {
    const run = runs.at(-1);
    if (run && follows(turn, run.at(-1))) run.push(turn);
    else runs.push([turn]);
  }
  const names = runs.map((run) => (run.length === 1 ? `${run[0]}` : `${run[0]}-${run.at(-1)}`));
  return `${turns.length === 1 ? 'turn' : 'turns'} ${names.join(', ')}`;
}

/** Only plain turns make a run: `02-branch-01-03` would read as nothing. */
function follows(turn: TurnName, last: TurnName | undefined): boolean {
  const isPlain = last !== undefined && !`${turn}${last}`.includes('-');
  return isPlain && turnNumber(turn) === turnNumber(last) + 1;
}
