import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeTranscript } from '../../src/conversation/decode-transcript.ts';
import type { TranscriptRecord } from '../../src/conversation/record.ts';
import { encodeRecord, lastAnswer, userMessages } from '../../src/conversation/transcript.ts';

const base = { id: '0190f5fe-7c00-7a00-8000-000000000000', timestamp: '2026-01-24T10:00:00.000Z' };
const user = (content: string): TranscriptRecord => ({
  type: 'user',
  ...base,
  message: { role: 'user', content },
  source: 'text',
});
const assistant = (content: string): TranscriptRecord => ({
  type: 'assistant',
  ...base,
  message: { role: 'assistant', content },
  source: 'text',
});
const partial = (content: string): TranscriptRecord => ({
  type: 'assistant_partial',
  ...base,
  message: { role: 'assistant', content },
  source: 'text',
});
const plan: TranscriptRecord = {
  type: 'assistant',
  ...base,
  message: { role: 'assistant', file: 'plan.md' },
  source: 'plan',
};
const note: TranscriptRecord = { type: 'note', ...base, text: 'The answer was continued.' };

const text = fc.string({ unit: 'binary' });
/** JSON has no -0, so none is read back. */
const anyValue = fc
  .jsonValue({ stringUnit: 'binary', maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const anyBase = { id: text, timestamp: text };
const record: fc.Arbitrary<TranscriptRecord> = fc.oneof(
  fc.record({
    type: fc.constant('user' as const),
    ...anyBase,
    message: fc.record({ role: fc.constant('user' as const), content: text }),
    source: text,
  }),
  fc.record({
    type: fc.constantFrom('assistant' as const, 'assistant_partial' as const),
    ...anyBase,
    message: fc.record({ role: fc.constant('assistant' as const), content: text }),
    source: text,
  }),
  fc.constantFrom(plan, note),
  fc.record({
    type: fc.constant('tool_use' as const),
    ...anyBase,
    tool_call_id: text,
    tool_name: text,
    tool_input: anyValue,
  }),
  fc.record(
    {
      type: fc.constant('tool_result' as const),
      ...anyBase,
      tool_call_id: text,
      output: anyValue,
      is_error: fc.boolean(),
      reason: fc.constantFrom('denied' as const, 'aborted' as const, 'recovered' as const),
    },
    { requiredKeys: ['type', 'id', 'timestamp', 'tool_call_id', 'output', 'is_error'] },
  ),
  fc.record({
    type: fc.constantFrom('voice_interrupted' as const, 'orchestrator_meta' as const),
    ...anyBase,
    details: fc.dictionary(
      text.filter((key) => !['type', 'id', 'timestamp'].includes(key)),
      anyValue,
    ),
  }),
  fc.record({
    type: fc.constant('other' as const),
    value: fc.record({ type: fc.constantFrom('thinking', 'other'), tool_call_id: text }),
  }),
);

describe('a record', () => {
  test('is one line with its keys in a fixed order, whatever order they came in', () => {
    const line = `{"type":"user","id":"${base.id}","timestamp":"${base.timestamp}","message":{"role":"user","content":"Hi\\n"},"source":"text"}\n`;
    expect(encodeRecord(user('Hi\n'))).toBe(line);
    expect(
      encodeRecord({
        source: 'text',
        message: { content: 'Hi\n', role: 'user' },
        timestamp: base.timestamp,
        id: base.id,
        type: 'user',
      }),
    ).toBe(line);
  });

  test('names the file that holds the answer in place of its content', () => {
    expect(encodeRecord(plan)).toContain('"message":{"role":"assistant","file":"plan.md"},"source":"plan"}');
  });

  test('holds no character that any reader takes for a line end', () => {
    expect(encodeRecord(user('a\r\n\u2028\u2029\u0085b'))).not.toMatch(/[\r\u2028\u2029](?!$)|\n(?!$)/);
  });
});

describe('reading a transcript', () => {
  test('gives back every record that was written', () => {
    fc.assert(
      fc.property(fc.array(record), (records) => {
        expect(decodeTranscript(records.map(encodeRecord).join(''))).toEqual({ records, skipped: [], mended: [] });
      }),
    );
  });

  test('every prefix gives the whole records before the cut, and counts the torn one', () => {
    const records = [user('é 🎉'), plan, note];
    const whole = records.map(encodeRecord).join('');
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const decoded = decodeTranscript(whole.slice(0, cut));
      expect(decoded.records).toEqual(records.slice(0, decoded.records.length));
      // The last newline is all that a whole record may lack.
      const complete = whole.slice(0, cut + 1).split('\n').length - 1;
      expect(decoded.records.length).toBe(complete);
      expect(decoded.skipped.length).toBe(
        cut < whole.length && whole[cut - 1] !== '\n' && whole[cut] !== '\n' && cut > 0 ? 1 : 0,
      );
    }
  });

  test('never throws, and accounts for every line that is not empty', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc
            .oneof(fc.string({ unit: 'binary' }), fc.json(), record.map(encodeRecord))
            .map((line) => line.replaceAll('\n', '')),
        ),
        (lines) => {
          const { records, skipped, mended } = decodeTranscript(lines.join('\n'));
          const count = lines.filter((line) => line.replace(/^\uFEFF/, '').trim() !== '').length;
          const both = mended.filter(({ line }) => skipped.some((issue) => issue.line === line)).length;
          expect(records.length + skipped.length - both).toBeGreaterThanOrEqual(count);
          if (mended.length === 0) expect(records.length + skipped.length).toBe(count);
        },
      ),
    );
  });

  test('skips damaged lines with number and reason', () => {
    const lines = [
      '{"type":"user"',
      '7',
      '[]',
      '{}',
      '{"type":"user","message":{"role":"user"}}',
      '\0\0',
      '{"type":"note"}',
      '{"a":1}{"b":2}',
    ];
    const { records, skipped, mended } = decodeTranscript(
      `${encodeRecord(user('a'))}\r\n\n${lines.join('\n')}\n${encodeRecord(user('b'))}`,
    );
    expect(userMessages(records)).toEqual(['a', 'b']);
    expect(mended).toEqual([]);
    expect(skipped.map(({ line }) => line)).toEqual([4, 5, 6, 7, 8, 9, 10, 11]);
    expect(skipped[4]?.reason).toBe('a record of type user without message.content');
  });

  test('keeps what a person said, even without id and time, and lines of unknown type', () => {
    const { records } = decodeTranscript(
      '\uFEFF{"type":"user","message":{"role":"user","content":"x"}}\r\n{"type":"thinking","n":1}\n',
    );
    expect(userMessages(records)).toEqual(['x']);
    expect(records[0]).toMatchObject({ id: '', timestamp: '', source: 'text' });
    expect(records[1]).toEqual({ type: 'other', value: { type: 'thinking', n: 1 } });
  });
});

describe('the last answer', () => {
  test('is what came after the last message of the user', () => {
    expect(lastAnswer([user('a'), assistant('b'), note])).toEqual({ complete: true, text: 'b' });
    expect(lastAnswer([user('a'), plan])).toEqual({ complete: true, file: 'plan.md' });
    expect(lastAnswer([user('a'), assistant('b'), user('c')])).toBeNull();
    expect(lastAnswer([])).toBeNull();
  });

  test('is incomplete while there are only interrupted ones, of which the last counts', () => {
    expect(lastAnswer([user('a'), partial('b'), partial('c'), note])).toEqual({ complete: false, text: 'c' });
  });

  test('is the complete one, even next to interrupted ones', () => {
    expect(lastAnswer([user('a'), partial('b'), assistant('d'), partial('c')])).toEqual({ complete: true, text: 'd' });
  });
});
