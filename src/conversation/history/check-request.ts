/** Checks a request before teddy sends it: a provider's message about an invalid request would not help the user. */
import { TeddyError } from '../../errors.ts';
import type { ModelMessage, ModelToolCall } from '../../ports/model.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { countLoneSurrogates } from '../records/well-formed.ts';

/** With `wrapsArguments`, wraps arguments that are not an object in one. Throws HISTORY_INVALID. */
export function checkRequest(messages: readonly ModelMessage[], { wrapsArguments = false } = {}): void {
  const ids = new Set<string>();
  const open = new Set<string>();
  let last: ModelMessage['role'] | null = null;
  for (const [at, message] of messages.entries()) {
    const { role, content } = message;
    const calls = role === 'assistant' ? (message.toolCalls ?? []) : [];
    if (role === 'tool') refuseIf(!open.delete(message.toolCallId), at, 'it does not answer any pending call');
    else refuseIf(open.size > 0, at, 'an earlier call has no result');
    if (role === 'system') refuseIf(at > 0, at, 'a system message follows the first message');
    if (role === 'user') refuseIf(last === 'user', at, 'the user speaks twice in a row');
    if (role === 'assistant') refuseIf(last !== 'user' && last !== 'tool', at, 'the assistant speaks out of turn');
    refuseIf(content.trim() === '' && calls.length === 0, at, 'it is empty');
    refuseIf(countLoneSurrogates(content) > 0, at, 'it contains half a character');
    for (const call of calls) {
      refuseIf(ids.has(call.id), at, 'two calls have the same id');
      checkCall(call, at, wrapsArguments);
      ids.add(call.id);
      open.add(call.id);
    }
    if (role !== 'system') last = role;
  }
  refuseIf(open.size > 0, messages.length, 'a call has no result');
}

function checkCall({ id, name, arguments: json }: ModelToolCall, at: number, wrapsArguments: boolean): void {
  refuseIf(id === '' || id.length > 40, at, 'the id of a call is not 1 to 40 characters long');
  refuseIf(!/^[\w-]{1,64}$/.test(name), at, 'the name of a function is not 1 to 64 letters, digits, _ and -');
  const value = parseObject(json);
  refuseIf(value === null && !wrapsArguments, at, 'the arguments of a call are not a JSON object');
  refuseIf(countLoneSurrogates([id, json, value]) > 0, at, 'a call contains half a character');
}

function refuseIf(isFault: boolean, at: number, fault: string): void {
  if (!isFault) return;
  throw new TeddyError(
    'HISTORY_INVALID',
    `The request would be invalid: in message ${at}, ${fault}.`,
    'Nothing was sent. This is a bug in teddy: please report it with the output of `teddy history --format jsonl`.',
  );
}
