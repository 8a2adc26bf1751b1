import { describe, expect, test } from 'vitest';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { toHistory } from '../../src/conversation/history/fold-history.ts';
import {
  abortedOutput,
  deniedOutput,
  missingOutput,
  recoveredOutput,
  type TranscriptRecord,
} from '../../src/conversation/records/record.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import {
  assistant,
  call,
  findFaults,
  fold,
  foldText,
  interrupted,
  kindsOf,
  meta,
  note,
  outline,
  partial,
  result,
  user,
} from '../support/conversations.ts';

const input = '{"path":"a.ts"}';

/** The messages as `outline` shows them, and the kinds of all repairs. Every case has to be valid in every format. */
function expectHistory(records: TranscriptRecord[], messages: string[], repairs: string[] = []): void {
  const history = fold(...records);
  expect(outline(history)).toEqual(messages);
  expect(kindsOf(history)).toEqual(repairs);
  expect(findFaults(history)).toEqual([]);
}

describe('messages', () => {
  test('do not exist in an empty log', () => {
    expectHistory([], []);
    expectHistory([meta, note, interrupted], []);
  });

  test("are one in a log with only the user's", () => {
    expectHistory([user('u', 'hi')], ['user: hi']);
  });

  test('by the user in a row are joined in one', () => {
    expectHistory([user('u1', 'hi'), user('u2', 'are you there?')], ['user: hi\n\nare you there?']);
  });

  test('by the assistant in a row are joined in one', () => {
    expectHistory(
      [user('u', 'hi'), assistant('a', 'Hello.'), assistant('b', 'How are you?')],
      ['user: hi', 'assistant: Hello.\n\nHow are you?'],
    );
  });

  test('include an answer that begins like the complete one before it', () => {
    expectHistory(
      [user('u', 'x'), assistant('a', 'It is'), assistant('b', 'It is so.')],
      ['user: x', 'assistant: It is\n\nIt is so.'],
    );
  });

  test('get an opening message if the log begins with the assistant, with a repair', () => {
    const opening = 'user: (The conversation begins with the assistant.)';
    expectHistory([assistant('a', 'Welcome.')], [opening, 'assistant: Welcome.'], ['opening-added']);
    expectHistory(
      [call('c1'), result('c1'), user('u', 'hi')],
      [opening, `assistant: null -> c1 ${input}`, 'tool c1: done', 'user: hi'],
      ['opening-added'],
    );
  });

  test('that are empty are left out, with a repair', () => {
    expectHistory(
      [user('u', 'hi'), assistant('a', ' \n'), user('e', ''), assistant('b', 'Hello.')],
      ['user: hi', 'assistant: Hello.'],
      ['empty-text', 'empty-text'],
    );
  });

  test('include a report after its plan as a user message, which is joined with the next one', () => {
    expectHistory(
      [
        user('u', 'do it'),
        assistant('p', '# Plan', 'plan'),
        user('r', 'status: SUCCESS', 'report'),
        user('v', 'thanks'),
      ],
      ['user: do it', 'assistant: # Plan', 'user: status: SUCCESS\n\nthanks'],
    );
  });

  test('by voice and text are one conversation, and switching cuts nothing', () => {
    expectHistory(
      [
        meta,
        user('u', 'find it', 'voice_transcription'),
        assistant('a', 'I found', 'voice_response'),
        meta,
        note,
        assistant('b', 'three.', 'voice_response'),
        meta,
        user('v', 'which ones?'),
        assistant('c', 'These.'),
        user('w', 'go on', 'voice_transcription'),
      ],
      ['user: find it', 'assistant: I found\n\nthree.', 'user: which ones?', 'assistant: These.', 'user: go on'],
    );
  });

  test('include that of a cancelled voice turn before the next one', () => {
    expectHistory(
      [user('u', 'wait', 'voice_transcription'), interrupted, meta, user('v', 'do this')],
      ['user: wait\n\ndo this'],
    );
  });
});

