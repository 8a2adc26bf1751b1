import { describe, expect, test } from 'vitest';
import { checkHistory } from '../support/check-history.ts';
import type { HistoryFormat } from '../../src/conversation/history/history.ts';

/** A change to something valid, and the only fault that it then has. */
type Bad = [rule: string, messages: unknown, fault: string];

function expectOnly(format: HistoryFormat, messages: unknown, fault: string): void {
  expect(checkHistory(format, messages)).toEqual([fault]);
}

describe('the openai check', () => {
  const call = (id: unknown, fields: object = {}) => ({
    id,
    type: 'function',
    function: { name: 'read_file', arguments: '{}', ...fields },
  });
  const system = { role: 'system', content: 'You help.' };
  const user = { role: 'user', content: 'hi' };
  const answer = { role: 'assistant', content: 'Hello.' };
  const calls = (...made: unknown[]) => ({ role: 'assistant', content: null, tool_calls: made });
  const result = (id: unknown, content: unknown = 'x') => ({ role: 'tool', tool_call_id: id, content });

  test.each([
    ['nothing', []],
    ['a message', [user]],
    ['a message after a system message', [system, user]],
    ['an answer at the end', [user, answer]],
    ['calls with results in any order', [user, calls(call('a'), call('b')), result('b'), result('a'), answer, user]],
    [
      'steps without text, and a message after results',
      [user, calls(call('a')), result('a'), calls(call('b')), result('b'), user],
    ],
    ['text beside calls', [user, { ...calls(call('a')), content: 'I look.' }, result('a')]],
  ])('accepts %s', (_what, messages) => {
    expect(checkHistory('openai', messages)).toEqual([]);
  });

  const withCall = (made: unknown) => [user, calls(made), result('a')];
  test.each<Bad>([
    ['no array', {}, 'The messages are not an array.'],
    ['no object', [user, 'x'], 'Message 1: it is not an object.'],
    [
      'an unknown role',
      [user, { role: 'model', content: 'x' }],
      'Message 1: its role is not system, user, assistant or tool.',
    ],
    ['a late system message', [user, system], 'Message 1: the system speaks after the first message.'],
    ['an empty system message', [{ role: 'system', content: '' }, user], 'Message 0: its content is empty.'],
    ['two users', [user, user], 'Message 1: two messages of the user follow each other.'],
    ['two answers', [user, answer, answer], 'Message 2: two messages of the assistant follow each other.'],
    [
      'calls after an answer',
      [user, answer, calls(call('a')), result('a')],
      'Message 2: two messages of the assistant follow each other.',
    ],
    ['an assistant message first', [answer], 'Message 0: the assistant speaks first.'],
    ['an assistant message first after the system message', [system, answer], 'Message 1: the assistant speaks first.'],
    ['an empty message', [{ role: 'user', content: ' \n\u001f' }], 'Message 0: its content is empty.'],
    ['content that is not a text', [{ role: 'user', content: null }], 'Message 0: its content is not a text.'],
    [
      'half a surrogate pair',
      [{ role: 'user', content: 'a\ud800b' }],
      'Message 0: its content holds half a surrogate pair.',
    ],
    [
      'half a surrogate pair at the end',
      [{ role: 'user', content: 'a\udc00' }],
      'Message 0: its content holds half a surrogate pair.',
    ],
    ['tool_calls by the user', [{ ...user, tool_calls: [] }], 'Message 0: the user has tool_calls.'],
    ['a tool_call_id by the user', [{ ...user, tool_call_id: 'a' }], 'Message 0: the user has a tool_call_id.'],
    [
      'a tool_call_id by the assistant',
      [user, { ...answer, tool_call_id: 'a' }],
      'Message 1: the assistant has a tool_call_id.',
    ],
    [
      'null without calls',
      [user, { role: 'assistant', content: null }],
      'Message 1: its content is null and it has no tool_calls.',
    ],
    ['an empty answer', [user, { role: 'assistant', content: '' }], 'Message 1: its content is empty.'],
    [
      'an empty text beside calls',
      [user, { ...calls(call('a')), content: '' }, result('a')],
      'Message 1: its content is empty.',
    ],
    ['no calls in tool_calls', [user, calls()], 'Message 1: its tool_calls are not an array of calls.'],
    ['a call that is not an object', [user, calls(7)], 'Message 1: a call is not an object.'],
    [
      'a call without an id',
      [user, calls(call(''))],
      'Message 1: the id of a call is not a text of 1 to 40 characters.',
    ],
    [
      'a call with a long id',
      [user, calls(call('a'.repeat(41)))],
      'Message 1: the id of a call is not a text of 1 to 40 characters.',
    ],
    [
      'a call with half a surrogate pair in its id',
      [user, calls(call('\ud800')), result('\ud800')],
      'Message 1: the id of a call holds half a surrogate pair.',
    ],
    ['a repeated id', [...withCall(call('a')), ...withCall(call('a'))], 'Message 4: two calls have the id a.'],
    [
      'another type of call',
      withCall({ ...call('a'), type: 'tool' }),
      'Message 1: the type of a call is not function.',
    ],
    ['a call without a function', withCall({ id: 'a', type: 'function' }), 'Message 1: a call has no function.'],
    [
      'a name with a dot',
      withCall(call('a', { name: 'a.b' })),
      'Message 1: the name of a function is not of 1 to 64 letters, digits, _ and -.',
    ],
    [
      'a long name',
      withCall(call('a', { name: 'a'.repeat(65) })),
      'Message 1: the name of a function is not of 1 to 64 letters, digits, _ and -.',
    ],
    [
      'arguments as an object',
      withCall(call('a', { arguments: {} })),
      'Message 1: the arguments of a call are not a text.',
    ],
    [
      'truncated arguments',
      withCall(call('a', { arguments: '{"a":' })),
      'Message 1: the arguments of a call are not the JSON of an object.',
    ],
    [
      'arguments that are an array',
      withCall(call('a', { arguments: '[]' })),
      'Message 1: the arguments of a call are not the JSON of an object.',
    ],
    [
      'half a surrogate pair in arguments',
      withCall(call('a', { arguments: '{"a":"\\\\\\ud800"}' })),
      'Message 1: the arguments of a call hold half a surrogate pair.',
    ],
    ['a call without a result at the end', [user, calls(call('a'))], 'The end: the call a has no result.'],
    [
      'a call without a result before a message',
      [user, calls(call('a')), user],
      'Message 2: the call a has no result before it.',
    ],
    [
      'one of two results missing',
      [user, calls(call('a'), call('b')), result('a'), answer],
      'Message 3: the call b has no result before it.',
    ],
    [
      'a result without a call',
      [user, result('a')],
      'Message 1: it answers no call of the answer before it that still waits.',
    ],
    [
      'a second result',
      [...withCall(call('a')), result('a')],
      'Message 3: it answers no call of the answer before it that still waits.',
    ],
    ['an empty result', [user, calls(call('a')), result('a', '')], 'Message 2: its content is empty.'],
    ['a result that is not a text', [user, calls(call('a')), result('a', [])], 'Message 2: its content is not a text.'],
  ])('refuses %s', (_rule, messages, fault) => expectOnly('openai', messages, fault));

  test('accepts an escaped backslash before ud800', () => {
    expect(checkHistory('openai', withCall(call('a', { arguments: '{"a":"\\\\ud800"}' })))).toEqual([]);
  });
});

