/** The content of a message or of a piece of one: a text, or a list of parts. */
import type { ModelEvent } from '../ports/model.ts';
import { field, isObject } from '../session/parse-object.ts';

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
