/** Turns the events of Anthropic's Messages API into the port's events. Tolerates anything that servers omit. */
import type { ModelEvent, ModelToolCall } from '../ports/model.ts';
import { CutStream, errorWords, WireError } from './failure.ts';
import { piecesOf, type TextPiece, finishEvent, worseFinish, type Finish } from './finish.ts';
import { wholeCharacters } from './wire.ts';
import { field, isObject } from '../session/text/parse-object.ts';

interface Progress {
  calls: Map<unknown, ModelToolCall>;
  usage: Record<string, unknown>;
  finish: Finish | null;
  isOver: boolean;
  onUnknown(type: string): void;
}

/**
 * Yields text and thoughts as they arrive, then the calls (if the request offered tools), usage and `finish`. Throws
 * `CutStream` when the events end before the answer does. Once a stop reason has arrived, the answer is complete and
 * later errors do not count.
 */
export async function* toModelEvents(
  events: AsyncIterable<unknown>,
  { hasTools, onUnknown }: { hasTools: boolean; onUnknown(type: string): void },
): AsyncGenerator<ModelEvent> {
  const progress: Progress = { calls: new Map(), usage: {}, finish: null, isOver: false, onUnknown };
  const characters = wholeCharacters();
  try {
    for await (const event of events) {
      for (const piece of take(progress, event)) {
        const text = piece.type === 'text' ? characters.add(piece.text) : piece.text;
        if (text !== '') yield { ...piece, text };
      }
      if (progress.isOver) break;
    }
  } catch (error) {
    if (progress.finish === null) throw error;
  }
  if (progress.finish === null && !progress.isOver)
    throw new CutStream('the connection was closed before the answer was complete');
  const rest = characters.rest();
  if (rest !== '') yield { type: 'text', text: rest };
  const calls = hasTools ? [...progress.calls.values()] : [];
  for (const call of calls) yield { type: 'tool_call', ...call, arguments: call.arguments || '{}' };
  yield* usageOf(progress.usage);
  yield finishEvent(progress.finish, calls.length);
}

/** Returns an event's pieces of text. */
function take(progress: Progress, event: unknown): TextPiece[] {
  const at = field(event, 'index');
  switch (field(event, 'type')) {
    case 'message':
      return takeWhole(progress, event);
    case 'message_start':
      addUsage(progress, field(field(event, 'message'), 'usage'));
      return [];
    case 'content_block_start':
      return takeBlock(progress, field(event, 'content_block'), at);
    case 'content_block_delta':
      return takeDelta(progress, field(event, 'delta'), at);
    case 'message_delta':
      addUsage(progress, field(event, 'usage'));
      progress.finish = worseFinish(progress.finish, field(field(event, 'delta'), 'stop_reason'));
      return [];
    case 'message_stop':
      progress.isOver = true;
      return [];
    case 'error':
      throw new WireError({ kind: 'unreadable', message: describeError(field(event, 'error')) });
    default:
      // A ping, the end of a block, or an event from a later version of the API.
      return [];
  }
}

/** Handles an answer that arrived in one piece. */
function takeWhole(progress: Progress, message: unknown): TextPiece[] {
  const content = field(message, 'content');
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  addUsage(progress, field(message, 'usage'));
  progress.finish = worseFinish(progress.finish, field(message, 'stop_reason'));
  progress.isOver = true;
  return blocks.flatMap((block, at) => takeBlock(progress, block, at));
}

/** Handles the start of a block, which is empty in a stream. */
function takeBlock(progress: Progress, block: unknown, at: unknown): TextPiece[] {
  if (field(block, 'type') !== 'tool_use') return piecesOf(block, progress.onUnknown);
  const [id, name, input] = [field(block, 'id'), field(block, 'name'), field(block, 'input')];
  const hasInput = isObject(input) && Object.keys(input).length > 0;
  progress.calls.set(at, {
    id: typeof id === 'string' && id !== '' ? id : `call_${progress.calls.size + 1}`,
    name: typeof name === 'string' ? name : '',
    arguments: hasInput ? JSON.stringify(input) : '',
  });
  return [];
}

function takeDelta(progress: Progress, delta: unknown, at: unknown): TextPiece[] {
  const call = progress.calls.get(at);
  const json = field(delta, 'partial_json');
  if (call !== undefined && typeof json === 'string') call.arguments += json;
  return typeof json === 'string' ? [] : piecesOf(delta, progress.onUnknown);
}

/** The last event contains totals for the whole answer; the first event has reported anything that it omits. */
function addUsage(progress: Progress, usage: unknown): void {
  if (!isObject(usage)) return;
  for (const [name, value] of Object.entries(usage)) if (value !== null) progress.usage[name] = value;
}

/** Adds up the input: Anthropic's `input_tokens` exclude tokens that the cache read or wrote. */
function* usageOf(usage: Progress['usage']): Generator<ModelEvent> {
  const count = (value: unknown) => (typeof value === 'number' && value > 0 ? value : 0);
  const read = count(usage['cache_read_input_tokens']);
  const thought = count(field(usage['output_tokens_details'], 'thinking_tokens'));
  const input = count(usage['input_tokens']) + count(usage['cache_creation_input_tokens']) + read;
  const output = count(usage['output_tokens']);
  // Some compatible servers do not count tokens and report zeros.
  if (input + output === 0) return;
  yield {
    type: 'usage',
    inputTokens: input,
    outputTokens: output,
    ...(read === 0 ? {} : { cachedTokens: read }),
    ...(thought === 0 ? {} : { reasoningTokens: thought }),
  };
}

function describeError(error: unknown): string {
  const type = field(error, 'type');
  return `${typeof type === 'string' ? `${type}: ` : ''}${errorWords(JSON.stringify(error) ?? '')}`;
}