describe('calls and results', () => {
  test('text and calls in one answer are one message, and the text after the results is the next', () => {
    expectHistory(
      [user('u', 'read'), assistant('a', 'I look.'), call('c1'), result('c1', 'x'), assistant('b', 'It is x.')],
      ['user: read', `assistant: I look. -> c1 ${input}`, 'tool c1: x', 'assistant: It is x.'],
    );
  });

  test('calls need no text', () => {
    expectHistory(
      [user('u', 'read'), call('c1'), result('c1')],
      ['user: read', `assistant: null -> c1 ${input}`, 'tool c1: done'],
    );
  });

  test('parallel results are in the order of their calls, whatever order they came in', () => {
    expectHistory(
      [user('u', 'read'), call('a'), call('b'), call('c'), result('c', '3'), result('b', '2'), result('a', '1')],
      [
        'user: read',
        `assistant: null -> a ${input} -> b ${input} -> c ${input}`,
        'tool a: 1',
        'tool b: 2',
        'tool c: 3',
      ],
    );
  });

  test('a call after a result is the next step, without text between them', () => {
    expectHistory(
      [user('u', 'read'), call('a'), result('a', '1'), call('b'), result('b', '2')],
      ['user: read', `assistant: null -> a ${input}`, 'tool a: 1', `assistant: null -> b ${input}`, 'tool b: 2'],
    );
  });

  test("a call between two others' results is the next step, and the later result is moved into place", () => {
    expectHistory(
      [user('u', 'x'), call('a'), call('b'), result('a', '1'), call('c'), result('b', '2'), result('c', '3')],
      [
        'user: x',
        `assistant: null -> a ${input} -> b ${input}`,
        'tool a: 1',
        'tool b: 2',
        `assistant: null -> c ${input}`,
        'tool c: 3',
      ],
      ['late-result'],
    );
  });

  test('a text between calls and their results belongs to the answer with the calls', () => {
    expectHistory(
      [user('u', 'x'), assistant('t', 'One.'), call('a'), assistant('s', 'Two.'), call('b'), result('a'), result('b')],
      ['user: x', `assistant: One.\n\nTwo. -> a ${input} -> b ${input}`, 'tool a: done', 'tool b: done'],
    );
    expectHistory(
      [user('u', 'x'), call('a'), assistant('s', 'Wait.'), result('a'), assistant('t', 'Done.')],
      ['user: x', `assistant: Wait. -> a ${input}`, 'tool a: done', 'assistant: Done.'],
    );
  });

  test('a text between two calls belongs to their answer, even if neither has a result', () => {
    expectHistory(
      [user('u', 'x'), call('a'), assistant('s', 'And.'), call('b')],
      [
        'user: x',
        `assistant: And. -> a ${input} -> b ${input}`,
        `tool a: Error: ${missingOutput}`,
        `tool b: Error: ${missingOutput}`,
      ],
      ['call-without-result', 'call-without-result'],
    );
  });

  test('a text after a call that never had a result comes after it', () => {
    expectHistory(
      [user('u', 'x'), call('a'), assistant('s', 'It fails.'), user('v', 'why?')],
      [
        'user: x',
        `assistant: null -> a ${input}`,
        `tool a: Error: ${missingOutput}`,
        'assistant: It fails.',
        'user: why?',
      ],
      ['call-without-result'],
    );
  });

  test("a call without a result gets an error before the user's next message", () => {
    expectHistory(
      [user('u', 'x'), call('a'), user('v', 'and?')],
      ['user: x', `assistant: null -> a ${input}`, `tool a: Error: ${missingOutput}`, 'user: and?'],
      ['call-without-result'],
    );
  });

  test('a call without a result at the end of the log gets an error with a stable id', () => {
    const records = [user('u', 'x'), call('a')];
    expectHistory(
      records,
      ['user: x', `assistant: null -> a ${input}`, `tool a: Error: ${missingOutput}`],
      ['call-without-result'],
    );
    expect(fold(...records).turns[0]?.steps[0]?.calls[0]?.result).toMatchObject({
      id: 'a-synthetic',
      isError: true,
      isSynthetic: true,
    });
  });

  test('of three calls only the one without a result gets an error', () => {
    expectHistory(
      [user('u', 'x'), call('a'), call('b'), call('c'), result('a', '1'), result('c', '3'), assistant('t', 'Done.')],
      [
        'user: x',
        `assistant: null -> a ${input} -> b ${input} -> c ${input}`,
        'tool a: 1',
        `tool b: Error: ${missingOutput}`,
        'tool c: 3',
        'assistant: Done.',
      ],
      ['call-without-result'],
    );
  });

  test('a result without a waiting call is left out, with a repair', () => {
    expectHistory(
      [user('u', 'x'), result('q'), assistant('a', 'Hi.')],
      ['user: x', 'assistant: Hi.'],
      ['orphan-result'],
    );
  });

  test('a late result replaces the error', () => {
    expectHistory(
      [user('u', 'x'), call('a'), user('v', 'and?'), result('a', 'late'), assistant('t', 'Here.')],
      ['user: x', `assistant: null -> a ${input}`, 'tool a: late', 'user: and?', 'assistant: Here.'],
      ['late-result'],
    );
  });

  test('a late result also replaces an error that was exported and reimported', () => {
    const closed = result('a', missingOutput, { id: 'a-synthetic', isError: true });
    expectHistory(
      [user('u', 'x'), call('a'), closed, user('v', 'and?'), result('a', 'late')],
      ['user: x', `assistant: null -> a ${input}`, 'tool a: late', 'user: and?'],
      ['late-result'],
    );
  });

  test('a second result for a call is left out, with a repair', () => {
    expectHistory(
      [user('u', 'x'), call('a'), result('a', '1'), result('a', '2', { id: 'other' })],
      ['user: x', `assistant: null -> a ${input}`, 'tool a: 1'],
      ['duplicate-result'],
    );
  });

  test('calls with the same id get unique ids, and each its own result', () => {
    expectHistory(
      [
        user('u', 'x'),
        call('0', { n: 1 }, 'k1'),
        call('0', { n: 2 }, 'k2'),
        result('0', '1', { id: 'r1' }),
        result('0', '2', { id: 'r2' }),
      ],
      ['user: x', 'assistant: null -> 0 {"n":1} -> 0-2 {"n":2}', 'tool 0: 1', 'tool 0-2: 2'],
      ['duplicate-call'],
    );
    expectHistory(
      [user('u', 'x'), call('0', { n: 1 }, 'k1'), user('v', 'y'), call('0', { n: 2 }, 'k2'), result('0', '2')],
      [
        'user: x',
        'assistant: null -> 0 {"n":1}',
        `tool 0: Error: ${missingOutput}`,
        'user: y',
        'assistant: null -> 0-2 {"n":2}',
        'tool 0-2: 2',
      ],
      ['call-without-result', 'duplicate-call'],
    );
  });

  test("an id that is made for a call is never another call's", () => {
    const records = ['0', '0-2', '0'].map((id, at) => call(id, { at }, `k${at}`));
    expect(fold(user('u', 'x'), ...records).turns[0]?.steps[0]?.calls.map(({ callId }) => callId)).toEqual([
      '0',
      '0-2',
      '0-3',
    ]);
  });

  test('a call record that appears twice without an id is one call', () => {
    expectHistory(
      [user('u', 'x'), call('a', { n: 1 }, ''), call('a', { n: 1 }, ''), result('a', '1')],
      ['user: x', 'assistant: null -> a {"n":1}', 'tool a: 1'],
      ['duplicate-call'],
    );
  });

  test('ids that no provider accepts are rewritten for each, and stay different', () => {
    const long = 'x'.repeat(60);
    expectHistory(
      [
        user('u', 'x'),
        call('a.b'),
        call('a:b'),
        call(long),
        call(`${long}y`),
        result('a:b', '2'),
        result('a.b', '1'),
        result(long),
        result(`${long}y`),
      ],
      [
        'user: x',
        `assistant: null -> a_b ${input} -> a_b-2 ${input} -> ${'x'.repeat(40)} ${input} -> ${'x'.repeat(38)}-2 ${input}`,
        'tool a_b: 1',
        'tool a_b-2: 2',
        `tool ${'x'.repeat(40)}: done`,
        `tool ${'x'.repeat(38)}-2: done`,
      ],
    );
  });

  test('a call without an id or a name gets both', () => {
    const history = fold(user('u', 'x'), { ...call(''), tool_name: '' } as TranscriptRecord, result(''));
    expect(outline(history)).toEqual(['user: x', `assistant: null -> call ${input}`, 'tool call: done']);
    expect(findFaults(history)).toEqual([]);
  });

  test("a tool's error reads as one, once", () => {
    expectHistory(
      [
        user('u', 'x'),
        call('a'),
        call('b'),
        result('a', 'no such file', { isError: true }),
        result('b', 'error: broken', { isError: true }),
      ],
      [
        'user: x',
        `assistant: null -> a ${input} -> b ${input}`,
        'tool a: Error: no such file',
        'tool b: error: broken',
      ],
    );
  });

  test.each([
    ['a text', 'x', 'x'],
    [
      'blocks of text',
      [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
      'one\ntwo',
    ],
    [
      'other blocks',
      [
        { type: 'text', text: 'one' },
        { type: 'resource', uri: 'a' },
      ],
      'one\n{"type":"resource","uri":"a"}',
    ],
    ['an object', { lines: 3 }, '{"lines":3}'],
    ['an array', [1, 2], '[1,2]'],
    ['a number', 0, '0'],
    ['nothing', null, '(no output)'],
    ['an empty text', '', '(no output)'],
    ['no blocks', [], '(no output)'],
  ])('a result may be %s', (_what, output, shown) => {
    expectHistory(
      [user('u', 'x'), call('a'), result('a', output)],
      ['user: x', `assistant: null -> a ${input}`, `tool a: ${shown}`],
    );
  });

  test.each([
    ['text', '{"path":', '{"input":"{\\"path\\":"}'],
    ['a number', 7, '{"input":7}'],
    ['an array', [1], '{"input":[1]}'],
    ['nothing', null, '{}'],
  ])('an input that is %s is wrapped in an object, with a repair', (_what, given, shown) => {
    expectHistory(
      [user('u', 'x'), call('a', given), result('a')],
      ['user: x', `assistant: null -> a ${shown}`, 'tool a: done'],
      ['bad-input'],
    );
  });

  test('denied, aborted and recovered tools have error results like any other', () => {
    expectHistory(
      [
        user('u', 'x'),
        call('a'),
        call('b'),
        call('c'),
        result('a', deniedOutput, { isError: true, reason: 'denied' }),
        result('b', abortedOutput, { isError: true, reason: 'aborted' }),
        result('c', recoveredOutput, { reason: 'recovered' }),
        user('v', 'go on'),
      ],
      [
        'user: x',
        `assistant: null -> a ${input} -> b ${input} -> c ${input}`,
        `tool a: Error: ${deniedOutput}`,
        `tool b: Error: ${abortedOutput}`,
        `tool c: Error: ${recoveredOutput}`,
        'user: go on',
      ],
    );
  });

  test('tools that ran without a request are like any other', () => {
    expectHistory(
      [user('u', 'x'), call('a', { bypassed: true }), result('a')],
      ['user: x', 'assistant: null -> a {"bypassed":true}', 'tool a: done'],
    );
  });
});

describe('a repeated message or call', () => {
  test('by another agent, under other ids, appears twice', () => {
    expectHistory(
      [user('u', 'Look'), assistant('a', 'I wait.', 'capture'), note, assistant('b', 'I wait.', 'capture')],
      ['user: Look', 'assistant: I wait.\n\nI wait.'],
    );
  });

  test('with the same text after a retry is one message', () => {
    expectHistory(
      [user('u', 'hi'), user('u', 'hi'), assistant('a', 'Hi.')],
      ['user: hi', 'assistant: Hi.'],
      ['duplicate-record'],
    );
  });

  test('is one answer, with or without its id', () => {
    expectHistory(
      [user('u', 'hi'), assistant('a', 'Hi.'), assistant('a', 'Hi.'), assistant('b', 'Hi.')],
      ['user: hi', 'assistant: Hi.'],
      ['duplicate-record', 'duplicate-record'],
    );
  });

  test('by the user in separate records appears twice', () => {
    expectHistory([user('u', 'yes'), user('v', 'yes')], ['user: yes\n\nyes']);
  });

  test('with another text and the same id is kept under a new id, with a repair', () => {
    const history = fold(user('u', 'hi'), user('u', 'ho'));
    expect(outline(history)).toEqual(['user: hi\n\nho']);
    expect(history.turns[0]?.said.map(({ id }) => id)).toEqual(['u', 'u-2']);
    expect(history.repairs).toEqual([
      {
        kind: 'duplicate-record',
        turn: '01',
        text: 'Another record has the id u, and says something else: this one was renamed to u-2.',
      },
    ]);
  });

  test('without an id gets the same one each time', () => {
    const records = [user('', 'hi'), assistant('', 'Hi.'), call('a', {}, ''), result('a', 'x', { id: '' })];
    const { said, steps } = fold(...records).turns[0] ?? { said: [], steps: [] };
    expect(said[0]?.id).toBe('01-record-1');
    expect(steps[0]?.texts[0]?.id).toBe('01-record-2');
    expect(steps[0]?.calls[0]).toMatchObject({ id: '01-record-3', result: { id: '01-record-4' } });
    expect(findFaults(fold(...records))).toEqual([]);
  });
});

describe('an interrupted answer', () => {
  test('marks where it ends', () => {
    expectHistory([user('u', 'x'), partial('p', 'The first')], ['user: x', 'assistant: The first [interrupted]']);
    expectHistory([user('u', 'x'), partial('p', 'The first\n')], ['user: x', 'assistant: The first\n[interrupted]']);
  });

  test('that marks its end itself is marked once', () => {
    expectHistory([user('u', 'x'), partial('p', 'One [interrupted]')], ['user: x', 'assistant: One [interrupted]']);
  });

  test('that is replaced by a different one appears as well', () => {
    expectHistory(
      [user('u', 'x'), partial('p', 'The first'), assistant('a', 'A second.')],
      ['user: x', 'assistant: The first [interrupted]\n\nA second.'],
    );
  });

  test('that is repeated from its beginning appears once, in its final form', () => {
    expectHistory(
      [user('u', 'x'), partial('p', 'The '), partial('q', 'The first '), assistant('q', 'The first one.')],
      ['user: x', 'assistant: The first one.'],
      ['duplicate-record', 'duplicate-record', 'duplicate-record'],
    );
  });

  test('by voice is the one that came last', () => {
    expectHistory(
      [
        user('u', 'x'),
        assistant('a', 'One.'),
        assistant('b', 'Two', 'voice_response'),
        meta,
        interrupted,
        user('v', 'stop'),
      ],
      ['user: x', 'assistant: One.\n\nTwo [interrupted]', 'user: stop'],
    );
  });

  test('by voice before it exists, or while tools run, is not cut', () => {
    expectHistory([user('u', 'x'), interrupted, assistant('a', 'One.')], ['user: x', 'assistant: One.']);
    expectHistory(
      [
        user('u', 'x'),
        assistant('a', 'One.'),
        call('c'),
        interrupted,
        result('c'),
        interrupted,
        assistant('b', 'Two.'),
      ],
      ['user: x', `assistant: One. -> c ${input}`, 'tool c: done', 'assistant: Two.'],
    );
  });

  test('by voice twice is marked once', () => {
    expectHistory(
      [user('u', 'x'), partial('a', 'One'), interrupted, interrupted],
      ['user: x', 'assistant: One [interrupted]'],
    );
  });
});

describe('a damaged log', () => {
  const lines = [user('u', 'hi'), assistant('a', 'Hi.'), user('v', 'and?')].map(encodeRecord);
  const whole = ['user: hi', 'assistant: Hi.', 'user: and?'];
  const at = (index: number, line: string) => lines.toSpliced(index, 0, line).join('');

  test.each([
    ['at the start', at(0, '{"type":"us\n')],
    ['in the middle', at(1, 'HTTP/1.1 200 OK\n')],
    ['at the end', at(3, '}\n')],
    ['that is a scalar', at(1, '42\n')],
    ['that is an array', at(1, '[{"type":"user","message":{"role":"user","content":"no"}}]\n')],
    ['that is truncated', at(3, '{"type":"assistant","id":"b","mess')],
    ['of NUL characters', at(2, '\0\0\0\0\n')],
  ])('with a line %s has all the others, with a repair', (_what, text) => {
    const history = foldText(text);
    expect(outline(history)).toEqual(whole);
    expect(kindsOf(history)).toEqual(['line-skipped']);
    expect(findFaults(history)).toEqual([]);
  });

  test('names the line and the turn', () => {
    const { repairs } = foldText(at(1, 'oh\n'), '07');
    expect(repairs).toEqual([{ kind: 'line-skipped', turn: '07', line: 2, text: 'Line 2 was left out: not JSON.' }]);
  });

  test.each([
    ['objects are glued', lines.join('').replace('\n', '')],
    ['NUL characters precede a line', at(1, '\0\0\0')],
    ['NUL characters follow a line', lines.join('').replace('\n', '\0\0\n')],
    ['a line separator follows a line', lines.join('').replace('\n', '\u2028\n')],
    ['a truncated line is glued to the next one', at(2, '{"type":"assistant","id":"b","message":{"role":"assi')],
  ])('in which %s has all of it, with a repair', (_what, text) => {
    const history = foldText(text);
    expect(outline(history)).toEqual(whole);
    expect(kindsOf(history)).toEqual(['line-repaired']);
    expect(findFaults(history)).toEqual([]);
  });

  test.each([
    ['a byte order mark', `\uFEFF${lines.join('')}`],
    ['Windows line endings', lines.join('').replaceAll('\n', '\r\n')],
    ['lines of unknown types', at(1, '{"type":"thinking","text":"..."}\n')],
    ['empty lines', lines.join('\n\n')],
  ])('with %s is read as intended', (_what, text) => {
    const history = foldText(text);
    expect(outline(history)).toEqual(whole);
    expect(history.repairs).toEqual([]);
  });

  test('with half characters keeps the records, and shows a model the replacement character', () => {
    expectHistory(
      [user('u', 'a\ud800b'), call('c', { '\udc00': '\\\ud83d\\ud800' }), result('c', ['\udfff'])],
      ['user: a\uFFFDb', 'assistant: null -> c {"\uFFFD":"\\\\\uFFFD\\\\ud800"}', 'tool c: ["\uFFFD"]'],
      ['lone-surrogate', 'lone-surrogate', 'lone-surrogate'],
    );
    const { turns, repairs } = fold(user('u', 'a\ud800b\udc00'));
    expect(turns[0]?.said[0]?.text).toBe('a\ud800b\udc00');
    expect(repairs[0]?.text).toContain('(2)');
  });
});

describe('turns', () => {
  const log = (turn: string, ...records: TranscriptRecord[]) => ({
    turn,
    transcript: decodeTranscript(records.map(encodeRecord).join('')),
  });

  test('follow each other, and a branch from one of them continues after it', () => {
    const turns = [
      log('01', user('u', 'a'), assistant('x', 'b')),
      log('02-branch-01', user('v', 'c'), assistant('y', 'd')),
    ];
    expect(outline(toHistory(turns))).toEqual(['user: a', 'assistant: b', 'user: c', 'assistant: d']);
  });

  test('may end before a result that comes in the next one', () => {
    const history = toHistory([log('01', user('u', 'a'), call('c')), log('02', user('v', 'b'), result('c', 'late'))]);
    expect(outline(history)).toEqual(['user: a', `assistant: null -> c ${input}`, 'tool c: late', 'user: b']);
    expect(history.repairs).toEqual([
      { kind: 'late-result', turn: '02', text: 'The result of the call c came late: it was moved to its call.' },
    ]);
  });

  test('report repairs in the order of the log, each with its turn', () => {
    const turns = [log('01', user('u', 'a'), call('c'), result('q')), log('02', user('v', ''), user('w', 'b'))];
    const { repairs } = toHistory(turns);
    expect(repairs.map(({ kind, turn }) => `${turn} ${kind}`)).toEqual([
      '01 call-without-result',
      '01 orphan-result',
      '02 empty-text',
    ]);
  });
});
