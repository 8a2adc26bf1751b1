/** The messages of a session as a provider would take them: folded and rendered. */
import { TeddyError } from '../../errors.ts';
import type { SessionId, TurnName } from '../../names.ts';
import { toHistory, type TurnRecords } from './fold-history.ts';
import type { History, HistoryFormat, Repair } from './history.ts';

export interface RenderedHistory {
  /** The printed form, in UTF-8: one message a line in a JSON array, or the text itself. */
  bytes: Uint8Array;
  repairs: Repair[];
}

const firstCapacity = 1 << 20;

/** The turns are taken out of the array. */
export async function renderHistory(
  { turns, repairs }: { turns: TurnRecords[]; repairs: readonly Repair[] },
  format: HistoryFormat,
): Promise<RenderedHistory> {
  // The turns are not held any more once they are folded.
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

/** Each renderer is loaded only where it is needed. */
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

/** Messages become a JSON array with one on each line. All are written into one array: joined at the end, they would be held twice. */
function encodeRendered(rendered: unknown[] | string): Uint8Array {
  if (typeof rendered === 'string') return encodeText(rendered);
  const encoder = new TextEncoder();
  let [bytes, length] = [new Uint8Array(firstCapacity), 0];
  const add = (text: string) => {
    // A character takes three bytes at most, and memory that nothing was written to takes no room.
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
    `${session} has no turn ${from}, nor one after it.`,
    `\`teddy session log ${session}\` shows the turns.`,
  );
}
