/** A dialogue with a model that has the writing tool, in whole answers, even when a limit cuts them. */
import type { Model, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { checkRequest } from '../../conversation/history/check-request.ts';
import { streamAnswer, sumUsage, type Received, type Usage } from '../line/receive-answer.ts';

export interface Dialogue {
  readonly model: Model;
  /** The part that all requests share, apart from the messages and the advice after a failure. */
  readonly request: Omit<ModelRequest, 'messages' | 'again'>;
  readonly messages: ModelMessage[];
  /** The usage of all requests; null when no request has reported any. */
  usage: Usage | null;
}

export interface AnswerOptions {
  /** Returns true to continue an answer that its limit cut off. */
  isWanted(): boolean;
  /** Advice for the user when the request fails. */
  again: string;
}

/** An answer that another process began. `shown` is its text as the model may see it. */
export interface EarlierText {
  text: string;
  shown: string;
}

// A file of one megabyte takes about thirty of a model's longest answers.
const maxContinuations = 64;

/**
 * Yields the next answer in pieces, and fills `answer`; a complete answer joins the dialogue. With `earlier`, the model
 * continues that text, and this yields only the rest. Throws the model's errors.
 */
export async function* streamNextAnswer(
  dialogue: Dialogue,
  answer: Received,
  { isWanted, again }: AnswerOptions,
  earlier: EarlierText = { text: '', shown: '' },
): AsyncGenerator<string> {
  const { model, messages, usage } = dialogue;
  answer.text = earlier.text;
  if (earlier.text !== '') answer.finish = 'length';
  const toShown = (text: string) => earlier.shown + text.slice(earlier.text.length);
  checkRequest(messages);
  yield* streamAnswer(model, { ...dialogue.request, messages: [...messages], again }, answer, {
    maxContinuations,
    isWanted,
    toShown,
    onUsage: (more) => (dialogue.usage = sumUsage(usage, more)),
  });
  answer.calls = answer.calls.map((call) => ({ ...call, id: toFreeId(messages, call.id) }));
  const content = toShown(answer.text);
  if (answer.calls.length > 0) messages.push({ role: 'assistant', content, toolCalls: answer.calls.map(toReadable) });
  // Servers refuse an empty message.
  else if (content.trim() !== '' && answer.text !== earlier.text) messages.push({ role: 'assistant', content });
}

/** Returns arguments that are not JSON to the model as a value, because providers refuse them. */
function toReadable(call: ModelToolCall): ModelToolCall {
  return parseObject(call.arguments) === null
    ? { ...call, arguments: JSON.stringify({ input: call.arguments }) }
    : call;
}

/** Returns an unused ID, because some servers reuse one ID for the calls in several answers. */
export function toFreeId(messages: readonly ModelMessage[], id: string): string {
  const taken = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  let free = id;
  for (let number = 2; taken.has(free); number += 1) free = `${id}-${number}`;
  return free;
}

/** Adds a user's message. After an empty answer, appends the content to the preceding message. */
export function say({ messages }: Dialogue, content: string): void {
  const last = messages.at(-1);
  if (last?.role === 'user') messages[messages.length - 1] = { role: 'user', content: `${last.content}\n\n${content}` };
  else messages.push({ role: 'user', content });
}

/** Answers a tool call; each of an answer's calls needs a result before any other message. */
export function answerCall(dialogue: Dialogue, { id }: ModelToolCall, content: string): void {
  dialogue.messages.push({ role: 'tool', toolCallId: id, content });
}
