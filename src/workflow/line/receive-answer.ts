/** Receives an answer from a model, and asks the model to continue when its limit cut the answer. */
import { TeddyError } from '../../errors.ts';
import { maxPlanBytes } from '../../plan/parse/parse.ts';
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import { extend, toBorders } from '../../plan/match/match-sequence.ts';
import { countBytes } from '../../session/text/bytes.ts';

export interface Usage {
  input: number;
  output: number;
  /** The number of input tokens that the endpoint read from its cache; undefined when zero or unknown. */
  cached?: number;
  /** The number of output tokens that the model spent on thinking. */
  reasoning?: number;
  /** In US dollars, if the endpoint reports the cost. */
  costUsd?: number;
}

/** A point where an answer was cut and continued. */
interface Continuation {
  /** The position in the answer, in characters. */
  at: number;
  /** The number of bytes at the answer's end that the continuation repeated. */
  droppedBytes: number;
}

/** The part of an answer received so far. */
export interface Received {
  text: string;
  /** The model's thoughts, if the endpoint shows them; not part of the answer. */
  thoughts: string;
  /** The calls after the text. */
  calls: ModelToolCall[];
  /** The total for all requests. */
  usage: Usage | null;
  finish: Extract<ModelEvent, { type: 'finish' }>['reason'] | null;
  /** The endpoint's own word when `finish` is `other`. */
  said?: string | undefined;
  continuations: Continuation[];
}

/** Receives the answer as it arrives, and may stop it. */
export interface Listener {
  signal: AbortSignal;
  onText(text: string): void;
  /** Called with the current total for all requests. */
  onUsage?(usage: Usage): void;
}

/** In characters; nobody is likely to read more. */
const maxThoughts = 262_144;

export function nothingReceived(): Received {
  return { text: '', thoughts: '', calls: [], usage: null, finish: null, continuations: [] };
}

/** A plan cannot be larger. */
const maxAnswerBytes = maxPlanBytes;
const encoder = new TextEncoder();

/**
 * Fills `received`, so that the part that has arrived is available even after an error. The answer is incomplete when
 * `finish` still is `length` at the end: eight continuations were not enough, or one added nothing. Throws MODEL_FAILED
 * beyond 10 MiB, because an endpoint that never stops would fill the memory, and any error that the model throws.
 */
export async function receiveAnswer(
  model: Model,
  request: ModelRequest,
  received: Received,
  { onText, onUsage }: Pick<Listener, 'onText' | 'onUsage'>,
): Promise<void> {
  let roomBytes = maxAnswerBytes;
  for await (const text of streamAnswer(model, request, received, { maxContinuations: 8, onUsage })) {
    const bytes = encoder.encode(text).length;
    const taken = bytes <= roomBytes ? text : cutToBytes(text, roomBytes);
    roomBytes -= Math.min(bytes, roomBytes);
    if (taken !== '') onText(taken);
    if (taken.length === text.length) continue;
    received.text = received.text.slice(0, taken.length - text.length);
    const { again = '`teddy plan` without -m tries again.' } = request;
    throw new TeddyError(
      'MODEL_FAILED',
      `The answer from ${model.label} is larger than 10 MiB (10,485,760 bytes), so teddy stopped it there.`,
      `Ask for less at a time; ${again}`,
    );
  }
}

/** Cuts at the end of a character. */
function cutToBytes(text: string, bytes: number): string {
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(bytes)).read);
}

export interface ReceiveSettings {
  onUsage?: Listener['onUsage'] | undefined;
  maxContinuations: number;
  /** Returns true to continue an answer that the model's limit cut off. Defaults to always. */
  isWanted?(): boolean;
  /** Returns the received answer in the form that the model may see. */
  toShown?(text: string): string;
}

/**
 * Yields the answer in pieces, with its continuations, and fills `received` before each piece. If `received` already
 * contains a cut answer, continues that answer and yields only the rest. Throws the model's errors.
 */
export async function* streamAnswer(
  model: Model,
  request: ModelRequest,
  received: Received,
  { maxContinuations, isWanted = () => true, toShown = (text) => text, onUsage }: ReceiveSettings,
): AsyncGenerator<string> {
  if (received.text === '') yield* streamOnce(model, request, received, onUsage);
  for (let count = 0; count < maxContinuations && isCut(received) && isWanted(); count += 1) {
    const before = received.text;
    if (before.trim() === '') return;
    yield* streamContinuation(model, toContinued(request, toShown(before)), received, onUsage);
    if (received.text === before) return;
  }
}

/**
 * Returns true if the answer must be continued. Treats a cut call as unreadable, because models cannot continue within
 * a call.
 */
export function isCut({ finish, calls }: Received): boolean {
  return finish === 'length' && calls.length === 0;
}

/** Explains how an endpoint ended an answer that may be incomplete; follows "ended it". */
export function describeEnd({ said }: Pick<Received, 'said'>): string {
  return said === undefined ? 'without a reason' : `with ${JSON.stringify(said)}`;
}

/** Explains why an answer is empty; follows "an empty answer". */
export function whyEmpty({ finish, said }: Pick<Received, 'finish' | 'said'>): string {
  if (finish === 'other') return `, and ended it ${describeEnd({ said })}`;
  return finish === 'length' ? ': it reached its limit before it said anything' : '';
}

