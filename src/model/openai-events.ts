/** Turns the chunks of a chat completion into the port's events. Tolerates anything that servers omit. */
import type { OpenAI } from 'openai';
import type { ModelEvent, ModelToolCall } from '../ports/model.ts';
import { field, isObject } from '../session/text/parse-object.ts';
import { CutStream, errorWords, WireError } from './failure.ts';
import { piecesOf, type TextPiece, finishEvent, worseFinish, type Finish } from './finish.ts';
import { wholeCharacters } from './wire.ts';

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk;

/**
 * Yields text as it arrives, then the calls (if the request offered tools), usage (if the server reported any) and
 * `finish`, once each. Throws `CutStream` when the chunks end with neither a finish reason nor `[DONE]`. Once a finish
 * reason has arrived, the answer is complete and later errors do not count.
 */
export async function* toModelEvents(
  chunks: AsyncIterable<Chunk>,
  { sawDone, hasTools, onUnknown }: { sawDone(): boolean; hasTools: boolean; onUnknown(type: string): void },
): AsyncGenerator<ModelEvent> {
  const gathered = gatherToolCalls();
  let finish: Finish | null = null;
  let usage: ModelEvent | null = null;
  const characters = wholeCharacters();
  try {
    for await (const chunk of chunks) {
      refuseError(chunk);
      for (const piece of piecesIn(chunk, onUnknown)) {
        const text = piece.type === 'text' ? characters.add(piece.text) : piece.text;
        if (text !== '') yield { ...piece, text };
      }
      if (hasTools) gathered.add(field(deltaOf(chunk), 'tool_calls'));
      usage = usageOf(chunk) ?? usage;
      finish = worseFinish(finish, choiceOf(chunk)?.finish_reason);
    }
  } catch (error) {
    if (finish === null) throw error;
  }
  if (finish === null && !sawDone()) throw new CutStream('the connection was closed before the answer was complete');
  const rest = characters.rest();
  if (rest !== '') yield { type: 'text', text: rest };
  const calls = gathered.whole();
  for (const call of calls) yield { type: 'tool_call', ...call };
  if (usage !== null) yield usage;
  yield finishEvent(finish, calls.length);
}

/** Throws an error that a server reports in the middle of a stream; some servers give it the form of an error body. */
function refuseError(chunk: unknown): void {
  if (!isObject(chunk) || 'choices' in chunk || !['errors', 'detail', 'message', 'msg'].some((name) => name in chunk))
    return;
  throw new WireError({ kind: 'unreadable', message: errorWords(JSON.stringify(chunk)) });
}

// Returns the first choice as partial, because servers break the types' promises: any field may be missing or null.
function choiceOf(chunk: Chunk | null): Partial<OpenAI.Chat.Completions.ChatCompletionChunk.Choice> | undefined {
  return (chunk as Partial<Chunk> | null)?.choices?.[0];
}

/** Returns the new piece. An answer that arrived in one piece has a message instead of a delta. */
function deltaOf(chunk: Chunk): unknown {
  const choice = choiceOf(chunk);
  return choice?.delta ?? field(choice, 'message');
}

function piecesIn(chunk: Chunk, onUnknown: (type: string) => void): TextPiece[] {
  const delta = deltaOf(chunk);
  return [...piecesOf(field(delta, 'content'), onUnknown), ...piecesOf(field(delta, 'refusal'), onUnknown)];
}

function usageOf(chunk: Chunk | null): ModelEvent | null {
  const usage: Partial<OpenAI.CompletionUsage> | null | undefined = chunk?.usage;
  if (!usage) return null;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    type: 'usage',
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    ...(cached > 0 ? { cachedTokens: cached } : {}),
    ...(reasoning > 0 ? { reasoningTokens: reasoning } : {}),
    ...costOf(usage),
  };
}

/** Returns the cost, which OpenRouter and similar services report although OpenAI's API does not include it. */
function costOf(usage: object): { costUsd?: number } {
  const cost: unknown = 'cost' in usage ? usage.cost : undefined;
  return typeof cost === 'number' && Number.isFinite(cost) ? { costUsd: cost } : {};
}

/** Assembles an answer's calls from their pieces. Tolerates anything that servers omit. */
interface GatheredCalls {
  /** Takes a chunk's `delta.tool_calls`. */
  add(pieces: unknown): void;
  /** Returns the calls that have a name, in the order in which they began. */
  whole(): ModelToolCall[];
}

interface Piece {
  index: number | null;
  id: string;
  name: string;
  text: string;
}

/** A call in progress; its ID is empty until one arrives. */
type Part = Piece;

function gatherToolCalls(): GatheredCalls {
  const parts: Part[] = [];
  function add(piece: Piece): void {
    const part = findPart(parts, piece);
    if (part === undefined) {
      parts.push({ ...piece });
      return;
    }
    part.id ||= piece.id;
    // The name arrives in one piece, and some servers repeat it in each.
    part.name ||= piece.name;
    part.text += piece.text;
  }
  return {
    add: (pieces) => (Array.isArray(pieces) ? pieces.map(toPiece).forEach(add) : undefined),
    whole: () => toCalls(parts.filter(({ name }) => name !== '')),
  };
}

/**
 * Returns undefined when a new call begins. An ID is more reliable than an index, which some servers omit or repeat for
 * all calls.
 */
function findPart(parts: Part[], { index, id, name }: Piece): Part | undefined {
  if (index === null) {
    if (id !== '') return parts.find((part) => part.id === id);
    return name === '' ? parts.at(-1) : undefined;
  }
  return parts.findLast((part) => part.index === index && (id === '' || part.id === '' || part.id === id));
}

function toPiece(value: unknown): Piece {
  const called = field(value, 'function');
  const index = field(value, 'index');
  return {
    index: typeof index === 'number' ? index : null,
    id: toText(field(value, 'id')),
    name: toText(field(called, 'name')),
    text: toArguments(field(called, 'arguments')),
  };
}

/** Some servers send the object itself instead of its text. */
function toArguments(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : toText(value);
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Assigns each call its own ID, because a result names its call by the ID. */
function toCalls(parts: Part[]): ModelToolCall[] {
  const ids = new Set<string>();
  return parts.map(({ id, name, text }, at) => {
    const own = id === '' || ids.has(id) ? toFreeId(at + 1, ids) : id;
    ids.add(own);
    return { id: own, name, arguments: text };
  });
}

function toFreeId(number: number, taken: Set<string>): string {
  const id = `call_${number}`;
  return taken.has(id) ? toFreeId(number + 1, taken) : id;
}
