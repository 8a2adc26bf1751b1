/**
 * Determines why an answer ended. Gateways pass on the words of the models behind them, so both wire formats recognize
 * every such word.
 */
import { type ModelEvent, finishReasons } from '../ports/model.ts';
import { field, isObject } from '../session/text/parse-object.ts';

export type Finish = Omit<Extract<ModelEvent, { type: 'finish' }>, 'type'>;

const known: Record<string, Finish['reason']> = {
  stop: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
};

/** Returns null when the endpoint has not given a reason yet. An unknown reason counts as a bad end. */
export function toFinish(said: unknown): Finish | null {
  if (said === undefined || said === null || said === '') return null;
  const word = typeof said === 'string' ? said : JSON.stringify(said);
  const key = word.toLowerCase();
  return Object.hasOwn(known, key) ? { reason: known[key] ?? 'other' } : { reason: 'other', said: word };
}

/** A later reason never turns a bad end into a good one. */
export function worseFinish(before: Finish | null, said: unknown): Finish | null {
  const next = toFinish(said);
  if (before === null || next === null) return next ?? before;
  return finishReasons.indexOf(next.reason) < finishReasons.indexOf(before.reason) ? before : next;
}

/**
 * `finish` is null for an answer that arrived completely but without a reason. An answer without calls does not wait
 * for results, whatever its reason.
 */
export function finishEvent(finish: Finish | null, calls: number): ModelEvent {
  const end = finish ?? { reason: 'stop' };
  const isGood = end.reason === 'stop' || end.reason === 'tool_calls';
  return { type: 'finish', ...(isGood ? { reason: calls > 0 ? 'tool_calls' : 'stop' } : end) };
}

/** A piece of a message's content: text or thoughts. */
export type TextPiece = Extract<ModelEvent, { type: 'text' | 'thought' }>;

/** Returns a content's pieces in order. Calls `onUnknown` with the type of each part that is neither text nor thoughts. */
export function piecesOf(content: unknown, onUnknown: (type: string) => void): TextPiece[] {
  if (Array.isArray(content)) return content.flatMap((part) => piecesOf(part, onUnknown));
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!isObject(content)) return [];
  const { thinking, reasoning, summary, text, refusal, type } = content;
  const thought =
    thinking ?? reasoning ?? (type === 'thinking' || type === 'reasoning' ? (text ?? summary) : undefined);
  if (thought !== undefined) return [{ type: 'thought', text: wordsOf(thought) }];
  if (text !== undefined || refusal !== undefined) return [{ type: 'text', text: wordsOf(text ?? refusal) }];
  if (!isSilent(type)) onUnknown(typeof type === 'string' ? type : 'a part without a type');
  return [];
}

/** Returns the words of thoughts: a text, a list of parts with texts, or the text in `value`. */
function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsOf).join('');
  return typeof value === 'string' ? value : isObject(value) ? wordsOf(field(value, 'text') ?? value['value']) : '';
}

/** Returns true if a part means nothing to the user, so that teddy can drop it silently. */
function isSilent(type: unknown): boolean {
  return type === 'redacted_thinking' || type === 'signature_delta' || type === 'citations_delta';
}