describe('the anthropic check', () => {
  const text = (words: unknown) => ({ type: 'text', text: words });
  const use = (id: unknown, fields: object = {}) => ({ type: 'tool_use', id, name: 'read_file', input: {}, ...fields });
  const result = (id: unknown, fields: object = {}) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: 'x',
    ...fields,
  });
  const user = (...content: unknown[]) => ({ role: 'user', content });
  const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
  const hi = user(text('hi'));

  test.each([
    ['nothing', []],
    ['a message', [hi]],
    [
      'content as a text',
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Hello.' },
      ],
    ],
    [
      'calls with results in any order, and text after them',
      [hi, assistant(text('I'), use('a'), use('b')), user(result('b'), result('a'), text('and?'))],
    ],
    ['a picture', [user(text('see'), { type: 'image', source: {} })]],
    ['an error', [hi, assistant(use('a')), user(result('a', { is_error: true }))]],
    ['a result of blocks', [hi, assistant(use('a')), user(result('a', { content: [text('x')] }))]],
  ])('accepts %s', (_what, messages) => {
    expect(checkHistory('anthropic', messages)).toEqual([]);
  });

  test.each<Bad>([
    ['no array', 'x', 'The messages are not an array.'],
    ['no object', [7], 'Message 0: it is not an object.'],
    ['the system', [{ role: 'system', content: 'x' }], 'Message 0: its role is not user or assistant.'],
    ['an assistant message first', [assistant(text('x'))], 'Message 0: the assistant speaks first.'],
    ['two users', [hi, hi], 'Message 1: two messages of the user follow each other.'],
    [
      'two answers',
      [hi, assistant(text('x')), assistant(text('y'))],
      'Message 2: two messages of the assistant follow each other.',
    ],
    ['no content', [{ role: 'user' }], 'Message 0: its content is not a text, and not an array of blocks.'],
    ['no blocks', [hi, assistant(), hi], 'Message 1: its content is not a text, and not an array of blocks.'],
    ['a block that is not an object', [user('hi')], 'Message 0: a block is not an object.'],
    ['an empty block', [user(text(' \n'))], 'Message 0: a block of text is empty.'],
    ['an empty text', [{ role: 'user', content: '' }], 'Message 0: a block of text is empty.'],
    ['half a surrogate pair', [user(text('\udc00'))], 'Message 0: a block of text holds half a surrogate pair.'],
    ['a call by the user', [user(use('a'))], 'Message 0: a block of the user has the type tool_use.'],
    [
      'a result by the assistant',
      [hi, assistant(result('a'))],
      'Message 1: a block of the assistant has the type tool_result.',
    ],
    [
      'a picture by the assistant',
      [hi, assistant({ type: 'image', source: {} })],
      'Message 1: a block of the assistant has the type image.',
    ],
    ['a picture without its source', [user({ type: 'image' })], 'Message 0: an image has no source.'],
    [
      'an id with a dot',
      [hi, assistant(use('a.b'))],
      'Message 1: the id of a tool_use is not of letters, digits, _ and -.',
    ],
    [
      'a repeated id',
      [hi, assistant(use('a')), user(result('a')), assistant(use('a')), user(result('a'))],
      'Message 3: two blocks of tool_use have the id a.',
    ],
    [
      'a name with a dot',
      [hi, assistant(use('a', { name: 'a.b' })), user(result('a'))],
      'Message 1: the name of a tool_use is not of 1 to 64 letters, digits, _ and -.',
    ],
    [
      'an input that is a text',
      [hi, assistant(use('a', { input: '{}' })), user(result('a'))],
      'Message 1: the input of a tool_use is not an object.',
    ],
    [
      'half a surrogate pair in an input',
      [hi, assistant(use('a', { input: { '\ud800': 1 } })), user(result('a'))],
      'Message 1: the input of a tool_use holds half a surrogate pair.',
    ],
    ['a call without a result at the end', [hi, assistant(use('a'))], 'The end: the call a has no result.'],
    [
      'a call without a result in the next message',
      [hi, assistant(use('a'), use('b')), user(result('a'), text('x'))],
      'Message 2: the call b of the message before has no result in it.',
    ],
    [
      'a result after a text',
      [hi, assistant(use('a')), user(text('x'), result('a'))],
      'Message 2: a tool_result stands behind another block.',
    ],
    [
      'a result without a call',
      [user(result('a'))],
      'Message 0: a tool_result answers no tool_use of the message before that still waits.',
    ],
    [
      'a second result',
      [hi, assistant(use('a')), user(result('a'), result('a'))],
      'Message 2: a tool_result answers no tool_use of the message before that still waits.',
    ],
    [
      'a late result',
      [hi, assistant(use('a')), user(result('a')), assistant(text('x')), user(result('a'))],
      'Message 4: a tool_result answers no tool_use of the message before that still waits.',
    ],
    [
      'an is_error that is a text',
      [hi, assistant(use('a')), user(result('a', { is_error: 'no' }))],
      'Message 2: the is_error of a tool_result is not true or false.',
    ],
    [
      'an empty result',
      [hi, assistant(use('a')), user(result('a', { content: '' }))],
      'Message 2: the content of a tool_result is empty.',
    ],
    [
      'a result without blocks',
      [hi, assistant(use('a')), user(result('a', { content: [] }))],
      'Message 2: the content of a tool_result is empty.',
    ],
    [
      "half a surrogate pair in a result's blocks",
      [hi, assistant(use('a')), user(result('a', { content: [text('\ud800')] }))],
      'Message 2: the content of a tool_result holds half a surrogate pair.',
    ],
    ['white space at the end', [hi, assistant(text('x '))], 'Message 1: the answer at the end ends in white space.'],
    [
      'white space at the end of a text',
      [hi, { role: 'assistant', content: 'x\n' }],
      'Message 1: the answer at the end ends in white space.',
    ],
  ])('refuses %s', (_rule, messages, fault) => expectOnly('anthropic', messages, fault));
});

