import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../src/conversation/records/record.ts';
import { toStatus } from '../../src/view/view.ts';
import { resolveFiles } from '../../src/conversation/history/resolve-files.ts';
import { encodeRecord, lastAnswer, userMessages } from '../../src/conversation/records/transcript.ts';
import { toTurnHistory } from '../../src/conversation/history/turn-history.ts';
import type { TurnName } from '../../src/names.ts';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

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
  fc.record(
    {
      type: fc.constant('plan' as const),
      ...anyBase,
      file: text.filter((file) => file !== ''),
      tool_call_id: text,
    },
    { requiredKeys: ['type', 'id', 'timestamp', 'file'] },
  ),
  fc.record(
    {
      type: fc.constant('approval' as const),
      ...anyBase,
      verdict: fc.constantFrom('approved' as const, 'rejected' as const, 'none' as const),
      plan_sha256: text,
      comments: fc.array(fc.record({ line: fc.integer({ min: 1 }), text })),
      text,
    },
    { requiredKeys: ['type', 'id', 'timestamp', 'verdict', 'plan_sha256', 'comments'] },
  ),
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

  test('names the file with the answer in place of its content', () => {
    expect(encodeRecord(plan)).toContain('"message":{"role":"assistant","file":"plan.md"},"source":"plan"}');
  });

  test('contains no character that a reader could take for a line end', () => {
    expect(encodeRecord(user('a\r\n\u2028\u2029\u0085b'))).not.toMatch(/[\r\u2028\u2029](?!$)|\n(?!$)/);
  });
});

describe('reading a transcript', () => {
  propertyTest('returns every record that was written', () => {
    fc.assert(
      fc.property(fc.array(record), (records) => {
        expect(decodeTranscript(records.map(encodeRecord).join(''))).toEqual({ records, skipped: [], repaired: [] });
      }),
    );
  });

  test('returns the complete records in every prefix, and counts the truncated one', () => {
    const records = [user('é 🎉'), plan, note];
    const whole = records.map(encodeRecord).join('');
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const decoded = decodeTranscript(whole.slice(0, cut));
      expect(decoded.records).toEqual(records.slice(0, decoded.records.length));
      // A complete record may lack only its last newline.
      const complete = whole.slice(0, cut + 1).split('\n').length - 1;
      expect(decoded.records.length).toBe(complete);
      expect(decoded.skipped.length).toBe(
        cut < whole.length && whole[cut - 1] !== '\n' && whole[cut] !== '\n' && cut > 0 ? 1 : 0,
      );
    }
  });

  propertyTest('never throws, and accounts for every line that is not empty', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc
            .oneof(fc.string({ unit: 'binary' }), fc.json(), record.map(encodeRecord))
            .map((line) => line.replaceAll('\n', '')),
        ),
        (lines) => {
          const { records, skipped, repaired } = decodeTranscript(lines.join('\n'));
          const count = lines.filter((line) => line.replace(/^\uFEFF/, '').trim() !== '').length;
          const both = repaired.filter(({ line }) => skipped.some((issue) => issue.line === line)).length;
          expect(records.length + skipped.length - both).toBeGreaterThanOrEqual(count);
          if (repaired.length === 0) expect(records.length + skipped.length).toBe(count);
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
    const { records, skipped, repaired } = decodeTranscript(
      `${encodeRecord(user('a'))}\r\n\n${lines.join('\n')}\n${encodeRecord(user('b'))}`,
    );
    expect(userMessages(records)).toEqual(['a', 'b']);
    expect(repaired).toEqual([]);
    expect(skipped.map(({ line }) => line)).toEqual([4, 5, 6, 7, 8, 9, 10, 11]);
    expect(skipped[4]?.reason).toBe('a record of type user without message.content');
  });

  test("keeps people's messages, even without id and time, and lines of unknown type", () => {
    const { records } = decodeTranscript(
      '\uFEFF{"type":"user","message":{"role":"user","content":"x"}}\r\n{"type":"thinking","n":1}\n',
    );
    expect(userMessages(records)).toEqual(['x']);
    expect(records[0]).toMatchObject({ id: '', timestamp: '', source: 'text' });
    expect(records[1]).toEqual({ type: 'other', value: { type: 'thinking', n: 1 } });
  });
});

