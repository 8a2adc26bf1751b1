/** A dialogue with a model that has the writing tool, in whole answers, also where a limit has cut them. */
import { continueMessage, openSeam } from '../../conversation/continuation.ts';
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { toSessionId, toTurnName } from '../../names.ts';
import { parseObject } from '../../session/parse-object.ts';
import { checkRequest } from '../../conversation/check-request.ts';
import { addUsage, type Usage } from '../line/receive-answer.ts';
import { beginTool } from '../../conversation/write-tool.ts';

export interface Dialogue {
  readonly model: Model;
  /** Every request has this, beside the messages and the advice for its failure. */
  readonly request: Omit<ModelRequest, 'messages' | 'again'>;
  readonly messages: ModelMessage[];
  /** Sums up all requests; null when none has reported it. */
  usage: Usage | null;
}

export interface Answer {
  /** The text as it was received, with its continuations. */
  text: string;
  calls: ModelToolCall[];
  finish: Extract<ModelEvent, { type: 'finish' }>['reason'];
  /** The endpoint's own word, where `finish` is `other`. */
  said?: string | undefined;
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

export function openDialogue(
  project: Project,
  { model, parameters, signal }: { model: Model; parameters: ModelRequest['parameters']; signal: AbortSignal },
  messages: ModelMessage[],
): Dialogue {
  const request = {
    tools: [beginTool],
    parameters,
    // Recorded answers belong to a turn, and these to none.
    session: toSessionId(project.clock.now(), 'writes'),
    turn: toTurnName(1),
    messageSha256: project.hash(messages.at(-1)?.content ?? ''),
    signal,
  };
  return { model, request, messages, usage: null };
}

export function newAnswer(): Answer {
  return { text: '', calls: [], finish: 'other' };
}

/**
 * Yields the next answer in pieces, and fills `answer`; a whole answer joins the dialogue. With `earlier` the model goes on with
 * that text, and only the rest is yielded. Throws what the model throws.
 */
export async function* hearAnswer(
  dialogue: Dialogue,
  answer: Answer,
  options: AnswerOptions,
  earlier: EarlierText = nothingEarlier,
): AsyncGenerator<string> {
  answer.text = earlier.text;
  if (earlier.text === '') yield* hear(dialogue, dialogue.messages, answer, options);
  else answer.finish = 'length';
  const toShown = () => earlier.shown + answer.text.slice(earlier.text.length);
  for (let count = 0; count < maxContinuations && isCut(answer, options); count += 1) {
    const { length } = answer.text;
    yield* hearContinuation(dialogue, answer, options, toShown());
    if (answer.text.length === length) break;
  }
  const { messages } = dialogue;
  const content = toShown();
  if (answer.calls.length > 0) messages.push({ role: 'assistant', content, toolCalls: answer.calls.map(toReadable) });
  // Servers refuse a message that says nothing.
  else if (content.trim() !== '') messages.push({ role: 'assistant', content });
}

const nothingEarlier: EarlierText = { text: '', shown: '' };

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

function isCut({ text, calls, finish }: Answer, { isWanted }: AnswerOptions): boolean {
  return finish === 'length' && calls.length === 0 && text.trim() !== '' && isWanted();
}

/** Leaves out the lines with which the model repeats the end of the answer. */
async function* hearContinuation(
  dialogue: Dialogue,
  answer: Answer,
  options: AnswerOptions,
  shown: string,
): AsyncGenerator<string> {
  const seam = openSeam(answer.text);
  const messages: ModelMessage[] = [
    ...dialogue.messages,
    { role: 'assistant', content: shown },
    { role: 'user', content: continueMessage },
  ];
  try {
    yield* hear(dialogue, messages, answer, options, seam.next);
  } catch (error) {
    yield* give(answer, seam.end());
    throw error;
  }
  yield* give(answer, seam.end());
}

async function* hear(
  dialogue: Dialogue,
  messages: ModelMessage[],
  answer: Answer,
  { again }: AnswerOptions,
  toNew = (text: string) => text,
): AsyncGenerator<string> {
  // An answer without a reason must not keep that of the answer before.
  answer.finish = 'other';
  checkRequest(messages);
  for await (const event of dialogue.model.answer({ ...dialogue.request, messages: [...messages], again })) {
    if (event.type === 'text') {
      yield* give(answer, toNew(event.text));
    } else if (event.type === 'tool_call') {
      const id = toFreeId(dialogue.messages, event.id);
      answer.calls.push({ id, name: event.name, arguments: event.arguments });
    } else if (event.type === 'usage') {
      dialogue.usage = addUsage(dialogue.usage, event);
    } else if (event.type === 'finish') {
      answer.finish = event.reason;
      answer.said = event.said;
    }
  }
}

function* give(answer: Answer, text: string): Generator<string> {
  if (text === '') return;
  answer.text += text;
  yield text;
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
