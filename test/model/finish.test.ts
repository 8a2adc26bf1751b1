import { expect, test } from 'vitest';
import { finishEvent, toFinish } from '../../src/model/finish.ts';

const good = [
  'stop',
  'STOP',
  'end_turn',
  'stop_sequence',
  'eos',
  'eos_token',
  'tool_calls',
  'tool_use',
  'function_call',
];
const cut = ['length', 'max_tokens', 'MAX_TOKENS', 'model_length', 'model_context_window_exceeded'];
const bad: unknown[] =
  'content_filter refusal abort error SAFETY RECITATION pause_turn cancelled OTHER stopped constructor'
    .split(' ')
    .concat('insufficient_system_resource', 'MALFORMED_FUNCTION_CALL', ' ');

test.each(good)('%j is a good end', (said) => {
  expect(finishEvent(toFinish(said), 0)).toEqual({ type: 'finish', reason: 'stop' });
  expect(finishEvent(toFinish(said), 1)).toEqual({ type: 'finish', reason: 'tool_calls' });
});

test.each(cut)('%j is the model’s limit', (said) => {
  expect(finishEvent(toFinish(said), 1)).toEqual({ type: 'finish', reason: 'length' });
});

test.each([...bad, 7, false, { a: 1 }])('%j is not a good end, and is reported in the endpoint’s words', (said) => {
  const word = typeof said === 'string' ? said : JSON.stringify(said);
  for (const calls of [0, 1])
    expect(finishEvent(toFinish(said), calls)).toEqual({ type: 'finish', reason: 'other', said: word });
});

test.each([undefined, null, ''])('%j is not an end yet, but is a good end for a complete answer', (said) => {
  expect(toFinish(said)).toBeNull();
  expect(finishEvent(null, 0)).toEqual({ type: 'finish', reason: 'stop' });
});