/** Yields a continuation without the lines that repeat the end of the answer. */
async function* streamContinuation(...[model, request, received, onUsage]: Request): AsyncGenerator<string> {
  const before = received.text;
  const seam = openSeam(before);
  try {
    yield* streamOnce(model, request, received, onUsage, seam.next);
    yield* give(received, seam.end());
  } catch (error) {
    yield* give(received, seam.end());
    throw error;
  } finally {
    const droppedBytes = seam.droppedBytes();
    if (received.text !== before || droppedBytes > 0) received.continuations.push({ at: before.length, droppedBytes });
  }
}

type Request = [Model, ModelRequest, Received, Listener['onUsage']];

async function* streamOnce(
  ...[model, request, received, onUsage, toNew = (text) => text]: [...Request, toNew?: (text: string) => string]
): AsyncGenerator<string> {
  // The previous answer's reason must not remain for an answer that ends without one.
  received.finish = null;
  for await (const event of model.answer(request)) {
    if (event.type === 'text') {
      yield* give(received, toNew(event.text));
    } else if (event.type === 'thought') {
      received.thoughts = (received.thoughts + event.text).slice(0, maxThoughts);
    } else if (event.type === 'usage') {
      received.usage = addUsage(received.usage, event);
      onUsage?.(received.usage);
    } else if (event.type === 'tool_call') {
      received.calls.push({ id: event.id, name: event.name, arguments: event.arguments });
    } else {
      received.finish = event.reason;
      received.said = event.said;
    }
  }
}

function* give(received: Received, text: string): Generator<string> {
  if (text === '') return;
  received.text += text;
  yield text;
}

function toContinued(request: ModelRequest, before: string): ModelRequest {
  const goOn: ModelMessage[] = [
    { role: 'assistant', content: before },
    { role: 'user', content: continueMessage },
  ];
  return { ...request, messages: [...request.messages, ...goOn] };
}

function addUsage(sum: Usage | null, event: Extract<ModelEvent, { type: 'usage' }>): Usage {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens, costUsd } = event;
  const more = {
    input: inputTokens,
    output: outputTokens,
    ...(cachedTokens === undefined ? {} : { cached: cachedTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoning: reasoningTokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
  };
  return sum === null ? more : joinUsage(sum, more);
}

/** Returns the sum; null when both are unknown. */
export function sumUsage(one: Usage | null, other: Usage | null): Usage | null {
  return one === null || other === null ? (one ?? other) : joinUsage(one, other);
}

function joinUsage(one: Usage, other: Usage): Usage {
  const sums = (['cached', 'reasoning', 'costUsd'] as const).flatMap((name) => {
    const known = [one[name], other[name]].filter((value) => value !== undefined);
    return known.length === 0 ? [] : [[name, known.reduce((sum, value) => sum + value, 0)]];
  });
  return { input: one.input + other.input, output: one.output + other.output, ...Object.fromEntries(sums) };
}

/** The model reads this after its own partial answer. */
export const continueMessage =
  'Your answer was cut off. Continue exactly where it stops, in the middle of a line if need be. ' +
  'Do not repeat anything, do not comment, and do not open a new code fence.';

const minRepeatBytes = 40;

interface Seam {
  /** Takes the continuation's next piece, and returns the part to add now. */
  next(piece: string): string;
  /** Ends the continuation, and returns the text held back. */
  end(): string;
  /**
   * Returns the number of bytes at the beginning of the continuation that were dropped because they repeat the answer's
   * end.
   */
  droppedBytes(): number;
}

/**
 * Takes a continuation in pieces, and drops the lines that repeat the end of `before`: exactly, from the beginning of a
 * line, and at least 40 bytes. Holds pieces back only while they may still be such a repetition; it does not matter
 * where they are cut.
 */
export function openSeam(before: string): Seam {
  const lines = `\n${before}`;
  let held: string | null = '';
  // Before the answer's first line that begins like the held text; a longer beginning never occurs further up.
  let place = 0;
  let droppedBytes = 0;
  function decide(text: string): string {
    const length = repeatedLength(before, text);
    droppedBytes = countBytes(text.slice(0, length));
    held = null;
    return text.slice(length);
  }
  return {
    next(piece) {
      if (held === null) return piece;
      const goesOn = lines.startsWith(piece, place + 1 + held.length);
      held += piece;
      // Searches only here, because a model that begins its whole answer again arrives in very many pieces.
      if (!goesOn) place = lines.indexOf(`\n${held}`, place + 1);
      return place === -1 ? decide(held) : '';
    },
    end: () => (held === null ? '' : decide(held)),
    droppedBytes: () => droppedBytes,
  };
}

/**
 * Returns the length of the longest end of `before` with which `continuation` begins; 0 when too short to count as a
 * repetition.
 */
function repeatedLength(before: string, continuation: string): number {
  const end = before.slice(Math.max(0, before.length - continuation.length));
  // An answer may repeat the same line a million times.
  const borders = toBorders(continuation);
  let length = 0;
  for (let at = 0; at < end.length; at += 1) length = extend(continuation, borders, length, end[at]!);
  for (; length > 0; length = borders[length]!) {
    const start = before.length - length;
    const isWhole = start === 0 || before[start - 1] === '\n';
    if (isWhole) return countBytes(continuation.slice(0, length)) >= minRepeatBytes ? length : 0;
  }
  return 0;
}
