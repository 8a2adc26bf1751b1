import { describe, expect, test } from 'vitest';
import type { AgentStep } from '../../src/conversation/logs/agent-log.ts';
import { forksOf, openLog, readSteps, toLines, unitsOf } from '../support/agent-logs.ts';
import { outline } from '../support/import-source.ts';

const usage = { input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 7 };

function line(type: string, uuid: string, parentUuid: string | null, content: unknown, more: object = {}): object {
  const base = {
    type,
    uuid,
    parentUuid,
    isSidechain: false,
    sessionId: 's',
    cwd: '/home/ada/shop',
    version: '2.1.330',
  };
  const answer = { role: type, id: `msg-${uuid}`, model: 'sonnet', usage, content };
  const message = type === 'assistant' ? answer : { role: type, content };
  return { ...base, timestamp: '2026-01-24T10:00:00.000Z', message, ...more };
}
const user = (uuid: string, parent: string | null, more: object = {}) =>
  line('user', uuid, parent, `say ${uuid}`, more);
const answer = (uuid: string, parent: string, more: object = {}) =>
  line('assistant', uuid, parent, [{ type: 'text', text: `answer ${uuid}` }], more);
const call = (uuid: string, parent: string, id: string) =>
  line('assistant', uuid, parent, [{ type: 'tool_use', id, name: 'Bash', input: { command: id } }]);
const result = (uuid: string, parent: string, id: string, more: object = {}) =>
  line('user', uuid, parent, [{ type: 'tool_result', tool_use_id: id, content: `of ${id}` }], more);
const system = (uuid: string, parent: string | null, subtype: string, more: object = {}) => ({
  ...line('system', uuid, parent, null),
  message: undefined,
  subtype,
  ...more,
});

function read(lines: readonly object[]) {
  const reader = openLog('claude-code');
  const steps = readSteps(reader, toLines(lines.map((one) => JSON.stringify(one)).join('\n')));
  reader.settle();
  return { reader, steps: [...steps, ...reader.take()] };
}
/** `1` before a unit is its branch. */
const inShort = (steps: readonly AgentStep[]) =>
  unitsOf(steps).map((unit) => `${unit.branch} ${outline([unit]).join('')}`);

describe('the tree in a Claude Code log', () => {
  test('a prompt with an earlier one’s parent begins a branch, and the first attempt stays in place', () => {
    const { steps } = read([
      user('1', null),
      answer('2', '1'),
      system('3', '2', 'turn_duration'),
      user('4', '3'),
      answer('5', '4'),
      user('6', '3'),
      answer('7', '6'),
      user('8', '5'),
    ]);
    expect(forksOf(steps)).toEqual([{ branch: 1, leaves: 0, after: '2' }]);
    expect(inShort(steps)).toEqual([
      '0 message: user say 1',
      '0 reply: assistant answer 2',
      '0 message: user say 4',
      '1 message: user say 6',
      '0 reply: assistant answer 5',
      '0 message: user say 8',
      '1 reply: assistant answer 7',
    ]);
  });

  test('a prompt without a parent, after other messages, begins at the start', () => {
    const { steps } = read([user('1', null), answer('2', '1'), user('3', null)]);
    expect(forksOf(steps)).toEqual([{ branch: 1, leaves: 0, after: null }]);
  });

  test('parallel calls are not forks, nor is a user message in between', () => {
    const queued = { attachment: { type: 'queued_command', prompt: 'Hurry up', commandMode: 'prompt' } };
    const { steps } = read([
      user('1', null),
      call('2', '1', 'a'),
      { ...call('3', '2', 'b'), message: { ...(call('3', '2', 'b') as { message: object }).message, id: 'msg-2' } },
      result('4', '2', 'a'),
      { ...line('attachment', '5', '4', null), ...queued },
      result('6', '3', 'b'),
      answer('7', '4'),
    ]);
    expect(forksOf(steps)).toEqual([]);
    expect(inShort(steps)).toEqual([
      '0 message: user say 1',
      '0 exchange: call Bash | call Bash | result "of a" | result "of b"',
      '0 message: user Hurry up',
      '0 reply: assistant answer 7',
    ]);
  });

  test('a compaction continues from the text it sums up, even if that line is missing', () => {
    for (const logicalParentUuid of ['2', 'gone', null]) {
      const { steps } = read([
        user('1', null),
        answer('2', '1'),
        system('3', null, 'compact_boundary', { logicalParentUuid }),
        user('4', '3', { isCompactSummary: true }),
        line('user', '5', '4', '<command-name>/compact</command-name><command-args></command-args>'),
        user('6', '5'),
      ]);
      expect(forksOf(steps)).toEqual([]);
      expect(inShort(steps).slice(2)).toEqual([
        '0 reply: assistant [The conversation was compacted here. The summary of what stands above:]\n\nsay 4 | note The user ran /compact.',
        '0 message: user say 6',
      ]);
    }
  });

  test('an unknown or empty line may be a parent', () => {
    const dream = { type: 'dream', uuid: '3', parentUuid: '2' };
    const progress = { type: 'progress', uuid: '4', parentUuid: '3' };
    const { steps } = read([
      user('1', null),
      answer('2', '1'),
      dream,
      progress,
      user('5', '4'),
      answer('6', '5'),
      user('7', '4'),
    ]);
    expect(forksOf(steps)).toEqual([{ branch: 1, leaves: 0, after: '2' }]);
  });

  test('a repeated line appears once', () => {
    const lines = [user('1', null), answer('2', '1')];
    expect(inShort(read([...lines, ...lines]).steps)).toEqual(['0 message: user say 1', '0 reply: assistant answer 2']);
  });
});

