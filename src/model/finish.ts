/** Why an answer has ended. Gateways pass on the words of the models behind them, so both wires know the words of all. */
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

/** Null: the endpoint has said nothing yet. A word that nobody knows is no good end. */
export function toFinish(said: unknown): Finish | null {
  if (said === undefined || said === null || said === '') return null;
  const word = typeof said === 'string' ? said : JSON.stringify(said);
  const key = word.toLowerCase();
  return Object.hasOwn(known, key) ? { reason: known[key] ?? 'other' } : { reason: 'other', said: word };
}

/** No later word makes a bad end good. */
export function worseFinish(before: Finish | null, said: unknown): Finish | null {
  const next = toFinish(said);
  if (before === null || next === null) return next ?? before;
  return finishReasons.indexOf(next.reason) < finishReasons.indexOf(before.reason) ? before : next;
}

/** Null for an answer that came whole and without a reason. One without calls waits for no result, whatever it says. */
export function finishEvent(finish: Finish | null, calls: number): ModelEvent {
  const end = finish ?? { reason: 'stop' };
  const isGood = end.reason === 'stop' || end.reason === 'tool_calls';
  return { type: 'finish', ...(isGood ? { reason: calls > 0 ? 'tool_calls' : 'stop' } : end) };
}

/** The content of a message or of a piece of one: a text, or a list of parts. */
export type TextPiece = Extract<ModelEvent, { type: 'text' | 'thought' }>;

/** In its order. `onUnknown` hears the type of each part that is neither words nor thoughts. */
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

/** Thoughts come as a text, as a list of parts with texts, or within `value`. */
function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsOf).join('');
  return typeof value === 'string' ? value : isObject(value) ? wordsOf(field(value, 'text') ?? value['value']) : '';
}

/** Parts that a model sends along with its words and that say nothing to a person. */
function isSilent(type: unknown): boolean {
  return type === 'redacted_thinking' || type === 'signature_delta' || type === 'citations_delta';
}
