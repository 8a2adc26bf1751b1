import { describe, expect, test } from 'vitest';
import { faultsOf, importFixture, importLines, importText, outline } from '../support/import-source.ts';

describe("the lines in teddy's own transcripts", () => {
  const { units, report } = importFixture('jsonl', 'seed.jsonl');

  test("become units, with a voice front end's records in place", () => {
    expect(outline(units)).toEqual([
      'message: orchestrator_meta | user What is in the notes?',
      'exchange: call read_file | call list_files | result "Buy milk" | result "notes.md"',
      'reply: assistant To buy milk.',
      'message: user and what else',
      'reply: assistant_partial There is also | voice_interrupted',
      'message: user Thanks',
      'message: user Thanks again',
      'exchange: call read_file | error "The source of this conversation holds no result of this call"',
    ]);
    expect(faultsOf(units)).toEqual([]);
  });

  test("keep the mark of a spoken message, and the front end's details", () => {
    expect(units[3]?.records[0]).toMatchObject({ source: 'voice_transcription' });
    expect(units[4]?.records[1]).toMatchObject({ details: { played_ms: 900 } });
    expect(units[0]?.records[1]).toMatchObject({ source: 'import' });
  });

  test('are imported once; the same id with another text is another record', () => {
    expect(report.leftOut).toEqual([
      { what: 'records of an unknown type', count: 1 },
      { what: 'repeated records', count: 1 },
    ]);
    expect(report.skipped.issues).toEqual([{ line: 8, text: 'not JSON' }]);
    expect(report.repaired.issues.map(({ line }) => line)).toEqual([15, 16]);
  });

  test('whose content is blocks keep each call with its result', () => {
    const said = (type: string, ...content: object[]) => ({ type, id: `${type}-1`, message: { role: type, content } });
    const { units: imported } = importLines('jsonl', [
      said('user', { type: 'text', text: 'Look.' }),
      said(
        'assistant',
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 't1', name: 'read_file', input: { path: 'a' } },
        { type: 'tool_use', id: 't2', name: 'list_files', input: {} },
      ),
      { ...said('user', { type: 'tool_result', tool_use_id: 't1', content: 'A' }), id: 'r1' },
      { ...said('user', { type: 'tool_result', tool_use_id: 't2', content: 'no', is_error: true }), id: 'r2' },
    ]);
    expect(outline(imported)).toEqual([
      'message: user Look.',
      'exchange: assistant I look. | call read_file | call list_files | result "A" | error "no"',
    ]);
    expect(faultsOf(imported)).toEqual([]);
  });

  test("that name a file become a note, with the file's name", () => {
    const plan = { type: 'assistant', id: 'a', message: { role: 'assistant', file: 'plan.md' }, source: 'plan' };
    const { units: imported, report: counted } = importLines('jsonl', [plan]);
    expect(outline(imported)).toEqual(['reply: note Said in a file that was not imported: plan.md']);
    expect(counted.repaired.issues[0]?.text).toContain('plan.md');
  });

  test("keep a result's reason", () => {
    const use = { type: 'tool_use', id: 'a', tool_call_id: 'c', tool_name: 'run', tool_input: {} };
    const result = { type: 'tool_result', id: 'b', tool_call_id: 'c', output: 'no', is_error: true, reason: 'denied' };
    expect(importLines('jsonl', [use, result]).units[0]?.records[1]).toMatchObject({ id: 'b', reason: 'denied' });
  });

  test('have a message while tools run after their results, and nothing is lost or doubled', () => {
    const said = (type: 'user' | 'assistant', content: string) => ({ type, message: { role: type, content } });
    const use = { type: 'tool_use', tool_call_id: 'c', tool_name: 'run', tool_input: {} };
    const interrupted = { type: 'voice_interrupted', timestamp: '2026-01-24T10:00:00Z' };
    const result = { type: 'tool_result', tool_call_id: 'c', output: 'the real result' };
    const lines = [said('user', 'go'), use, interrupted, said('user', 'hurry up'), result, said('assistant', 'done')];
    const { units: imported, report: counted } = importLines('jsonl', lines);
    expect(outline(imported)).toEqual([
      'message: user go',
      'exchange: call run | result "the real result" | voice_interrupted',
      'message: user hurry up',
      'reply: assistant done',
    ]);
    expect(counted).toMatchObject({ records: 6, skipped: { count: 0 }, repaired: { count: 0 } });
    expect(faultsOf(imported)).toEqual([]);
  });

  test('assign a result to the latest call if call ids are reused after a message', () => {
    const user = { type: 'user', message: { role: 'user', content: 'again' } };
    const use = (tool_name: string) => ({ type: 'tool_use', tool_call_id: 'c', tool_name, tool_input: {} });
    const result = { type: 'tool_result', tool_call_id: 'c', output: 'of the second' };
    const { units: imported } = importLines('jsonl', [use('first'), user, use('second'), result]);
    expect(outline(imported)).toEqual([
      'exchange: call first | error "The source of this conversation holds no result of this call"',
      'message: user again',
      'exchange: call second | result "of the second"',
    ]);
  });

  test('have a call after an interrupted answer outside it', () => {
    const partial = { type: 'assistant_partial', id: 'a', message: { role: 'assistant', content: 'I' } };
    const use = { type: 'tool_use', id: 'b', tool_call_id: 'c', tool_name: 'run', tool_input: {} };
    expect(importLines('jsonl', [partial, use]).units.map(({ kind }) => kind)).toEqual(['reply', 'exchange']);
  });
});

describe('an empty source', () => {
  test.each(['', '\uFEFF', '\n\r\n \n'])('%j gives nothing', (text) => {
    for (const format of ['claude-code', 'codex', 'openai', 'jsonl'] as const)
      expect(importText(format, text)).toMatchObject({ units: [], report: { lines: 0, records: 0 }, title: null });
  });
});