describe('a Claude Code turn', () => {
  test('has each answer’s model and tokens once, cached ones included', () => {
    const thought = line('assistant', '2', '1', [{ type: 'thinking', thinking: 'Hm.' }]);
    const said = answer('3', '2', { message: { ...(answer('3', '2') as { message: object }).message, id: 'msg-2' } });
    const [, reply] = unitsOf(read([user('1', null), thought, said]).steps);
    expect(reply).toMatchObject({
      model: 'sonnet',
      provider: 'anthropic',
      tokens: { input: 115, output: 7, cached: 100 },
    });
    expect(outline(reply === undefined ? [] : [reply])).toEqual(['reply: thinking Hm. | assistant answer 3']);
  });

  test('that was interrupted ends with a note, and the answer as far as it came', () => {
    const mark = line('user', '3', '2', [{ type: 'text', text: '[Request interrupted by user]' }]);
    const { steps } = read([user('1', null), answer('2', '1', { isAbortedMidStream: true }), mark, user('4', '3')]);
    const note = 'note The user interrupted the model here.';
    expect(inShort(steps)).toEqual([
      '0 message: user say 1',
      `0 reply: assistant_partial answer 2 | ${note}`,
      '0 message: user say 4',
    ]);
    const early = line('user', '2', '1', [{ type: 'text', text: '[Request interrupted by user]' }]);
    expect(inShort(read([user('1', null), early, user('3', '2')]).steps)[1]).toBe(`0 reply: ${note}`);
  });

  test.each([
    ['a person', { toolUseResult: 'User rejected tool use', toolDenialKind: 'user-rejected' }],
    ['a person, in an earlier version', { toolUseResult: 'User rejected tool use' }],
    ['a rule', { permissionDecision: { decision: 'reject', source: 'config' } }],
    ['a hook', { toolUseResult: 'Error: PreToolUse:Write hook error: [x]: no' }],
  ])('records that %s denied a call', (_who, more) => {
    const block = { type: 'tool_result', tool_use_id: 'a', content: 'no', is_error: true };
    const [, exchange] = unitsOf(
      read([user('1', null), call('2', '1', 'a'), line('user', '3', '2', [block], more)]).steps,
    );
    expect(exchange?.records.at(-1)).toMatchObject({ reason: 'denied', is_error: true });
  });

  test('names the background task that reports, and its result', () => {
    const text =
      '<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<summary>Agent "Look" completed</summary>\n' +
      '<result>Two files.</result>\n</task-notification>';
    const { steps } = read([
      user('1', null),
      answer('2', '1'),
      line('user', '3', '2', text, { origin: { kind: 'task-notification' } }),
      answer('4', '3'),
    ]);
    expect(inShort(steps).slice(1)).toEqual([
      '0 reply: assistant answer 2 | note The background task a1 reports: completed.\n\nAgent "Look" completed\n\nTwo files.',
      '0 reply: assistant answer 4',
    ]);
  });

  test('is complete when the log marks its end, and a later result is a note', () => {
    const { reader, steps } = read([
      user('1', null),
      call('2', '1', 'a'),
      system('3', '2', 'stop_hook_summary'),
      result('4', '2', 'a'),
    ]);
    expect(inShort(steps).slice(1)).toEqual([
      '0 exchange: call Bash | error "The source of this conversation holds no result of this call"',
      '0 reply: note A result of the call a came when nothing waited for it:\n\nof a',
    ]);
    expect(reader.head()).toMatchObject({ id: 's', cwd: '/home/ada/shop', version: '2.1.330', parentId: null });
  });
});

