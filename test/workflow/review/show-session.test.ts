import { describe, expect } from 'vitest';
import type { RefName } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { logSession } from '../../../src/workflow/review/log-session.ts';
import { readRecordedLine } from '../../../src/workflow/turn/read-recording.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { given } from '../../support/given.ts';
import { assistant, call, result, user } from '../../support/records.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, edit, line, planOf, run, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

async function withTurns(): Promise<MemoryProject> {
  const project = await given.session();
  await turn(project, 'One', create('one.txt', 'new\n'));
  await say(project, 'Two', 'Just words.');
  return project;
}

describe('list', () => {
  test('without a session is empty', async () => {
    expect(await listSessions(await memoryProject())).toEqual([]);
  });

  test('shows each session’s progress, oldest first', async () => {
    const project = await withTurns();
    await start(project, 'second');
    const [first, second] = await listSessions(project);
    expect(first).toMatchObject({
      session,
      line,
      remote: null,
      turns: 2,
      status: 'closed',
      last: 'reply: Just words.',
      conversationBranches: [],
      current: false,
    });
    expect(second).toMatchObject({ session: '20260124-second', turns: 0, status: 'new', current: true });
    expect((first?.created ?? '') < (second?.created ?? '')).toBe(true);
  });

  test.each([
    ['open', null],
    ['planned', planOf([create('a.txt')])],
    ['closed', 'Words.'],
    ['closed', '# Hi\n\n## Message\n\nHello.\n'],
  ])('shows a turn as %s after %j', async (status, answer) => {
    const project = await given.session();
    await say(project, 'Do it', answer);
    expect(await listSessions(project)).toMatchObject([{ turns: 1, status }]);
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    expect(await listSessions(project)).toMatchObject([{ turns: 1, status }]);
  });

  test('shows a turn as open after an interrupted answer, and as closed after its report', async () => {
    const project = await given.session();
    const model = scriptedModel({ texts: ['Ha'], error: new Error('cut') }, planOf([create('a.txt')]));
    await expect(say(project, 'Do it', model)).rejects.toThrow('cut');
    expect(await listSessions(project)).toMatchObject([{ turns: 1, status: 'open' }]);
    await say(project, undefined, model);
    await run(project);
    expect(await listSessions(project)).toMatchObject([{ status: 'closed', last: 'report: SUCCESS Do it' }]);
  });

  test('names conversation branches, and marks a line that only a remote has', async () => {
    const project = await withTurns();
    await branchSession(project, { turn: '02', switch: false });
    expect(await listSessions(project)).toMatchObject([{ conversationBranches: [`${line}--02-branch-01`] }]);
    const tip = await project.tipOf(line);
    await project.switchTo('main');
    await project.setRef(`refs/remotes/origin/${line}`, tip);
    await project.repository.store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }], 'x');
    expect(await listSessions(project)).toMatchObject([{ session, remote: 'origin', turns: 2, current: false }]);
  });
});

describe('the state of a listed session', () => {
  const stateOf = async (project: MemoryProject) => (await listSessions(project)).map(({ state }) => state);

  test('is open, pending, closed or failed according to its last turn', async () => {
    const project = await given.session();
    expect(await listSessions(project)).toMatchObject([{ state: 'open', title: '' }]);
    await say(project, 'Do it', null);
    expect(await stateOf(project)).toEqual(['open']);
    await say(project, undefined, planOf([create('a.txt')]));
    expect(await listSessions(project)).toMatchObject([{ state: 'pending', title: 'Do it' }]);
    await run(project);
    expect(await listSessions(project)).toMatchObject([{ state: 'closed', title: 'Do it' }]);
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    await turn(project, 'Break', edit('a.txt', 'not there', 'x'));
    expect(await listSessions(project)).toMatchObject([{ state: 'failed', title: 'Do it' }]);
  });

  test('is landed after a landing or a merge, also on the branch it started from, until it continues', async () => {
    const project = await memoryProject();
    await project.switchTo('develop', await project.tipOf('main'));
    await start(project);
    await turn(project, 'One', create('one.txt'));
    const first = await project.tipOf(line);
    expect(await stateOf(project)).toEqual(['closed']);
    const landing = `Land it\n\nTeddy-Landed-From: ${session}@${first}\n`;
    await project.switchTo('develop');
    await project.commit(landing, { 'one.txt': 'one.txt\n' });
    expect(await stateOf(project)).toEqual(['landed']);
    expect(await stateOf(project)).toEqual(['landed']);
    await project.switchTo(line);
    await turn(project, 'Two', create('two.txt'));
    expect(await stateOf(project)).toEqual(['closed']);
    await project.setRef('refs/heads/main', await project.tipOf(line));
    expect(await stateOf(project)).toEqual(['landed']);
  });

  test('is landed even if this clone is behind the landing', async () => {
    const project = await given.session();
    await turn(project, 'One', create('one.txt'));
    const behind = await project.tipOf(line);
    await turn(project, 'Two', create('two.txt'));
    const tip = await project.tipOf(line);
    await project.switchTo('main');
    await project.commit(`Land it\n\nTeddy-Landed-From: ${session}@${tip}\n`, { 'one.txt': 'one.txt\n' });
    await project.setRef(`refs/heads/${line}`, behind);
    expect(await stateOf(project)).toEqual(['landed']);
  });

  test('takes no git process for each session', async () => {
    const project = await memoryProject();
    const { store } = project.repository;
    const asked: string[] = [];
    for (const name of ['isAncestor', 'findReachable', 'firstParentsOf', 'listRefs'] as const) {
      const original = store[name] as (...args: unknown[]) => unknown;
      Object.assign(store, { [name]: (...args: unknown[]) => (asked.push(name), original(...args)) });
    }
    for (const name of ['a', 'b', 'c']) {
      await project.switchTo('main');
      await start(project, name);
      await turn(project, name, create(`${name}.txt`));
    }
    asked.length = 0;
    expect(await stateOf(project)).toEqual(['closed', 'closed', 'closed']);
    expect(asked.toSorted()).toEqual(['findReachable', 'findReachable', 'firstParentsOf', 'listRefs']);
    asked.length = 0;
    await stateOf(project);
    expect(asked).toEqual(['listRefs']);
  });

  test('is filtered by mine to those whose start has my e-mail address', async () => {
    const project = await withTurns();
    const { store } = project.repository;
    expect(await listSessions(project, { mine: true })).toHaveLength(1);
    store.ident = async () => ({ author: 'B <b@example.com> 1 +0000', committer: 'B <b@example.com> 1 +0000' });
    expect(await listSessions(project, { mine: true })).toEqual([]);
    expect(await listSessions(project)).toHaveLength(1);
  });
});

