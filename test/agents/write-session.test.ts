import fc from 'fast-check';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { toHistory } from '../../src/conversation/history/fold-history.ts';
import type { History } from '../../src/conversation/history/history.ts';
import type { KnownRecord, TranscriptRecord } from '../../src/conversation/records/record.ts';
import { agents, openableAgents, type AgentName } from '../../src/agents/agents.ts';
import { renderOpenai } from '../../src/conversation/history/render-openai.ts';
import { openLog } from '../support/agent-logs.ts';
import { keptLog } from '../support/conversation-logs.ts';
import { assistant, call, fold, partial, result, user } from '../support/conversations.ts';
import { importOptions, importText } from '../support/import-source.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const session = {
  id: '0199aaaa-0000-7000-8000-000000000001',
  cwd: '/home/ada/shop',
  startedAt: '2026-02-01T00:00:00.000Z',
  provider: 'openai',
};
const note = { type: 'note', id: 'n', timestamp: '', text: 'Nobody said this.' } as const;

const renderers = new Map(
  await Promise.all(openableAgents.map(async (name) => [name, await agents[name].openWith?.render()] as const)),
);
const render = (agent: AgentName, history: History, given = session) => {
  const id = agents[agent].openWith?.toId?.(given.id) ?? given.id;
  return renderers.get(agent)?.(history, { ...given, id }, importOptions.hash) ?? [];
};
/** opencode reads one document; the journal of its session has these messages as lines. */
const parse = (lines: string[]) =>
  lines
    .map((line) => JSON.parse(line) as Record<string, any>)
    .flatMap((one) => (Array.isArray(one['messages']) ? [one, ...(one['messages'] as (typeof one)[])] : [one]));

const toMessages = (records: TranscriptRecord[]) =>
  renderOpenai(toHistory([{ turn: '01', transcript: { records, skipped: [], repaired: [] } }]));

/** The messages that an import finds in the log. */
function importAgain(agent: AgentName, history: History): unknown[] {
  const text = render(agent, history)
    .map((line) => `${line}\n`)
    .join('');
  return toMessages(importText(agent, text).units.flatMap((unit): TranscriptRecord[] => unit.records));
}

/** The messages that capturing finds in it by following the log while it grows. */
function followAgain(agent: AgentName, history: History): unknown[] {
  const reader = openLog(agent);
  for (const [at, line] of parse(render(agent, history)).entries())
    reader.line({ number: at + 1, text: JSON.stringify(line) });
  reader.settle();
  return toMessages(reader.take().flatMap((step) => ('unit' in step ? step.unit.records : [])));
}

const readers = { importAgain, followAgain };

const talk: KnownRecord[] = [
  user('0199bbbb-0000-7000-8000-000000000001', 'Read both'),
  assistant('a1', 'I look.'),
  call('c1'),
  call('c2', { path: 'b.ts' }),
  result('c1', 'A'),
  result('c2', 'no such file', { isError: true }),
  note,
  assistant('a2', 'There is only one.'),
  user('u2', 'And now?'),
  partial('p1', 'I was going to'),
];