describe('the last answer', () => {
  test("comes after the user's last message", () => {
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

describe("another agent's plan", () => {
  const agentPlan: TranscriptRecord = { type: 'plan', ...base, file: 'plan.md', tool_call_id: 'toolu_1' };
  const approval = (verdict: 'approved' | 'rejected' | 'none'): TranscriptRecord => ({
    type: 'approval',
    ...base,
    verdict,
    plan_sha256: 'ab',
    comments: [{ line: 2, text: 'Why?' }],
  });
  const anyPlan = parsePlan('# Any plan\n\n1. Add the route.\n');
  const question = '# A question\n\n## Message\n\nWhich one?\n';

  test('is written with its keys in a fixed order', () => {
    expect(encodeRecord(agentPlan)).toBe(
      `{"type":"plan","id":"${base.id}","timestamp":"${base.timestamp}","file":"plan.md","tool_call_id":"toolu_1"}\n`,
    );
    expect(encodeRecord(approval('rejected'))).toBe(
      `{"type":"approval","id":"${base.id}","timestamp":"${base.timestamp}","verdict":"rejected","plan_sha256":"ab","comments":[{"line":2,"text":"Why?"}]}\n`,
    );
  });

  test("may have a damaged verdict, which is read as far as possible, or a later version's, which is kept", () => {
    const read = (record: object) => decodeTranscript(`${JSON.stringify(record)}\n`).records;
    const comments = [{ line: 0, text: 'no' }, { line: 3 }, 7, { line: 4, text: 'yes', more: 1 }];
    expect(read({ type: 'approval', verdict: 'approved', comments, text: 5 })).toEqual([
      {
        type: 'approval',
        id: '',
        timestamp: '',
        verdict: 'approved',
        plan_sha256: '',
        comments: [{ line: 4, text: 'yes' }],
      },
    ]);
    const later = { type: 'approval', verdict: 'postponed' };
    expect(read(later)).toEqual([{ type: 'other', value: later }]);
    expect(read({ type: 'plan' })).toEqual([{ type: 'other', value: { type: 'plan' } }]);
  });

  test('waits for no execution, and a verdict after the last message closes its turn', () => {
    const status = (...records: TranscriptRecord[]) => toStatus(records, anyPlan, false);
    expect(status(user('Hi'), plan)).toBe('planned');
    expect(status(user('Hi'), agentPlan)).toBe('open');
    expect(status(agentPlan)).toBe('open');
    expect(status(user('Hi'), agentPlan, approval('none'))).toBe('open');
    expect(status(user('Hi'), agentPlan, approval('approved'))).toBe('closed');
    expect(status(agentPlan, approval('rejected'))).toBe('closed');
    expect(status(user('Hi'), agentPlan, approval('rejected'), user('Then?'))).toBe('open');
    expect(status(user('Hi'), agentPlan, assistant('Done.'))).toBe('closed');
    expect(status(user('Hi'), plan, approval('approved'))).toBe('planned');
    // A plan that is only text in teddy's grammar is the agent's plan all the same.
    expect(toStatus([user('Hi'), agentPlan], parsePlan(question), false)).toBe('open');
    expect(toStatus([user('Hi'), plan], parsePlan(question), false)).toBe('closed');
  });

  test('adds nothing to the history, as does the report of no run', () => {
    const records = [user('Hi'), agentPlan, approval('none'), assistant('Done.')];
    const files = { plan: '# Any plan\n', report: null };
    const transcript = { records, skipped: [], repaired: [] };
    expect(resolveFiles('01', transcript, files)).toEqual({ transcript, repairs: [] });
    expect(toTurnHistory('01' as TurnName, records, files).parts).toMatchObject([{ text: 'Hi' }, { text: 'Done.' }]);
  });
});
