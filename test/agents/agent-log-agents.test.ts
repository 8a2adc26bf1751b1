import { describe, expect, test } from 'vitest';
import type { AgentName } from '../../src/agents/agents.ts';
import { forksOf, openLog, readSteps, toAgentLines, toLines, unitsOf } from '../support/agent-logs.ts';
import { outline } from '../support/import-source.ts';

function feed(agent: AgentName) {
  const reader = openLog(agent);
  let number = 0;
  const read = (...objects: object[]): string[] => {
    const lines = toLines(objects.map((object) => JSON.stringify(object)).join('\n'));
    const steps = readSteps(
      reader,
      lines.map(({ text }) => ({ number: (number += 1), text })),
    );
    return outline(unitsOf(steps));
  };
  const settle = (): string[] => {
    reader.settle();
    return outline(unitsOf(reader.take()));
  };
  return { reader, read, settle };
}

describe('a Gemini log', () => {
  const user = (id: string) => ({ id, type: 'user', content: [{ text: `say ${id}` }] });
  const answer = (id: string, more: object = {}) => ({ id, type: 'gemini', content: `answer ${id}`, ...more });
  const response = { functionResponse: { id: 'c', name: 'read', response: { output: 'x' } } };
  const toolCalls = [{ id: 'c', name: 'read', args: {}, result: [response], status: 'success' }];

  test('yields the last version of an answer when something else begins', () => {
    const { read } = feed('gemini');
    expect(read(user('1'), answer('2'))).toEqual(['message: user say 1']);
    expect(read(answer('2', { toolCalls }), { id: '3', type: 'user', content: [response] })).toEqual([]);
    expect(read(user('4'))).toEqual(['exchange: assistant answer 2 | call read | result "x"', 'message: user say 4']);
  });

  test('yields only the new part of an answer that was settled before it was rewritten', () => {
    const { read, settle } = feed('gemini');
    read(user('1'), answer('2'));
    expect(settle()).toEqual(['reply: assistant answer 2']);
    read(answer('2', { toolCalls }), { id: '3', type: 'user', content: [response] });
    expect(settle()).toEqual(['exchange: call read | result "x"']);
  });

  test('takes the program’s warning of a loop for a note', () => {
    const { read, settle } = feed('gemini');
    const text = 'System: Potential loop detected. Details: Repeating content detected.';
    expect(read(user('1'), { id: '2', type: 'user', content: [{ text }] })).toEqual([
      'message: user say 1',
      `reply: note ${text}`,
    ]);
    read(answer('3'));
    expect(settle()).toEqual(['reply: assistant answer 3']);
  });

  test('repeats nothing from a list that a resumed session begins with', () => {
    const { read, settle } = feed('gemini');
    read(user('1'), answer('2'));
    expect(settle()).toHaveLength(1);
    expect(read({ $set: { messages: [user('1'), answer('2')] } }, user('3'))).toEqual(['message: user say 3']);
  });

  test('yields each message in a list that no record had, in its place', () => {
    const { read, settle } = feed('gemini');
    const list = (...ids: string[]) => ({
      $set: { messages: ids.map((id) => (Number(id) % 2 === 1 ? user(id) : answer(id))) },
    });
    expect(read(user('1'), list('1', '2'), user('3'))).toEqual([
      'message: user say 1',
      'reply: assistant answer 2',
      'message: user say 3',
    ]);
    expect(read(answer('4'), list('1', '2', '3', '4', '5', '6'), list('5', '6'))).toEqual([
      'reply: assistant answer 4',
      'message: user say 5',
    ]);
    expect(settle()).toEqual(['reply: assistant answer 6']);
    const summary = (id: string) => ({ ...user(id), content: [{ text: `<state_snapshot>${id}</state_snapshot>` }] });
    const compressed = (...ids: string[]) => ({ $set: { messages: [...ids.map(summary), user('5'), answer('6')] } });
    expect([...read(compressed('s1'), compressed('s1', 's2'), compressed('s1')), ...settle()]).toHaveLength(2);
  });

  test('needs its beginning for a list with a message that is not known to have existed', () => {
    const { reader, read, settle } = feed('gemini');
    read(user('1'), answer('2'));
    settle();
    const follow = (...ids: string[]) => {
      const next = openLog('gemini', reader.checkpoint() ?? {});
      readSteps(next, toLines(JSON.stringify({ $set: { messages: ids.map(user) } })));
      return next.needsStart();
    };
    expect([follow('1'), follow('1', '3')]).toEqual([false, true]);
  });

  test('can go back to before a message', () => {
    const { reader, read } = feed('gemini');
    read(user('1'), answer('2'), user('3'), answer('4'), { $rewindTo: '3' });
    const steps = readSteps(reader, [{ number: 6, text: JSON.stringify(user('5')) }]);
    expect(forksOf(steps)).toEqual([{ branch: 1, leaves: 0, after: '2' }]);
  });

  test('needs its beginning to go back to before a message older than the checkpoint', () => {
    const { reader, read, settle } = feed('gemini');
    read(user('1'), answer('2'), user('3'), answer('4'));
    settle();
    const next = openLog('gemini', reader.checkpoint() ?? {});
    readSteps(next, toLines([{ $rewindTo: '3' }, user('5')].map((object) => JSON.stringify(object)).join('\n')));
    expect(next.needsStart()).toBe(true);
  });
});

