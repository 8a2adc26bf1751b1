/** What is said between a model with the writing tool and us: whole answers, also where a limit has cut them. */
import { continueMessage, openSeam } from '../../conversation/continuation.ts';
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { toSessionId, toTurnName } from '../../names.ts';
import { parseObject } from '../../session/parse-object.ts';
import { checkRequest } from '../../conversation/check-request.ts';
import { addUsage, type Usage } from '../line/receive-answer.ts';
import { beginTool } from '../../conversation/write-tool.ts';

export interface Talk {
  readonly model: Model;
  /** All of a request but what is said, and what its failure advises. */
  readonly request: Omit<ModelRequest, 'messages' | 'again'>;
  readonly messages: ModelMessage[];
  /** Of all requests together; null: none has told. */
  usage: Usage | null;
}

export interface Answer {
  /** As it was received, with its continuations. */
  text: string;
  calls: ModelToolCall[];
  finish: Extract<ModelEvent, { type: 'finish' }>['reason'];
}

/** What becomes of an answer that does not come whole. */
export interface AnswerWish {
  /** Whether one that its limit has cut is to be gone on with. */
  isWanted(): boolean;
  /** What a person does when the request fails. */
  again: string;
}

/** An answer that was begun by another process: its text, and the same as the model may see it. */
export interface EarlierText {
  text: string;
  shown: string;
}

// A file of a megabyte takes some thirty of the longest answers that models give.
const maxContinuations = 64;

export function openTalk(
  project: Project,
  { model, parameters, signal }: { model: Model; parameters: ModelRequest['parameters']; signal: AbortSignal },
  messages: ModelMessage[],
): Talk {
  const request = {
    tools: [beginTool],
    parameters,
    // Recorded answers are of a turn, and these of none.
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
 * The next answer, in pieces; it fills `answer`, and the talk has it when it is whole. With `earlier`, that is gone on with,
 * and only the rest is given. Throws what the model throws.
 */
export async function* hearAnswer(
  talk: Talk,
  answer: Answer,
  wish: AnswerWish,
  earlier: EarlierText = nothingEarlier,
): AsyncGenerator<string> {
  answer.text = earlier.text;
  if (earlier.text === '') yield* hear(talk, talk.messages, answer, wish);
  else answer.finish = 'length';
  const toShown = () => earlier.shown + answer.text.slice(earlier.text.length);
  for (let count = 0; count < maxContinuations && isCut(answer, wish); count += 1) {
    const { length } = answer.text;
    yield* hearContinuation(talk, answer, wish, toShown());
    if (answer.text.length === length) break;
  }
  keepAnswer(talk, toShown(), answer.calls);
}

const nothingEarlier: EarlierText = { text: '', shown: '' };

/** Servers refuse a message that says nothing. */
function keepAnswer(talk: Talk, content: string, calls: ModelToolCall[]): void {
  if (calls.length > 0) talk.messages.push({ role: 'assistant', content, toolCalls: calls.map(toReadable) });
  else if (content.trim() !== '') talk.messages.push({ role: 'assistant', content });
}

/** What the model wrote badly goes back to it as a value: providers refuse arguments that are no JSON. */
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

function isCut({ text, calls, finish }: Answer, { isWanted }: AnswerWish): boolean {
  return finish === 'length' && calls.length === 0 && text.trim() !== '' && isWanted();
}

/** Without the lines with which it repeats the end of the answer. */
async function* hearContinuation(talk: Talk, answer: Answer, wish: AnswerWish, shown: string): AsyncGenerator<string> {
  const seam = openSeam(answer.text);
  const messages: ModelMessage[] = [
    ...talk.messages,
    { role: 'assistant', content: shown },
    { role: 'user', content: continueMessage },
  ];
  try {
    yield* hear(talk, messages, answer, wish, seam.next);
  } catch (error) {
    yield* give(answer, seam.end());
    throw error;
  }
  yield* give(answer, seam.end());
}

async function* hear(
  talk: Talk,
  messages: ModelMessage[],
  answer: Answer,
  { again }: AnswerWish,
  toNew = (text: string) => text,
): AsyncGenerator<string> {
  // The word of the answer before must not stand for one that ends without any.
  answer.finish = 'other';
  checkRequest(messages);
  for await (const event of talk.model.answer({ ...talk.request, messages: [...messages], again })) {
    if (event.type === 'text') {
      yield* give(answer, toNew(event.text));
    } else if (event.type === 'tool_call') {
      const id = toFreeId(talk.messages, event.id);
      answer.calls.push({ id, name: event.name, arguments: event.arguments });
    } else if (event.type === 'usage') {
      talk.usage = addUsage(talk.usage, event);
    } else {
      answer.finish = event.reason;
    }
  }
}

function* give(answer: Answer, text: string): Generator<string> {
  if (text === '') return;
  answer.text += text;
  yield text;
}

/** After an answer that said nothing it is one message with what was said before. */
export function say({ messages }: Talk, content: string): void {
  const last = messages.at(-1);
  if (last?.role === 'user') messages[messages.length - 1] = { role: 'user', content: `${last.content}\n\n${content}` };
  else messages.push({ role: 'user', content });
}

/** Each call of an answer needs a result before anything else is said. */
export function answerCall(talk: Talk, { id }: ModelToolCall, content: string): void {
  talk.messages.push({ role: 'tool', toolCallId: id, content });
}