describe('a log written for another agent', () => {
  test('by Claude Code has a line for each block, each a child of the one before', () => {
    const lines = parse(render('claude-code', fold(...talk)));
    expect(lines.map(({ type, message }) => [type, message.content[0].type ?? message.content])).toEqual([
      ['user', 'Read both'],
      ['assistant', 'text'],
      ['assistant', 'tool_use'],
      ['assistant', 'tool_use'],
      ['user', 'tool_result'],
      ['user', 'tool_result'],
      ['assistant', 'text'],
      ['user', 'And now?'],
      ['assistant', 'text'],
    ]);
    expect(lines.map(({ parentUuid }) => parentUuid)).toEqual([null, ...lines.slice(0, -1).map(({ uuid }) => uuid)]);
    expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(lines.length);
    expect(new Set(lines.slice(1, 4).map(({ message }) => message.id)).size).toBe(1);
    expect(lines[6]?.['message'].id).not.toBe(lines[1]?.['message'].id);
    expect(lines[5]?.['message'].content[0]).toMatchObject({ content: 'no such file', is_error: true });
    expect(lines[4]?.['message'].content[0]).not.toHaveProperty('is_error');
    for (const one of lines) expect(one).toMatchObject({ sessionId: session.id, cwd: session.cwd });
  });

  test('names no model that did not answer, and keeps ids that are UUIDs', () => {
    const lines = parse(render('claude-code', fold(...talk)));
    const answers = lines.filter(({ type }) => type === 'assistant');
    expect(new Set(answers.map(({ message }) => message.model))).toEqual(new Set(['<synthetic>']));
    expect(lines[0]?.['uuid']).toBe('0199bbbb-0000-7000-8000-000000000001');
    for (const { uuid } of lines) expect(uuid).toMatch(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  });

  test("gives a record the same id every time, whatever the session's name", () => {
    const [one, other] = [session, { ...session, id: '0199aaaa-0000-7000-8000-000000000002' }].map((named) =>
      parse(render('claude-code', fold(...talk), named)).map(({ uuid }) => uuid),
    );
    expect(one).toEqual(other);
  });

  test('by Codex begins with its head, and has each text for the model and for the screen', () => {
    const lines = parse(render('codex', fold(...talk)));
    expect(lines[0]).toMatchObject({
      type: 'session_meta',
      payload: { id: session.id, cwd: session.cwd, model_provider: 'openai', originator: 'git-teddy' },
    });
    expect(lines.slice(1).map(({ payload }) => payload.type)).toEqual(
      [
        'message user_message message agent_message function_call function_call function_call_output function_call_output',
        'message agent_message message user_message message agent_message',
      ]
        .join(' ')
        .split(' '),
    );
    expect(lines[8]?.['payload'].output).toBe('Error: no such file');
  });

  test('by pi has an answer’s texts and calls in one message, each a child of the one before', () => {
    const [head, ...lines] = parse(render('pi', fold(...talk)));
    expect(head).toMatchObject({ type: 'session', version: 3, id: session.id, cwd: session.cwd });
    const shape = lines.map(({ message: { role, content } }) => [role, ...content.map(({ type }: any) => type)]);
    expect(shape).toEqual([
      ['user', 'text'],
      ['assistant', 'text', 'toolCall', 'toolCall'],
      ['toolResult', 'text'],
      ['toolResult', 'text'],
      ['assistant', 'text'],
      ['user', 'text'],
      ['assistant', 'text'],
    ]);
    expect(lines.map(({ parentId }) => parentId)).toEqual([null, ...lines.slice(0, -1).map(({ id }) => id)]);
    expect(lines[1]?.['message']).toMatchObject({ provider: 'openai', stopReason: 'toolUse' });
    expect([lines[2], lines[3]].map((line) => line?.['message'].isError)).toEqual([false, true]);
  });

  test.each(openableAgents)('by %s marks an interrupted answer, and closes a call without a result', (agent) => {
    const open = fold(user('u1', 'Go'), partial('p1', 'I was'), call('c1'));
    const text = render(agent, open).join('\n');
    expect(text).toContain('I was [interrupted]');
    expect(text).toContain('No result of this tool was recorded');
  });

  test.each(openableAgents)(
    'by %s begins with the user, has a name that every provider accepts, and only complete characters',
    (agent) => {
      const odd = { ...call('c1', { text: '\ud800' }), tool_name: 'mcp.read file' } as KnownRecord;
      const text = render(agent, fold(assistant('a1', 'Hello \udc00'), odd, result('c1', ''))).join('\n');
      expect(text).toContain('mcp_read_file');
      expect(text).toContain('(The conversation begins with the assistant.)');
      expect(text).not.toMatch(/\\ud[89a-f]/);
      expect(text).toContain('(no output)');
    },
  );

  test.each(openableAgents)('by %s has each record’s time, or its start’s if there is none', (agent) => {
    const heads = [undefined, 'session_meta', 'event_msg', 'session'];
    const lines = parse(
      render(agent, fold({ ...user('u1', 'Go'), timestamp: 'yesterday' } as KnownRecord, assistant('a', 'Yes'))),
    );
    const times = lines
      .filter(({ type, parts }) => parts !== undefined || !heads.includes(type as string | undefined))
      .map(({ timestamp, info }) =>
        info === undefined ? timestamp : new Date(info.time.created as number).toISOString(),
      );
    expect(times).toEqual([session.startedAt, '2026-01-24T10:00:00.000Z']);
  });

  describe.each(Object.entries(readers))('%s', (_name, readAgain) => {
    test.each(openableAgents)('has the same messages in the form of %s', (agent) => {
      expect(readAgain(agent, fold(...talk))).toEqual(renderOpenai(fold(...talk)));
    });

    propertyTest.each(openableAgents)('has the same messages in the form of %s, whatever they are', (agent) => {
      fc.assert(
        fc.property(keptLog, (log) => {
          const history = fold(...log);
          fc.pre(history.turns.length > 0);
          expect(readAgain(agent, history)).toEqual(renderOpenai(history));
        }),
        runs(50),
      );
    });
  });
});

const samples = { 'claude-code': 'claude-2.1.330', codex: 'codex', gemini: 'gemini', opencode: 'opencode', pi: 'pi' };
const shared = new URL('../../../shared/agents/', import.meta.url);

/** `a.b`: the types of this field in any line; a call's input is the model's own. */
function shapeOf(lines: object[]): Map<string, Set<string>> {
  const shape = new Map<string, Set<string>>();
  const visit = (path: string, value: unknown): void => {
    const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
    shape.set(path, (shape.get(path) ?? new Set()).add(type));
    if (/\.(?:input|arguments|args|content\[\]\.content)$/.test(path) || type === 'null') return;
    if (Array.isArray(value)) for (const one of value) visit(`${path}[]`, one);
    else if (typeof value === 'object')
      for (const [key, one] of Object.entries(value ?? {})) visit(`${path}.${key}`, one);
  };
  for (const line of lines) {
    const { type, payload } = line as { type: string; payload?: { type?: string; role?: string } };
    visit(`${type} ${payload?.type ?? ''} ${payload?.role ?? ''}`.trim(), line);
  }
  return shape;
}

describe.runIf(existsSync(shared))('beside the logs that the agents write', () => {
  test.each(openableAgents)('a log by %s has no additional field, and none of another type', (agent) => {
    const directory = new URL(`${samples[agent as keyof typeof samples]}/`, shared);
    const names = readdirSync(directory).filter((name) => /^[^.]+\.jsonl?$/.test(name));
    const real = shapeOf(
      names.flatMap((name) => {
        const text = readFileSync(new URL(name, directory), 'utf8').trim();
        return parse(name.endsWith('.json') ? [text] : text.split('\n'));
      }),
    );
    for (const [path, types] of shapeOf(parse(render(agent, fold(...talk))))) {
      // The events in rollouts without pages: a resumed one gets more of them from Codex itself.
      if (path.startsWith('event_msg user_message') || path.startsWith('event_msg agent_message')) continue;
      // The first line is the child of none; in pi's own logs it is about the model.
      if (path === 'message.parentId') types.delete('null');
      expect({ path, types: [...types].filter((type) => !real.get(path)?.has(type)) }).toEqual({ path, types: [] });
    }
  });
});