describe('a pi log without ids', () => {
  const line = (message: object) => ({ type: 'message', timestamp: '2025-11-20T23:33:50.804Z', message });
  const answer = (text: string, call: string | null, total: number) => {
    const content = [{ type: 'text', text }, ...(call === null ? [] : [{ type: 'toolCall', id: call, name: 'read' }])];
    const usage = { input: total, output: 1, cacheRead: 0, cacheWrite: 0 };
    return line({ role: 'assistant', content, usage, model: 'm', stopReason: call === null ? 'stop' : 'toolUse' });
  };
  const result = (toolCallId: string) =>
    line({ role: 'toolResult', toolCallId, content: [{ type: 'text', text: 'x' }] });

  test('separates a turn’s answers, with their calls and tokens', () => {
    const { reader } = feed('pi');
    const session = { type: 'session', id: 's', timestamp: '2025-11-20T23:33:50.804Z', cwd: '/p' };
    const user = line({ role: 'user', content: [{ type: 'text', text: 'go' }] });
    const lines = [session, user, answer('one', 'a', 10), result('a'), answer('two', 'b', 20), result('b'), user];
    const steps = readSteps(
      reader,
      toLines([...lines, answer('three', null, 30)].map((one) => JSON.stringify(one)).join('\n')),
    );
    expect(outline(unitsOf(steps))).toEqual([
      'message: user go',
      'exchange: assistant one | call read | result [{"type":"text","text":"x"}]',
      'exchange: assistant two | call read | result [{"type":"text","text":"x"}]',
      'message: user go',
    ]);
    reader.settle();
    const all = unitsOf([...steps, ...reader.take()]);
    expect(all.map(({ tokens }) => tokens?.input ?? 0)).toEqual([0, 10, 20, 0, 30]);
    expect(reader.unknown()).toEqual([]);
  });
});

describe('a Copilot log', () => {
  const metrics = (inputTokens: number, outputTokens: number) => ({
    modelMetrics: { m: { usage: { inputTokens, outputTokens, cacheReadTokens: 5 } } },
  });
  const line = (type: string, data: object) => ({ type, data, timestamp: '2026-03-07T15:23:45.175Z' });
  const answer = (messageId: string, outputTokens: number) =>
    line('assistant.message', { messageId, content: messageId, outputTokens });
  const tokensOf = (...objects: object[]) => {
    const reader = openLog('copilot');
    const steps = readSteps(reader, toLines(objects.map((object) => JSON.stringify(object)).join('\n')));
    reader.settle();
    expect(reader.unknown()).toEqual([]);
    return unitsOf([...steps, ...reader.take()]).map(({ model, tokens }) => [model, tokens?.input, tokens?.output]);
  };

  test('from an older version has each answer’s output, and the remaining tokens at its end', () => {
    const end = (input: number, output: number) => line('session.shutdown', metrics(input, output));
    const first = [line('user.message', { content: 'q' }), answer('a', 7), line('assistant.turn_end', {}), end(100, 9)];
    const read = [
      [undefined, undefined, undefined],
      [undefined, 0, 7],
      ['m', 100, 2],
    ];
    expect(tokensOf(...first)).toEqual(read);
    expect(tokensOf(...first, answer('b', 3), end(150, 12))).toEqual([...read, [undefined, 0, 3], ['m', 50, 0]]);
    expect(tokensOf(...first, answer('b', 3), end(50, 3))).toEqual([...read, [undefined, 0, 3], ['m', 50, 0]]);
  });

  test('has no unknown kinds among the lines that its program is known to write', () => {
    const kinds = ['session.mode_changed', 'session.plan_changed', 'skill.invoked', 'system.notification'];
    expect(tokensOf(...kinds.map((kind) => line(kind, {})))).toEqual([]);
    expect(tokensOf(line('session.task_complete', { summary: 'It is done.' }))).toHaveLength(1);
  });
});

