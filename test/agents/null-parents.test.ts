import { describe, expect, test } from 'vitest';
import type { AgentName } from '../../src/agents/agents.ts';
import { followPath } from '../../src/conversation/logs/rewinds.ts';
import { forksOf, openLog, readSteps, toLines, unitsOf } from '../support/agent-logs.ts';
import { importOptions, outline, openImporter } from '../support/import-source.ts';

/** A prompt or an answer with this parent. */
type Line = (id: string, parent: string | null, isPrompt: boolean) => object;

const time = '2026-01-24T10:00:00.000Z';
const claude: Line = (uuid, parentUuid, isPrompt) => ({
  uuid,
  parentUuid,
  sessionId: 's',
  timestamp: time,
  type: isPrompt ? 'user' : 'assistant',
  message: isPrompt ? { role: 'user', content: uuid } : { id: `m${uuid}`, content: [{ type: 'text', text: uuid }] },
});
const forms: [AgentName, Line][] = [
  ['claude-code', claude],
  [
    'qwen',
    (uuid, parentUuid, isPrompt) => ({
      uuid,
      parentUuid,
      sessionId: 's',
      timestamp: time,
      type: isPrompt ? 'user' : 'assistant',
      message: { role: isPrompt ? 'user' : 'model', parts: [{ text: uuid }] },
    }),
  ],
  [
    'copilot',
    (id, parentId, isPrompt) => ({
      type: isPrompt ? 'user.message' : 'assistant.message',
      id,
      parentId,
      timestamp: time,
      data: { messageId: id, content: id },
    }),
  ],
  [
    'pi',
    (id, parentId, isPrompt) => ({
      type: 'message',
      id,
      parentId,
      timestamp: time,
      message: { role: isPrompt ? 'user' : 'assistant', content: [{ type: 'text', text: id }] },
    }),
  ],
];

const toText = (lines: object[]): string => lines.map((line) => JSON.stringify(line)).join('\n');
const all = ['message: user q1', 'reply: assistant a1', 'message: user q2', 'reply: assistant a2'];

describe.each(forms)('a log by %s', (agent, line) => {
  const log = (parents: [string | null, string | null, string | null, string | null]) =>
    toLines(toText(['q1', 'a1', 'q2', 'a2'].map((id, at) => line(id, parents[at] ?? null, at % 2 === 0))));

  test('in which no line names a parent is one conversation, wherever it was cut', () => {
    const lines = log([null, null, null, null]);
    for (let cut = 0; cut <= lines.length; cut += 1) {
      const first = openLog(agent);
      const steps = readSteps(first, lines.slice(0, cut));
      first.settle();
      steps.push(...first.take());
      const next = openLog(agent, first.checkpoint() ?? undefined);
      steps.push(...readSteps(next, lines.slice(cut)));
      next.settle();
      steps.push(...next.take());
      expect([cut, next.needsStart(), forksOf(steps), outline(unitsOf(steps))]).toEqual([cut, false, [], all]);
    }
  });

  test('in which the user went back to the start has a fork there', () => {
    const steps = readSteps(openLog(agent), log([null, 'q1', null, 'q2']));
    expect(forksOf(steps)).toEqual([{ branch: 1, leaves: 0, after: null }]);
  });
});

test('an imported log in which no line names a parent is one conversation', () => {
  const read = (parents: (string | null)[]) => {
    const importer = openImporter('claude-code', importOptions);
    const lines = ['q1', 'a1', 'q2', 'a2'].map((id, at) => claude(id, parents[at] ?? null, at % 2 === 0));
    const units = [...importer.push(toText(lines)), ...importer.end()];
    const rewinds = importer.rewinds?.() ?? null;
    const paths = rewinds === null ? [] : [rewinds.main, ...rewinds.attempts.map(({ path }) => path)];
    return paths.length === 0 ? [outline(units)] : paths.map((path) => outline(units.filter(followPath(path))));
  };
  expect(read([null, null, null, null])).toEqual([all]);
  expect(read([null, 'q1', null, 'q2'])).toEqual([all.slice(2), all.slice(0, 2)]);
});