describe('the jsonl check', () => {
  const base = { timestamp: '' };
  const user = { type: 'user', id: 'u', ...base, message: { role: 'user', content: 'hi' }, source: 'text' };
  const answer = {
    type: 'assistant',
    id: 'a',
    ...base,
    message: { role: 'assistant', content: 'Hello.' },
    source: 'text',
  };
  const call = { type: 'tool_use', id: 'k', ...base, tool_call_id: 'c', tool_name: 'read_file', tool_input: {} };
  const result = { type: 'tool_result', id: 'r', ...base, tool_call_id: 'c', output: null, is_error: false };
  const note = { type: 'note', id: 'n', ...base, text: 'x' };
  const lines = (...records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

  test('accepts an empty file, and every kind of record in its place', () => {
    expect(checkHistory('jsonl', '')).toEqual([]);
    expect(
      checkHistory(
        'jsonl',
        lines(user, { ...answer, type: 'assistant_partial' }, call, note, result, { ...answer, id: 'b' }),
      ),
    ).toEqual([]);
  });

  test.each<Bad>([
    ['no text', [], 'The records are not a text.'],
    ['a line that is not JSON', `${lines(user)}{\n`, 'Line 2: it is not the JSON of an object.'],
    ['an array', lines([]), 'Line 1: it is not the JSON of an object.'],
    ['a line without its end', JSON.stringify(user), 'The end: the last line is not complete.'],
    ['a record without an id', lines({ ...user, id: '' }), 'Line 1: it has no id.'],
    ['a repeated id', lines(user, { ...answer, id: 'u' }), 'Line 2: another record has the id u.'],
    ['a record without its time', lines({ ...user, timestamp: 7 }), 'Line 1: it has no timestamp.'],
    ['an unknown type', lines({ ...user, type: 'telemetry' }), 'Line 1: records of type telemetry are not known.'],
    ['no message', lines({ ...user, message: 'hi' }), 'Line 1: it has no message.'],
    ['another role', lines({ ...user, message: answer.message }), 'Line 1: the role of its message is not user.'],
    [
      'no content',
      lines({ ...answer, message: { role: 'assistant', file: 'plan.md' } }),
      'Line 1: its content is no text, or empty.',
    ],
    [
      'empty content',
      lines({ ...user, message: { role: 'user', content: ' ' } }),
      'Line 1: its content is no text, or empty.',
    ],
    ['no source', lines({ ...user, source: undefined }), 'Line 1: it has no source.'],
    ['a call without its id', lines(user, { ...call, tool_call_id: 7 }), 'Line 2: it has no tool_call_id.'],
    [
      'a call with a repeated id',
      lines(call, result, { ...call, id: 'k2' }, { ...result, id: 'r2' }),
      'Line 3: another call has the id c.',
    ],
    ['a call without a name', lines({ ...call, tool_name: null }, result), 'Line 1: it has no tool_name.'],
    [
      'an input that is a text',
      lines({ ...call, tool_input: '{}' }, result),
      'Line 1: its tool_input is not an object.',
    ],
    [
      'a call between results',
      lines(
        call,
        { ...call, id: 'k2', tool_call_id: 'd' },
        result,
        { ...call, id: 'k3', tool_call_id: 'e' },
        { ...result, id: 'r2', tool_call_id: 'd' },
        { ...result, id: 'r3', tool_call_id: 'e' },
      ),
      'Line 4: it stands between calls and their results.',
    ],
    ['a call without a result', lines(user, call), 'The end: the call c has no result.'],
    ['a call without a result before a message', lines(call, user), 'Line 2: the call c has no result before it.'],
    ['a result without a call', lines(user, result), 'Line 2: it answers no call before it that still waits.'],
    [
      'a second result',
      lines(call, result, { ...result, id: 'r2' }),
      'Line 3: it answers no call before it that still waits.',
    ],
    [
      'a missing is_error',
      lines(call, { ...result, is_error: undefined }),
      'Line 2: its is_error is not true or false.',
    ],
  ])('refuses %s', (_rule, text, fault) => expectOnly('jsonl', text, fault));
});

describe('the markdown check', () => {
  const user = '## User, 2026-01-24 10:00:00 UTC\n\n> hi\n';
  const answer = '## Assistant\n\n> Hello.\n>\n> There.\n';
  const call = '### Call of read_file\n\n```json\n{}\n```\n';
  const result = '### Error (denied)\n\n````text\n```\n## User\n````\n';

  test('accepts an empty text, and everything in its place', () => {
    expect(checkHistory('markdown', '')).toEqual([]);
    expect(checkHistory('markdown', [user, answer, call, result, '> Done.\n', user].join('\n'))).toEqual([]);
  });

  test.each<Bad>([
    ['no text', null, 'The conversation is not a text.'],
    ['a text outside quotes', `${user}hello\n`, 'Line 4: it is no heading, no quote, and in no fence.'],
    [
      'a line that ends with only a carriage return',
      `${user}> a\r# b\n`,
      'Line 5: it is no heading, no quote, and in no fence.',
    ],
    ['another heading', `${user}## Nobody\n`, 'Line 4: it is no heading, no quote, and in no fence.'],
    ['a line without its end', `${user}> x`, 'The end: the last line is not complete.'],
    ['two consecutive parts by one speaker', user + user, 'Line 4: two parts of the user follow each other.'],
    [
      'a heading with nothing below it',
      `${user}## Assistant\n\n## User\n> x\n`,
      'Line 6: nothing stands below the heading before it.',
    ],
    ['a heading at the end', `${user}## Assistant\n`, 'The end: nothing stands below the last heading.'],
    ['a quote without a speaker', '> hi\n', 'Line 1: nobody says it.'],
    ['a call by the user', `${user}### Call of x\n### Result\n`, 'Line 4: a call that is not of the assistant.'],
    ['a fence by the user', `${user}\`\`\`text\n\`\`\`\n`, 'Line 4: a fence stands below no answer.'],
    ['an unclosed fence', `${answer}${call}${result.slice(0, -5)}`, 'The end: a fence is open.'],
    ['a call without a result', answer + call, 'The end: a call has no result.'],
    ['a call before a result', answer + call + call + result, 'Line 11: a call before it has no result.'],
    ['a call before a speaker', answer + call + user, 'Line 11: a call before it has no result.'],
    ['a quote before a result', `${answer}${call}> x\n${result}`, 'Line 11: it stands between a call and its result.'],
    ['a result without a call', answer + result, 'Line 6: a result without a call.'],
  ])('refuses %s', (_rule, text, fault) => expectOnly('markdown', text, fault));
});