describe('log', () => {
  test('has every entry and the user’s own commits, newest first, and ends with the start', async () => {
    const project = await withTurns();
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    const { entries, line: name } = await logSession(project, undefined);
    expect(name).toBe(line);
    expect(entries.map(({ entry, subject }) => entry?.kind ?? subject)).toEqual([
      'Mine',
      'reply',
      'message',
      'report',
      'plan',
      'message',
      'start',
    ]);
    expect(entries[0]).toMatchObject({ entry: null, author: { name: 'Ada Example' }, at: '2026-01-24T10:00:00.000Z' });
  });
});

describe('show', () => {
  test('has message, plan, report and diff of a turn, by default the last', async () => {
    const project = await withTurns();
    const shown = await showTurn(project, { turn: '1' });
    expect(shown).toMatchObject({
      session,
      line,
      turn: '01',
      status: 'closed',
      messages: ['One'],
      plan: planOf([create('one.txt', 'new\n')]),
      reply: null,
      report: { run_summary: { status: 'SUCCESS' } },
    });
    expect(shown.diff).toContain('+new');
    const last = await showTurn(project, {});
    expect(last).toMatchObject({ turn: '02', reply: 'Just words.', replyIsPartial: false, plan: null, diff: '' });
  });

  test('has a turn’s message, plan, report and diff, by default the last turn’s', async () => {
    const project = await given.session();
    const append = (...records: KnownRecord[]) => appendRecords(project, { records });
    await append(user('a', 'Look.', 'voice_transcription'));
    await append(assistant('b', 'I look.'), call('c'), result('c', '# Notes'));
    await append(assistant('d', 'Notes.'));
    const { said, messages, reply } = await showTurn(project, {});
    expect(said.map(({ title, tool, text }) => [title, tool, text])).toEqual([
      ['Message (spoken)', undefined, 'Look.'],
      ['Reply', undefined, 'I look.'],
      ['Tool call', 'read_file', '{"path":"README.md"}\n'],
      ['Result', undefined, '# Notes'],
      ['Reply', undefined, 'Notes.'],
    ]);
    expect({ messages, reply }).toEqual({ messages: ['Look.'], reply: 'Notes.' });
  });

  test('reports that an answer is incomplete', async () => {
    const project = await given.session();
    const model = scriptedModel({ texts: ['Ha'], error: new Error('cut') });
    await expect(say(project, 'Do it', model)).rejects.toThrow('cut');
    expect(await showTurn(project, {})).toMatchObject({ status: 'open', reply: 'Ha', replyIsPartial: true });
  });

  test('reads 02 as 02-branch-01 on a branch, and rejects unknown turns', async () => {
    const project = await withTurns();
    await expect(showTurn(project, { turn: '03' })).rejects.toMatchObject({ code: 'UNKNOWN_TURN' });
    await branchSession(project, { turn: '02', switch: true });
    expect(await showTurn(project, { turn: '02' })).toMatchObject({
      turn: '02-branch-01',
      status: 'open',
      messages: [],
    });
    await start(project, 'second');
    await expect(showTurn(project, {})).rejects.toMatchObject({ code: 'UNKNOWN_TURN' });
  });
});

describe('a recording', () => {
  slowTest('of a line has its answers with the hashes of their requests', async () => {
    const project = await withTurns();
    const plan = planOf([create('two.txt', 'new\n')]);
    await say(project, 'Three', plan);
    await say(project, 'Why?', 'Since.', { mode: 'ask' });
    await say(project, 'And?', null, { mode: 'ask' });
    const expected = [
      { turn: '01', answer: planOf([create('one.txt', 'new\n')]), messageSha256: project.hash('One') },
      { turn: '02', answer: 'Just words.', messageSha256: project.hash('Two') },
      { turn: '03', answer: plan, messageSha256: project.hash('Three') },
      { turn: '03', answer: 'Since.', messageSha256: project.hash('Why?') },
    ];
    const { store } = project.repository;
    for (const revision of [undefined, line, session]) {
      expect(await readRecordedLine(store, project.hash, revision)).toEqual(expected);
    }
    await expect(readRecordedLine(store, project.hash, 'main')).rejects.toMatchObject({ code: 'BAD_RECORDING' });
    await expect(readRecordedLine(store, project.hash, 'nothing')).rejects.toMatchObject({ code: 'BAD_RECORDING' });
  });

  test('of a store without a session does not exist', async () => {
    const project = await memoryProject();
    const reading = readRecordedLine(project.repository.store, project.hash);
    await expect(reading).rejects.toMatchObject({ code: 'BAD_RECORDING' });
  });
});
