/** A dialogue with a model that has the writing tool, in whole answers, also where a limit has cut them. */
import type { Model, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { checkRequest } from '../../conversation/history/check-request.ts';
import { hearAnswer, sumUsage, type Received, type Usage } from '../line/receive-answer.ts';

export interface Dialogue {
  readonly model: Model;
  /** Every request has this, beside the messages and the advice for its failure. */
  readonly request: Omit<ModelRequest, 'messages' | 'again'>;
  readonly messages: ModelMessage[];
  /** Sums up all requests; null when none has reported it. */
  usage: Usage | null;
}

export interface AnswerOptions {
  /** Whether an answer that was cut by its limit is continued. */
  isWanted(): boolean;
  /** Advises a person when the request fails. */
  again: string;
}

/** Another process has begun this answer. `shown` is its text as the model may see it. */
export interface EarlierText {
  text: string;
  shown: string;
}

// A file of a megabyte takes some thirty of the longest answers that models give.
const maxContinuations = 64;

/**
 * Yields the next answer in pieces, and fills `answer`; a whole answer joins the dialogue. With `earlier` the model goes on with
 * that text, and only the rest is yielded. Throws what the model throws.
 */
export async function* hearNext(
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
  yield* hearAnswer(model, { ...dialogue.request, messages: [...messages], again }, answer, {
    maxContinuations,
    isWanted,
    toShown,
    onUsage: (more) => (dialogue.usage = sumUsage(usage, more)),
  });
  answer.calls = answer.calls.map((call) => ({ ...call, id: toFreeId(messages, call.id) }));
  const content = toShown(answer.text);
  if (answer.calls.length > 0) messages.push({ role: 'assistant', content, toolCalls: answer.calls.map(toReadable) });
  // Servers refuse a message that says nothing.
  else if (content.trim() !== '' && answer.text !== earlier.text) messages.push({ role: 'assistant', content });
}

/** Arguments that are no JSON go back to the model as a value, since providers refuse them. */
function toReadable(call: ModelToolCall): ModelToolCall {
  return parseObject(call.arguments) === null
    ? { ...call, arguments: JSON.stringify({ input: call.arguments }) }
    : call;
}

/** Some servers give the same id to a call of every answer. */
export function toFreeId(messages: readonly ModelMessage[], id: string): string {
  const taken = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  let free = id;
  for (let number = 2; taken.has(free); number += 1) free = `${id}-${number}`;
  return free;
}

/** After an answer that said nothing, the content joins the message before it. */
export function say({ messages }: Dialogue, content: string): void {
  const last = messages.at(-1);
  if (last?.role === 'user') messages[messages.length - 1] = { role: 'user', content: `${last.content}\n\n${content}` };
  else messages.push({ role: 'user', content });
}

/** Each call of an answer needs a result before anything else is said. */
export function answerCall(dialogue: Dialogue, { id }: ModelToolCall, content: string): void {
  dialogue.messages.push({ role: 'tool', toolCallId: id, content });
}