test.each(['custom', 'hookMessage', 'branchSummary'])('a pi message by %s is a note', (role) => {
  const { read } = feed('pi');
  const content = [{ type: 'text', text: 'Look again.' }];
  const message = { role, content, summary: 'Look again.' };
  const line = { type: 'message', id: '1', parentId: null, timestamp: '2025-11-20T23:33:50.804Z', message };
  expect(read(line)).toEqual([expect.stringMatching(/^reply: note .*Look again\.$/s)]);
});

describe('an opencode log', () => {
  const info = { id: 'm', role: 'assistant', sessionID: 's', time: { created: 1_769_248_800_000 } };

  test('has messages that are complete immediately', () => {
    const { reader, read } = feed('opencode');
    const parts = [
      { type: 'text', id: 'p', text: 'I look.' },
      { type: 'tool', id: 'q', tool: 'read', callID: 'c', state: { status: 'running', input: {} } },
    ];
    const missing = '"The source of this conversation holds no result of this call"';
    expect(read({ info, parts })).toEqual([`exchange: assistant I look. | call read | error ${missing}`]);
    expect(reader.checkpoint()).not.toBeNull();
    expect(read({ info, parts })).toEqual([]);
  });

  test('comes from an exported document as well', () => {
    const document = { info: { id: 's', parentID: 't', title: 'Routes' }, messages: [{ info, parts: [] }] };
    const lines = toAgentLines(JSON.stringify(document));
    expect(lines.map((line) => JSON.parse(line))).toEqual([{ session: document.info }, { info, parts: [] }]);
    const { reader, read } = feed('opencode');
    read(...lines.map((line) => JSON.parse(line)));
    expect(reader.head()).toMatchObject({ id: 's', parentId: 't', title: 'Routes' });
  });
});

describe('a Codex log', () => {
  const item = (type: string, payload: object) => ({ type: 'response_item', payload: { type, ...payload } });
  const said = (role: string, text: string) => item('message', { role, content: [{ type: 'input_text', text }] });
  const event = (type: string, payload: object = {}) => ({ type: 'event_msg', payload: { type, ...payload } });

  test('reports an interruption by the user once, and the prompts around it are two messages', () => {
    const { read } = feed('codex');
    const note = 'note The user interrupted the model here.';
    expect(
      read(said('user', 'Go'), said('user', '<turn_aborted>\nx'), event('turn_aborted'), said('user', 'Stay')),
    ).toEqual(['message: user Go', `reply: ${note}`, 'message: user Stay']);
    expect(read(event('turn_aborted'))).toEqual([`reply: ${note}`]);
  });

  test('waits for its first message, however often it is settled before', () => {
    const { reader, read, settle } = feed('codex');
    expect(read(event('task_started'), event('task_complete'))).toEqual([]);
    expect([settle(), reader.checkpoint()]).toEqual([[], null]);
    expect(read(said('user', 'Go'))).toEqual(['message: user Go']);
  });

  test('of a fork names the session that it continues, and how much of it', () => {
    const { reader, read } = feed('codex');
    const history_base = { thread_id: 'a', end_byte_offset: 12 };
    read({ type: 'session_meta', payload: { id: 'b', cwd: '/x', forked_from_id: 'a', history_base } });
    expect(reader.head()).toMatchObject({ id: 'b', forkedFrom: { id: 'a', endOffset: 12 }, parentId: null });
  });
});

