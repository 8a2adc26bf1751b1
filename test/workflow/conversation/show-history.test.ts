import { afterEach, describe, expect, vi } from 'vitest';
import { historyFormats, type HistoryFormat } from '../../../src/conversation/history/history.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { showHistory } from '../../../src/workflow/conversation/show-history.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { assistantSays, brings, calls, userSays, writeTurns, type WrittenTurn } from '../../support/transcripts.ts';
import { create, line, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

afterEach(() => vi.restoreAllMocks());

/** This many turns, each with a question and an answer. */
async function talk(project: MemoryProject, count: number): Promise<void> {
  const turns = Array.from({ length: count }, (_, at): [string, WrittenTurn] => [
    String(at + 1).padStart(2, '0'),
    { records: [userSays(`Question ${at + 1}`), assistantSays(`Answer ${at + 1}`)] },
  ]);
  await writeTurns(project, line, Object.fromEntries(turns));
}

const show = (project: MemoryProject, format: HistoryFormat = 'openai', target?: string, from?: string) =>
  showHistory(project, { format, target, from });
const textOf = async (...args: Parameters<typeof show>) => (await show(...args)).text;

describe('the history of a session', () => {
  test('is a JSON array with a message on each line, and the same as values', async () => {
    const project = await given.session();
    await say(project, 'Why?', 'Because.');
    await writeTurns(project, line, {
      '02': {
        records: [userSays('Read'), calls('c', 'read_file', { path: 'a' }), brings('c', 'A'), assistantSays('Done')],
      },
    });
    const shown = await show(project);
    expect(shown).toMatchObject({ session, commit: await project.tipOf(line), format: 'openai', repairs: [] });
    const call = { id: 'c', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } };
    const messages = [
      { role: 'user', content: 'Why?' },
      { role: 'assistant', content: 'Because.' },
      { role: 'user', content: 'Read' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'A' },
      { role: 'assistant', content: 'Done' },
    ];
    expect(shown.messages).toEqual(messages);
    expect(shown.text).toBe(`[\n${messages.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
  });

  test('before the first turn is an empty array, and an empty text', async () => {
    const project = await given.session();
    expect(await textOf(project)).toBe('[]\n');
    expect(await textOf(project, 'anthropic')).toBe('[]\n');
    expect(await textOf(project, 'jsonl')).toBe('');
    expect(await textOf(project, 'markdown')).toBe('');
  });

  test('as jsonl and markdown is the text itself', async () => {
    const project = await given.session();
    await say(project, 'Why?', 'Because.');
    for (const format of ['jsonl', 'markdown'] as const) {
      const { text, messages } = await show(project, format);
      expect(messages).toBe(text);
      expect(text).toContain('Because.');
    }
  });

  slowTest('begins at a turn, including its branches; a turn beyond the last is unknown', async () => {
    const project = await given.session();
    for (const number of [1, 2, 3]) await say(project, `Question ${number}`, `Answer ${number}`);
    await branchSession(project, { turn: '02', switch: true });
    await say(project, 'Another', 'Way.');
    const told = async (from: string, target?: string) =>
      ((await show(project, 'openai', target, from)).messages as { content: string }[]).map(({ content }) => content);
    expect(await told('3', session)).toEqual(['Question 3', 'Answer 3']);
    expect(await told('02', session)).toEqual(['Question 2', 'Answer 2', 'Question 3', 'Answer 3']);
    expect(await told('02')).toEqual(['Another', 'Way.']);
    await expect(told('04', session)).rejects.toMatchObject({ code: 'UNKNOWN_TURN', exitCode: 2 });
    await expect(told('x')).rejects.toMatchObject({ code: 'UNKNOWN_TURN' });
  });

  test('is the same at every commit that contains the same turns', async () => {
    const project = await given.session();
    await turn(project, 'Make a', create('a.txt'));
    const report = await project.tipOf(line);
    const own = await project.commit('My own\n', { 'README.md': 'mine\n' });
    for (const format of historyFormats) {
      const text = await textOf(project, format);
      expect(await textOf(project, format, report)).toBe(text);
      expect(await textOf(project, format, own)).toBe(text);
    }
  });

  test('names the repairs by turn and line, and does not change the stored text', async () => {
    const project = await given.session();
    await writeTurns(project, line, {
      '01': { records: [userSays('Hi'), 'no record', calls('c', 'read_file', {})] },
    });
    const before = await project.tipOf(line);
    const { repairs } = await show(project);
    expect(repairs).toMatchObject([
      { kind: 'line-skipped', turn: '01', line: 2 },
      { kind: 'call-without-result', turn: '01' },
    ]);
    expect(await project.tipOf(line)).toBe(before);
  });
});

describe('a target', () => {
  test('is resolved first as a session, by a part of its id, and then as a commit', async () => {
    const project = await given.session();
    await say(project, 'One', 'A');
    const before = await project.tipOf(line);
    await say(project, 'Two', 'B');
    await project.setRef('refs/tags/login', before);
    expect((await show(project, 'openai', 'login')).commit).toBe(await project.tipOf(line));
    expect((await show(project, 'openai', 'refs/tags/login')).commit).toBe(before);
    expect((await show(project, 'openai', before)).commit).toBe(before);
  });

  test('that is neither is named by its form', async () => {
    const project = await given.session();
    const refusal = async (target?: string) =>
      (await show(project, 'openai', target).catch((error: unknown) => error)) as object;
    expect(await refusal('nothing')).toMatchObject({ code: 'UNKNOWN_SESSION' });
    expect(await refusal('HEAD~9')).toMatchObject({ code: 'UNKNOWN_COMMIT' });
    expect(await refusal('abcdef12')).toMatchObject({ code: 'UNKNOWN_COMMIT' });
    expect(await refusal('main')).toMatchObject({ code: 'NOT_ON_LINE' });
  });

  test('is optional if there is a session, and without one there is no history to show', async () => {
    const project = await memoryProject();
    await expect(show(project)).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
    await start(project);
    expect(await show(project)).toMatchObject({ session });
  });
});

describe('a long history', () => {
  slowTest('is cached once it was rendered, with the same bytes and repairs', async () => {
    const project = await given.session();
    await talk(project, 200);
    await writeTurns(project, line, { '201': { records: [userSays('Hi'), 'no record'] } });
    const { repository } = project;
    for (const format of historyFormats) {
      const { text, repairs, messages } = await show(project, format);
      expect(repairs).toHaveLength(1);
      const read = vi.spyOn(repository.store, 'readFilesBelow');
      const again = await show(project, format);
      expect(read).not.toHaveBeenCalled();
      expect([again.text, again.repairs, again.messages]).toEqual([text, repairs, messages]);
      read.mockRestore();
    }
  });

  slowTest('has each of its messages on its own line, however many there are', async () => {
    const project = await given.session();
    await talk(project, 501);
    const { text, messages } = await show(project);
    expect(messages).toHaveLength(1002);
    expect(text).toBe(`[\n${(messages as unknown[]).map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
  });

  slowTest('is cached only for its commit, format and first turn', async () => {
    const project = await given.session();
    await talk(project, 201);
    const whole = await textOf(project);
    expect(await textOf(project, 'jsonl')).not.toBe(whole);
    const later = await textOf(project, 'openai', undefined, '02');
    expect(later).not.toBe(whole);
    expect(await textOf(project, 'openai', undefined, '02')).toBe(later);
    await say(project, 'More', 'Yes.');
    expect(await textOf(project)).toContain('More');
  });

  slowTest('is rendered anew if the cache is missing or damaged', async () => {
    const project = await given.session();
    await talk(project, 200);
    const text = await textOf(project);
    for (const damaged of [null, '', 'no line', 'not JSON\n[]\n', '{}\n[]\n']) {
      vi.spyOn(project.repository.cache, 'read').mockResolvedValueOnce(damaged === null ? null : Buffer.from(damaged));
      expect(await textOf(project)).toBe(text);
    }
  });

  slowTest('is not cached while it is short', async () => {
    const project = await given.session();
    await talk(project, 199);
    const write = vi.spyOn(project.repository.cache, 'write');
    await show(project);
    expect(write).not.toHaveBeenCalled();
  });
});