describe('a Claude Code log', () => {
  test('of a sub-agent names the session that started it', () => {
    const { reader, steps } = read([user('1', null, { isSidechain: true, agentId: 'a1' })]);
    expect(reader.head()).toMatchObject({ id: 'a1', parentId: 's' });
    expect(inShort(steps)).toEqual(['0 message: user say 1']);
  });

  test('keeps unknown lines unchanged, and counts the parts it leaves out', () => {
    const { reader } = read([{ type: 'dream', uuid: 'x' }, { type: 'cost-state' }, user('1', null)]);
    expect(reader.unknown()).toEqual([{ number: 1, text: '{"type":"dream","uuid":"x"}' }]);
    expect(reader.report().leftOut).toEqual([
      { what: 'lines of unknown types', count: 1 },
      { what: 'lines of bookkeeping', count: 1 },
    ]);
  });

  test('says nothing of what the program adds to a request, such as CLAUDE.md, and what MCP servers say of themselves', () => {
    const added = ['instructions', 'mcp_instructions_delta', 'opened_file_in_ide', 'output_style'].map((type, at) => ({
      ...line('attachment', `a${at}`, '1', null),
      attachment: { type },
    }));
    const { reader, steps } = read([user('1', null), ...added, answer('2', 'a3')]);
    expect(reader.unknown()).toEqual([]);
    expect(inShort(steps)).toEqual(['0 message: user say 1', '0 reply: assistant answer 2']);
  });

  test('is read from the start if a line needs something before the checkpoint', () => {
    const lines = toLines(
      [user('1', null), answer('2', '1'), system('3', '2', 'turn_duration'), user('4', '3')]
        .map((one) => JSON.stringify(one))
        .join('\n'),
    );
    const first = openLog('claude-code');
    readSteps(first, lines);
    const checkpoint = first.checkpoint() ?? {};
    const goesOn = (next: object) => {
      const reader = openLog('claude-code', checkpoint);
      const steps = readSteps(reader, [{ number: 5, text: JSON.stringify(next) }]);
      return { needsStart: reader.needsStart(), checkpoint: reader.checkpoint(), units: inShort(steps) };
    };
    expect(goesOn(user('5', '4'))).toMatchObject({ needsStart: false, units: ['0 message: user say 5'] });
    expect(goesOn(user('5', '3'))).toMatchObject({ needsStart: true, checkpoint: null });
    expect(goesOn(user('5', null))).toMatchObject({ needsStart: true });
    expect(goesOn(system('5', null, 'turn_duration'))).toMatchObject({ needsStart: true });
    expect(goesOn(system('5', 'gone', 'turn_duration'))).toMatchObject({ needsStart: true });
    expect(goesOn(system('5', null, 'compact_boundary'))).toMatchObject({ needsStart: false });
    expect(openLog('codex', checkpoint).needsStart()).toBe(true);
    expect(openLog('claude-code', { ...checkpoint, v: 99 }).needsStart()).toBe(true);
  });
});