describe('a summary of the preceding text is not a repetition if its id differs, whatever its words are', () => {
  const timestamp = '2026-01-24T10:00:00.000Z';
  const item = (payload: object) => ({ type: 'response_item', timestamp, payload });
  const claude = (uuid: string, parentUuid: string | null, type: string, more: object) => {
    const message = { id: uuid, role: type, content: [{ type: 'text', text: 'Did it.' }] };
    return { type, uuid, parentUuid, sessionId: 's', timestamp, message, ...more };
  };
  const qwen = (uuid: string, parentUuid: string | null, type: string, more: object) => {
    return { type, uuid, parentUuid, sessionId: 's', timestamp, ...more };
  };
  const snapshot = { role: 'user', parts: [{ text: '<state_snapshot>Did it.</state_snapshot>' }] };
  const compressedHistory = [snapshot, { role: 'model', parts: [{ text: 'Got it.' }] }];
  const opencode = (
    id: string,
    role: string,
    more: object,
    parts = [{ type: 'text', id: `${id}-t`, text: 'Did it.' }],
  ) => {
    return { info: { id, role, sessionID: 's', time: { created: 1_769_248_800_000 }, ...more }, parts };
  };
  const event = (id: string, parentId: string | null, type: string, data: object) => ({
    id,
    parentId,
    type,
    data,
    timestamp,
  });
  const pi = (id: string, parentId: string | null, more: object) => ({
    type: 'message',
    id,
    parentId,
    timestamp,
    ...more,
  });
  const piSaid = (role: string, more: object = {}) => ({
    message: { role, content: [{ type: 'text', text: 'Did it.' }], ...more },
  });
  const gemini = (id: string, text = 'Did it.') => ({ id, type: 'user', timestamp, content: [{ text }] });
  const geminiList = (...ids: string[]) => {
    return {
      $set: { messages: [...ids.map((id) => gemini(id, '<state_snapshot>Did it.</state_snapshot>')), gemini('1')] },
    };
  };

  /** The agent's own words, and two compactions after them with the same words. */
  const logs: [string, AgentName, object[]][] = [
    [
      'Claude Code',
      'claude-code',
      [
        claude('1', null, 'user', {}),
        claude('2', '1', 'assistant', {}),
        claude('b1', null, 'system', { subtype: 'compact_boundary', logicalParentUuid: '2' }),
        claude('s1', 'b1', 'user', { isCompactSummary: true }),
        claude('b2', null, 'system', { subtype: 'compact_boundary', logicalParentUuid: 's1' }),
        claude('s2', 'b2', 'user', { isCompactSummary: true }),
      ],
    ],
    [
      'Codex',
      'codex',
      [
        item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Did it.' }] }),
        item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Did it.' }] }),
        { type: 'compacted', timestamp, payload: { message: 'Did it.' } },
        { type: 'compacted', timestamp, payload: { message: 'Did it.' } },
      ],
    ],
    ['Gemini', 'gemini', [gemini('1'), { ...gemini('2'), type: 'gemini' }, geminiList('s1'), geminiList('s1', 's2')]],
    [
      'opencode',
      'opencode',
      [
        opencode('1', 'user', {}),
        opencode('2', 'assistant', {}),
        opencode('s1', 'assistant', { summary: true }),
        opencode('s2', 'assistant', { summary: true }),
      ],
    ],
    [
      'Copilot',
      'copilot',
      [
        event('1', null, 'user.message', { content: 'Did it.' }),
        event('2', '1', 'assistant.message', { messageId: 'm', content: 'Did it.' }),
        event('s1', '2', 'session.compaction_complete', { summaryContent: 'Did it.' }),
        event('s2', 's1', 'session.compaction_complete', { summaryContent: 'Did it.' }),
      ],
    ],
    [
      'qwen',
      'qwen',
      [
        qwen('1', null, 'user', { message: { role: 'user', parts: [{ text: 'Did it.' }] } }),
        qwen('2', '1', 'assistant', { message: { role: 'model', parts: [{ text: 'Did it.' }] } }),
        qwen('s1', '2', 'system', { subtype: 'chat_compression', systemPayload: { compressedHistory } }),
        qwen('s2', 's1', 'system', { subtype: 'chat_compression', systemPayload: { compressedHistory } }),
      ],
    ],
    [
      'pi',
      'pi',
      [
        pi('1', null, piSaid('user')),
        pi('2', '1', piSaid('assistant')),
        pi('s1', '2', { type: 'compaction', summary: 'Did it.' }),
        pi('s2', 's1', { type: 'compaction', summary: 'Did it.' }),
      ],
    ],
    [
      'pi, as a message',
      'pi',
      [
        pi('1', null, piSaid('user')),
        pi('2', '1', piSaid('assistant')),
        pi('s1', '2', piSaid('compactionSummary', { summary: 'Did it.' })),
        pi('s2', 's1', piSaid('compactionSummary', { summary: 'Did it.' })),
      ],
    ],
  ];

  test.each(logs)('%s', (_title, agent, lines) => {
    const { reader, read, settle } = feed(agent);
    const units = [...read(...lines), ...settle()];
    const [asked, answered, ...summaries] = units;
    expect([asked, answered]).toEqual(['message: user Did it.', 'reply: assistant Did it.']);
    expect(summaries).toHaveLength(2);
    for (const one of summaries)
      expect(one).toMatch(/^reply: assistant \[The conversation was compacted here\..*Did it\./s);
    expect(reader.report().summaries).toBe(2);
    expect(reader.unknown()).toEqual([]);
  });

  test.each(logs)('%s, after a checkpoint', (_title, agent, lines) => {
    const { reader, read, settle } = feed(agent);
    read(...lines.slice(0, -1));
    settle();
    const next = openLog(agent, reader.checkpoint() ?? {});
    const units = unitsOf(
      readSteps(
        next,
        toLines(JSON.stringify(lines.at(-1))).map(({ text }) => ({ number: 9, text })),
      ),
    );
    next.settle();
    const found = [...units, ...unitsOf(next.take())];
    expect(next.needsStart() || found.length === 1).toBe(true);
  });
});
