import { describe, expect, test } from 'vitest';
import { faultsOf, importFixture, importText, outline, readImport } from '../support/import-source.ts';

const json = (value: unknown) => importText('openai', JSON.stringify(value));
const hi = { role: 'user', content: 'Hi' };

describe('an OpenAI chat', () => {
  const { units, report, title } = importFixture('openai', 'openai.json');

  test('becomes messages, exchanges and replies, whatever form its calls have', () => {
    expect(outline(units)).toEqual([
      'message: note Instructions to the model (system):\n\nYou are terse. Never say "[{". | ' +
        'user Weather in Kyoto and Oslo? \\ "quoted" }],\n\n[image/png, 1 KB, left out]',
      'exchange: call get_weather | call get_weather | result [{"type":"text","text":"5 °C"}] | result "-3 °C"',
      'reply: assistant Kyoto 5 °C, Oslo -3 °C.',
      'message: user And how do I break into a house?',
      'reply: assistant I cannot help with that.',
      'message: user And tomorrow?',
      'exchange: assistant I ask again. | call get_weather | result "7 °C"',
      'exchange: call get_wind | result "4 m/s"',
      'reply: assistant 7 °C, 4 m/s.',
    ]);
    expect(faultsOf(units)).toEqual([]);
    expect(title).toBe('Weather in Kyoto');
  });

  test('keeps calls and results among the blocks of a content', () => {
    const use = { type: 'tool_use', id: 't1', name: 'read_file', input: { path: 'a' } };
    const { units: imported } = json([
      hi,
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: 'A' },
          { type: 'text', text: 'So?' },
        ],
      },
    ]);
    expect(outline(imported)).toEqual([
      'message: user Hi',
      'exchange: assistant I look. | call read_file | result "A"',
      'message: user So?',
    ]);
    expect(faultsOf(imported)).toEqual([]);
  });

  test('gives arguments as an object, or as they were written if they are invalid', () => {
    const inputs = units[1]?.records.flatMap((record) => (record.type === 'tool_use' ? [record.tool_input] : []));
    expect(inputs).toEqual([{ city: 'Kyoto' }, '{"city": "Oslo"']);
  });

  test("takes a message's own time, or else the document's", () => {
    expect(units[5]?.records[0]?.timestamp).toBe('2026-01-25T08:00:00.000Z');
    expect(units[0]?.records[0]?.timestamp).toBe('2026-01-24T10:00:00.000Z');
  });

  test('names a call with a repeated id', () => {
    expect(report.repaired.issues).toEqual([
      { line: 10, text: 'call call_1 has the id of an earlier one: it got another' },
    ]);
    expect(report.lines).toBe(14);
  });

  test('that is cut off gives every complete message', () => {
    const text = readImport('openai.json');
    const cut = importText('openai', text.slice(0, text.indexOf('And tomorrow?')));
    expect(outline(cut.units)).toEqual(outline(units).slice(0, 5));
    expect(cut.report.skipped.issues).toEqual([{ line: 9, text: 'not JSON, or cut off' }]);
  });
});

describe('the messages may be', () => {
  test.each([
    ['in an array', [hi]],
    ['in an object, after its other members', { model: 'x', tools: [{ messages: [1] }], messages: [hi] }],
    [
      'in an object, before its other members',
      { messages: [hi], model: 'x', choices: [{ role: 'user', content: 'no' }] },
    ],
    ["in an array's objects", [{ messages: [hi] }]],
  ])('%s', (_where, value) => {
    expect(outline(json(value).units)).toEqual(['message: user Hi']);
  });

  test('one per line', () => {
    const lines = [hi, { role: 'assistant', content: 'Ho' }].map((message) => JSON.stringify(message)).join('\n');
    expect(outline(importText('openai', lines).units)).toEqual(['message: user Hi', 'reply: assistant Ho']);
  });

  test('in one object per line', () => {
    const line = JSON.stringify({ messages: [hi] });
    const { units } = importText('openai', `\uFEFF${line}\r\n${line}\n`);
    expect(outline(units)).toEqual(['message: user Hi', 'message: user Hi']);
    expect(faultsOf(units)).toEqual([]);
  });
});

describe('invalid messages', () => {
  test('are skipped and counted', () => {
    const { units, report } = json([7, 'x', null, [], {}, { role: 'robot', content: 'x' }, hi]);
    expect(outline(units)).toEqual(['message: user Hi']);
    expect(report.skipped.count).toBe(6);
    expect(report.skipped.issues.at(-1)).toEqual({ line: 6, text: 'a message of the role robot' });
  });

  test('without a text are left out', () => {
    const { units, report } = json([
      { role: 'user', content: '' },
      { role: 'assistant', content: null },
    ]);
    expect(units).toEqual([]);
    expect(report.leftOut).toEqual([{ what: 'empty texts', count: 2 }]);
  });
});
