/** The check before a request, against the rules of providers as the tests define them. */
import { expect, test } from 'vitest';
import { checkRequest } from '../../src/conversation/history/check-request.ts';
import { toAnthropicMessages } from '../../src/conversation/history/model-messages.ts';
import type { ModelMessage, ModelToolCall } from '../../src/ports/model.ts';
import { checkHistory } from '../support/check-history.ts';
import { toOpenaiMessages } from '../support/openai-messages.ts';

const system: ModelMessage = { role: 'system', content: 'Plan.' };
const user: ModelMessage = { role: 'user', content: 'Do.' };
const says: ModelMessage = { role: 'assistant', content: 'Yes.' };
const call = (more: Partial<ModelToolCall> = {}): ModelToolCall => ({
  id: 'a',
  name: 'look',
  arguments: '{}',
  ...more,
});
const calls = (...toolCalls: ModelToolCall[]): ModelMessage => ({ role: 'assistant', content: '', toolCalls });
const result = (toolCallId = 'a', content = 'A'): ModelMessage => ({ role: 'tool', toolCallId, content });

test.each([
  [[system, user]],
  [[user, says, user]],
  [[system, user, calls(call()), result(), says]],
  [[user, calls(call(), call({ id: 'b' })), result('b'), result(), user]],
])('%# passes, here and there', (messages) => {
  expect(() => checkRequest(messages)).not.toThrow();
  expect(checkHistory('openai', toOpenaiMessages(messages))).toEqual([]);
  expect(checkHistory('anthropic', toAnthropicMessages(messages).messages)).toEqual([]);
});

test.each<[string, ModelMessage[]]>([
  ['a late system message', [user, system]],
  ['two consecutive user messages', [user, user]],
  ['an assistant message first', [system, says]],
  ['two consecutive assistant messages', [user, says, says]],
  ['no words', [{ role: 'user', content: ' \n' }]],
  ['half a character', [{ role: 'user', content: 'a\ud83d' }]],
  ['a call without a result', [user, calls(call())]],
  ['a call without its result before the next message', [user, calls(call()), user]],
  ['a result without a call', [user, result()]],
  ['a second result', [user, calls(call()), result(), result()]],
  ['an empty result', [user, calls(call()), result('a', '')]],
  ['a repeated id', [user, calls(call(), call()), result()]],
  ['no id', [user, calls(call({ id: '' })), result('')]],
  ['a name with a space', [user, calls(call({ name: 'look up' })), result()]],
  ['arguments that are not an object', [user, calls(call({ arguments: '[1]' })), result()]],
  ['empty arguments', [user, calls(call({ arguments: '' })), result()]],
  ['half a character in a call', [user, calls(call({ arguments: '{"a":"\\ud83d"}' })), result()]],
])("%s is refused, as by OpenAI's rules", (_what, messages) => {
  expect(() => checkRequest(messages)).toThrow(expect.objectContaining({ code: 'HISTORY_INVALID' }));
  expect(checkHistory('openai', toOpenaiMessages(messages))).not.toEqual([]);
});
