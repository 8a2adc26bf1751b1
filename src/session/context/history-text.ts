/** Renders a line's earlier turns for the model. */
import { renderFenced } from '../text/fenced-text.ts';
import { turnNumber, type TurnName } from '../../names.ts';
import { formatCount } from '../text/format-count.ts';
import { estimateTokens } from '../text/tokens.ts';
import { countBytes } from '../text/bytes.ts';

/** A single message, call or result. */
export interface HistoryPart {
  /** For example `Message`, `Reply (spoken)`, `Result (denied)`. */
  title: string;
  /** The name of the called tool, which follows the title. */
  tool?: string;
  /** The text, byte for byte. */
  text: string;
  /** The language of the text's fence. */
  language: string;
  /** The turn's file with this content, if any. */
  file?: string;
}

/** A turn and its parts, in order. */
export interface TurnHistory {
  turn: TurnName;
  parts: readonly HistoryPart[];
}

/** Renders a turn as Markdown, with everything said unchanged in fences. */
export function renderTurn({ turn, parts }: TurnHistory): string {
  return [`## Turn ${turn}\n`, ...parts.map(renderPart)].join('\n');
}

/** Joins rendered turns, oldest first, after a note that names the earlier turns that exceed the budget. */
export function joinHistory(leftOut: readonly TurnName[], turns: readonly string[]): string {
  const note = leftOut.length === 0 ? [] : [`${renderLeftOut(leftOut)}\n`];
  return [...note, ...turns].join('\n');
}

export function renderLeftOut(turns: readonly TurnName[]): string {
  return `Left out to fit the budget: ${listTurns(turns)}.`;
}

/** Returns the newest turn that a history's first line reports as left out; null when the line reports none. */
export function parseLeftOut(history: string): string | null {
  const [start = ''] = renderLeftOut([]).split(':');
  const line = history.slice(0, history.indexOf('\n'));
  if (!line.startsWith(`${start}: `)) return null;
  return /(\d{2,}(?:-branch-\d{2,})?)\.$/.exec(line)?.[1] ?? '';
}

interface ClippedPart {
  part: HistoryPart;
  /** A description of the omitted text, for the user: `the answer of turn 18 (612 KB)`. */
  leftOut: string;
}

/**
 * Reduces a body of more than `limit` tokens to its beginning and end, with about `limit` tokens in total. Returns null
 * when the body is not longer. A pure function, so `verify` can repeat it.
 */
export function clipPart(turn: TurnName, part: HistoryPart, limit: number): ClippedPart | null {
  const { text } = part;
  // A character is never more than three tokens, and most texts are short.
  if (text.length * 3 <= limit) return null;
  const tokens = estimateTokens(text);
  if (tokens <= limit) return null;
  let half = Math.floor((text.length * limit) / tokens / 2);
  let clipped = cutMiddle(turn, part, half);
  while (half > 0 && estimateTokens(clipped.text) > limit) {
    half = Math.floor(half * 0.9);
    clipped = cutMiddle(turn, part, half);
  }
  const { noun, size } = clipped;
  return { part: { ...part, text: clipped.text }, leftOut: `the ${noun} of turn ${turn} (${size})` };
}

/** Cuts at line ends when that loses little, and never within a character. */
function cutMiddle(turn: TurnName, { title, text }: HistoryPart, half: number) {
  const head = text.slice(0, half);
  const tail = half === 0 ? '' : text.slice(-half);
  const [newline, next] = [head.lastIndexOf('\n') + 1, tail.indexOf('\n') + 1];
  const begin = newline > half / 2 ? head.slice(0, newline) : head.replace(/[\uD800-\uDBFF]$/, '');
  const end = next > 0 && next < half / 2 ? tail.slice(next) : tail.replace(/^[\uDC00-\uDFFF]/, '');
  const noun = nouns[title.split(' ')[0] ?? ''] ?? 'text';
  const size = formatSize(countBytes(text.slice(begin.length, text.length - end.length)));
  const mark = `[... ${size} of this ${noun} left out; session show ${turn} has it]`;
  return { text: `${begin}${begin.endsWith('\n') || begin === '' ? '' : '\n'}${mark}\n${end}`, noun, size };
}

const nouns: Record<string, string> = {
  Message: 'message',
  Reply: 'answer',
  Plan: 'plan',
  Report: 'report',
  Tool: 'call',
  Result: 'result',
};

function formatSize(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${formatCount(Math.round(bytes / 1024))} KB`;
}

/** Renders a part as Markdown: a heading, and the text in a fence. */
export function renderPart({ title, tool, text, language }: HistoryPart): string {
  const named = tool === undefined ? title : `${title} ${tool}`;
  return `### ${named}\n\n${renderFenced(text, language)}`;
}

/** Lists turns: `turn 01`, `turns 01-07`, `turns 01, 02-branch-01, 03-09`. */
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

/** Returns true if a turn extends a range. Only plain turns do, because `02-branch-01-03` would be unreadable. */
function follows(turn: TurnName, last: TurnName | undefined): boolean {
  const isPlain = last !== undefined && !`${turn}${last}`.includes('-');
  return isPlain && turnNumber(turn) === turnNumber(last) + 1;
}
