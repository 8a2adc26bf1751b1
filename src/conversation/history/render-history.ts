/** Folds and renders a session's messages in the form that a provider would receive. */
import { TeddyError } from '../../errors.ts';
import type { SessionId, TurnName } from '../../names.ts';
import { toHistory, type TurnRecords } from './fold-history.ts';
import type { History, HistoryFormat, Repair } from './history.ts';

export interface RenderedHistory {
  /** The printed form, in UTF-8: a JSON array with one message per line, or plain text. */
  bytes: Uint8Array;
  repairs: Repair[];
}

const firstCapacity = 1 << 20;

/** Empties the array of turns while rendering. */
export async function renderHistory(
  { turns, repairs }: { turns: TurnRecords[]; repairs: readonly Repair[] },
  format: HistoryFormat,
): Promise<RenderedHistory> {
  // Releases the turns as soon as they are in the history.
  const history = toHistory(takeAll(turns));
  return {
    bytes: encodeRendered(await render(history, format)),
    repairs: [...repairs, ...history.repairs],
  };
}

function* takeAll(turns: TurnRecords[]): Generator<TurnRecords> {
  turns.reverse();
  for (let turn = turns.pop(); turn !== undefined; turn = turns.pop()) yield turn;
}

/** Loads each renderer only when needed. */
async function render(history: History, format: HistoryFormat): Promise<unknown[] | string> {
  switch (format) {
    case 'openai':
      return (await import('./render-openai.ts')).renderOpenai(history);
    case 'anthropic':
      return (await import('./render-anthropic.ts')).renderAnthropic(history);
    case 'jsonl':
      return (await import('./render-jsonl.ts')).renderJsonl(history);
    case 'markdown':
      return (await import('./render-history-markdown.ts')).renderMarkdown(history);
  }
}

/**
 * Writes messages into one buffer as a JSON array with one message per line. Joining them at the end would keep them in
 * memory twice.
 */
function encodeRendered(rendered: unknown[] | string): Uint8Array {
  if (typeof rendered === 'string') return encodeText(rendered);
  const encoder = new TextEncoder();
  let [bytes, length] = [new Uint8Array(firstCapacity), 0];
  const add = (text: string) => {
    // A character takes three bytes at most, and unused memory costs nothing.
    const needed = length + 3 * text.length;
    if (needed > bytes.length) {
      const larger = new Uint8Array(4 * needed);
      larger.set(bytes);
      bytes = larger;
    }
    length += encoder.encodeInto(text, bytes.subarray(length)).written;
  };
  for (const [at, message] of rendered.entries()) add(`${at === 0 ? '[' : ','}\n${JSON.stringify(message)}`);
  add(rendered.length === 0 ? '[]\n' : '\n]\n');
  return bytes.subarray(0, length);
}

export function isText(format: HistoryFormat): boolean {
  return format === 'jsonl' || format === 'markdown';
}

export function encodeText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

export function noTurnFromError(session: SessionId, from: TurnName): TeddyError {
  return new TeddyError(
    'UNKNOWN_TURN',
    `${session} has no turn ${from} and none after it.`,
    `Run \`teddy log ${session}\` to see its turns.`,
  );
}
