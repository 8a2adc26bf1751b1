import { describe, expect, test } from 'vitest';
import type { AgentName } from '../../../src/agents/agents.ts';
import type { AgentLogDirectory } from '../../../src/ports/disk.ts';
import { openWith } from '../../../src/workflow/conversation/open-with.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { assistantSays, brings, calls, userSays, writeTurns } from '../../support/transcripts.ts';
import { create, line, planOf, run, say, session } from '../../support/turns.ts';

interface MemoryLogs extends AgentLogDirectory {
  added: { id: string; startedAt: Date; text: string }[];
}

function memoryLogs(): MemoryLogs {
  const added: MemoryLogs['added'] = [];
  return {
    cwd: '/home/ada/shop',
    provider: 'openai',
    isInstalled: true,
    added,
    add: async (given, text) => (added.push({ ...given, text }), `/home/ada/${given.id}.jsonl`),
  };
}

function toTarget(text: string) {
  const [selector, turn] = text.split(':');
  return { selector, turn };
}

async function open(project: MemoryProject, target: string, agent: AgentName = 'claude-code') {
  const logs = memoryLogs();
  const opened = await openWith(project, toTarget(target), { agent, logs });
  const [{ text = '', id = '' } = {}] = logs.added;
  const lines = text
    .trimEnd()
    .split('\n')
    .map((one) => JSON.parse(one) as Record<string, any>);
  return { opened, text, id, lines };
}

const wordsOf = (lines: Record<string, any>[]) =>
  lines.map(({ message }) => (typeof message.content === 'string' ? message.content : message.content[0].text));

describe('opening a session with another agent', () => {
  test('hands over the complete line, with plans and reports as text', async () => {
    const project = await given.session();
    await say(project, 'Make a file', planOf([create('a.txt', 'A\n')]));
    await run(project);
    await say(project, 'Thank you', 'You are welcome.');
    const { opened, lines, id, text } = await open(project, session);
    expect(opened).toMatchObject({ session, turn: '02', turns: 2, agent: 'claude-code', id, isInstalled: true });
    expect(opened).toMatchObject({ commit: await project.tipOf(line), command: `claude --resume ${id}`, repairs: [] });
    const [message, plan, report, ...rest] = wordsOf(lines);
    expect([message, ...rest]).toEqual(['Make a file', 'Thank you', 'You are welcome.']);
    expect(plan).toContain('### CREATE');
    expect(report).toContain('run_summary');
    expect(text.endsWith('\n')).toBe(true);
  });

  test('hands over the line up to a turn, whose name may be short', async () => {
    const project = await given.session();
    for (const word of ['One', 'Two', 'Three']) await say(project, word, `${word}!`);
    const { opened, lines } = await open(project, `${session}:2`);
    expect(opened).toMatchObject({ turn: '02', turns: 2 });
    expect(opened.pendingPlan).toBe(null);
    expect(wordsOf(lines)).toEqual(['One', 'One!', 'Two', 'Two!']);
    await say(project, 'Make a file', planOf([create('a.txt', 'A\n')]));
    expect((await open(project, `${session}:2`)).opened).toMatchObject({ turn: '02', pendingPlan: '04' });
  });

  test('gives Codex an id that is ordered by time, and Claude Code a random one', async () => {
    const project = await given.session();
    await say(project, 'One', 'Two');
    const codex = await open(project, 'add-login', 'codex');
    expect(codex.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(codex.opened.command).toBe(`codex resume ${codex.id}`);
    expect(codex.lines[0]?.['payload']).toMatchObject({
      id: codex.id,
      cwd: '/home/ada/shop',
      model_provider: 'openai',
    });
    expect((await open(project, 'add-login')).id).not.toBe((await open(project, 'add-login')).id);
  });

  test('names the repairs, and closes a call that was cut off', async () => {
    const project = await given.session();
    await writeTurns(project, line, {
      '01': { records: [userSays('Read'), calls('c', 'read_file', {}), brings('x', 'X'), assistantSays('Hm')] },
    });
    const { opened, text } = await open(project, session, 'codex');
    expect(opened.repairs.map(({ kind }) => kind)).toEqual(['call-without-result', 'orphan-result']);
    expect(text).toContain('No result of this tool was recorded');
  });

  test('changes nothing in the repository', async () => {
    const project = await given.session();
    await say(project, 'One', 'Two');
    const tip = await project.tipOf(line);
    await open(project, session);
    expect(await project.tipOf(line)).toBe(tip);
  });

  test.each([
    ['no-such-session', 'UNKNOWN_SESSION'],
    [`${session}:07`, 'UNKNOWN_TURN'],
    [`${session}:`, 'UNKNOWN_TURN'],
    [`${session}:one`, 'UNKNOWN_TURN'],
    [':01', 'UNKNOWN_SESSION'],
  ])('refuses %j, and writes no log', async (target, code) => {
    const project = await given.session();
    await say(project, 'One', 'Two');
    const logs = memoryLogs();
    await expect(openWith(project, toTarget(target), { agent: 'codex', logs })).rejects.toMatchObject({ code });
    expect(logs.added).toEqual([]);
  });

  test('refuses a line without messages', async () => {
    const logs = memoryLogs();
    const opening = openWith(await given.session(), { selector: session }, { agent: 'codex', logs });
    await expect(opening).rejects.toMatchObject({
      code: 'UNKNOWN_TURN',
      message: `Nothing has been said in ${session} yet.`,
    });
    expect(logs.added).toEqual([]);
  });
});
