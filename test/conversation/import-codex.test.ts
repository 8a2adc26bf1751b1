import { describe, expect, test } from 'vitest';
import { abortedOutput } from '../../src/conversation/records/record.ts';
import { maxHeldLines } from '../../src/agents/codex/lines.ts';
import { faultsOf, importFixture, importLines, outline } from '../support/import-source.ts';

const event = (payload: object) => ({ timestamp: '2026-01-24T10:00:00Z', type: 'event_msg', payload });
const item = (payload: object) => ({ timestamp: '2026-01-24T10:00:00Z', type: 'response_item', payload });
const message = (role: string, ...texts: string[]) =>
  item({ type: 'message', role, content: texts.map((text) => ({ type: 'input_text', text })) });
const called = (id: string) => item({ type: 'function_call', name: 'shell', arguments: '{"a":1}', call_id: id });
const output = (id: string, given: unknown) => item({ type: 'function_call_output', call_id: id, output: given });

describe('a Codex rollout', () => {
  test('becomes each message once, from its items', () => {
    const { units, report } = importFixture('codex', 'codex.jsonl');
    expect(outline(units)).toEqual([
      'message: user Add a login route',
      'exchange: thinking Looking | assistant I look at the routes. | call shell | call shell | result "export const routes = [];\\n" | error ""',
      'exchange: call apply_patch | result "Exit code: 0\\nOutput:\\nSuccess. Updated the following files:\\nA login.ts\\n"',
      'exchange: call web_search | result "The source of this conversation does not hold what the search found"',
      `exchange: call local_shell | error "${abortedOutput}" | note The user interrupted the model here.`,
      'reply: assistant [The conversation was compacted here. The summary of what stands above:]\n\nAda wants a login route.',
      'message: user Is it done?',
      'reply: assistant Yes. | note The user took back the last turn here.',
    ]);
    expect(faultsOf(units)).toEqual([]);
    expect(report.repaired.issues).toEqual([
      { line: 19, text: 'call call_D4 has no result: one that says so was added' },
    ]);
    expect(report.leftOut).toContainEqual({ what: 'instructions of the program', count: 2 });
    expect(report.leftOut).toContainEqual({ what: 'events that items repeat', count: 4 });
  });

  test('has its calls with the arguments as an object, or as text for a tool with its own grammar', () => {
    const { units } = importFixture('codex', 'codex.jsonl');
    const uses = units.flatMap(({ records }) => records.filter((record) => record.type === 'tool_use'));
    expect(uses[0]).toMatchObject({
      tool_call_id: 'call_A1',
      tool_input: { command: ['bash', '-lc', 'cat routes.ts'], workdir: '/home/ada/shop' },
      timestamp: '2026-01-24T10:00:04.123Z',
    });
    expect(uses[2]?.tool_input).toContain('*** Begin Patch');
  });

  test('is read from its events if no item is a message', () => {
    const { units } = importFixture('codex', 'codex-events.jsonl');
    expect(outline(units)).toEqual([
      'message: user Run the tests',
      'exchange: call exec_command | error "1 failed\\n"',
      'reply: assistant One test fails.',
    ]);
    expect(units[1]?.records[0]).toMatchObject({ tool_input: { command: ['npm', 'test'], cwd: '/home/ada/shop' } });
  });

  test('from an older version has no envelopes', () => {
    expect(outline(importFixture('codex', 'codex-bare.jsonl').units)).toEqual([
      'message: user List the files',
      'exchange: call shell | result "a.ts\\n"',
      'reply: assistant There is a.ts.',
    ]);
  });
});

describe('a message that a rollout has twice', () => {
  const said = event({ type: 'user_message', message: 'Hi' });

  test('is taken from the items, even if the events come first', () => {
    const { units } = importLines('codex', [said, said, said, message('user', 'Hi')]);
    expect(outline(units)).toEqual(['message: user Hi']);
  });

  test("is taken from the events once the items are exhausted, and the items' messages are left out", () => {
    const lines = [...Array.from({ length: maxHeldLines }, () => said), message('user', 'Hi')];
    const { units, report } = importLines('codex', lines);
    expect(units.length).toBe(maxHeldLines);
    expect(report.leftOut).toEqual([{ what: 'items that events repeat', count: 1 }]);
  });

  test('leaves the calls to the items if these have no messages', () => {
    const begin = event({ type: 'exec_command_begin', call_id: 'a', command: ['ls'] });
    const { units } = importLines('codex', [said, called('a'), begin, output('a', 'b.ts')]);
    expect(outline(units)).toEqual(['message: user Hi', 'exchange: call shell | result "b.ts"']);
  });
});

describe("Codex's items", () => {
  test("the user's messages beside the program's messages in their name are kept", () => {
    const { units } = importLines('codex', [message('user', '<environment_context>x</environment_context>', 'Hello')]);
    expect(outline(units)).toEqual(['message: user Hello']);
  });

  test('a call after a result is another answer, a call before it is the same', () => {
    const lines = [
      message('assistant', 'x'),
      called('a'),
      called('b'),
      output('a', '1'),
      output('b', '2'),
      called('c'),
    ];
    expect(outline(importLines('codex', [...lines, output('c', '3')]).units)).toEqual([
      'exchange: assistant x | call shell | call shell | result "1" | result "2"',
      'exchange: call shell | result "3"',
    ]);
  });

  test('a message that comes while tools run waits for their results', () => {
    const lines = [
      message('user', 'Go'),
      called('a'),
      message('user', 'Hurry up'),
      output('a', 'the result'),
      message('assistant', 'Done'),
    ];
    const { units, report } = importLines('codex', lines);
    expect(outline(units)).toEqual([
      'message: user Go',
      'exchange: call shell | result "the result"',
      'message: user Hurry up',
      'reply: assistant Done',
    ]);
    expect(report).toMatchObject({ skipped: { count: 0 }, repaired: { count: 0 } });
  });

  test('a result is an error if its exit code or its success field indicates it', () => {
    const outputs = [
      '{"output":"x","metadata":{"exit_code":2}}',
      { content: 'x', success: false },
      'Exit code: 1\nOutput:\nx',
      { content: 'x', success: true },
      [{ type: 'input_text', text: 'x' }],
    ];
    const lines = outputs.flatMap((given, index) => [called(`c${index}`), output(`c${index}`, given)]);
    const { units } = importLines('codex', [message('user', 'x'), ...lines]);
    const results = units.flatMap(({ records }) => records.filter((record) => record.type === 'tool_result'));
    expect(results.map((record) => record.is_error)).toEqual([true, true, true, false, false]);
  });
});
