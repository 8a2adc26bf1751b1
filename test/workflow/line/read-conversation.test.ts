import { describe, expect } from 'vitest';
import type { TurnRecords } from '../../../src/conversation/history/fold-history.ts';
import type { Oid } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { changeGlobal } from '../../../src/workflow/line/global-branch.ts';
import { readConversation } from '../../../src/workflow/line/read-conversation.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { assistantSays, assistantWrites, userSays, writeTurns } from '../../support/transcripts.ts';
import { create, line, planOf, run, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

/** `01 user/text: Hello`, a row for each record. */
function rowsOf(turns: TurnRecords[]): string[] {
  return turns.flatMap(({ turn: name, transcript }) =>
    transcript.records.map((record) => {
      if (record.type === 'other' || !('message' in record)) return `${name} ${record.type}`;
      const { message, source } = record;
      const said = 'file' in message ? `<${message.file}>` : (message.content.split('\n')[0] ?? '');
      return `${name} ${record.type}/${source}: ${said}`;
    }),
  );
}

async function rowsAt(project: MemoryProject, wish: { selector?: string; commit?: string } = {}): Promise<string[]> {
  return rowsOf((await readConversation(project, wish)).turns);
}

describe('a conversation', () => {
  slowTest('contains every turn in order, plans with their content, and reports as messages behind them', async () => {
    const project = await given.session();
    await turn(project, 'Make a', create('a.txt'));
    await say(project, 'Why?', 'Because.');
    const { turns, ...place } = await readConversation(project, {});
    expect(place).toEqual({ session, line, commit: await project.tipOf(line), repairs: [] });
    expect(rowsOf(turns)).toEqual([
      '01 user/text: Make a',
      '01 assistant/plan: # Do it',
      '01 user/report: version: 1',
      '02 user/text: Why?',
      '02 assistant/text: Because.',
    ]);
    const report = turns[0]?.transcript.records[2];
    expect(report).toMatchObject({ id: '01/report.md', timestamp: expect.stringMatching(/^2026-01-24T10:/) });
    expect(report).toMatchObject({
      message: { content: await project.read(`.teddy/sessions/${session}/01/report.md`) },
    });
  });

  test('on a branch is that branch’s, without turns after the fork point', async () => {
    const project = await given.session();
    await say(project, 'One', 'A');
    await say(project, 'Two', 'B');
    await branchSession(project, { turn: '02', switch: true });
    await say(project, 'Another', 'C');
    const main = ['01 user/text: One', '01 assistant/text: A', '02 user/text: Two', '02 assistant/text: B'];
    expect(await rowsAt(project, { selector: session })).toEqual(main);
    expect(await rowsAt(project, { selector: `${line}--02-branch-01` })).toEqual([
      ...main.slice(0, 2),
      '02-branch-01 user/text: Another',
      '02-branch-01 assistant/text: C',
    ]);
  });

  test('at a commit shows the line at that time, and the user’s own commits do not hide it', async () => {
    const project = await given.session();
    await say(project, 'One', 'A');
    const before = await project.tipOf(line);
    await say(project, 'Two', 'B');
    const own = await project.commit('My own\n', { 'README.md': 'mine\n' });
    expect(await rowsAt(project, { commit: before })).toEqual(['01 user/text: One', '01 assistant/text: A']);
    const { line: named, commit, turns } = await readConversation(project, { commit: own });
    expect([named, commit, turns.length]).toEqual([null, own, 2]);
  });

  test('is in order beyond 99 turns, with branches behind the turn that they fork from', async () => {
    const project = await given.session();
    const names = ['100', '99', '02-branch-02', '02-branch-01', '02', '09', '10'];
    await writeTurns(project, line, Object.fromEntries(names.map((name) => [name, { records: [userSays(name)] }])));
    const { turns } = await readConversation(project, {});
    expect(turns.map((one) => one.turn)).toEqual(['02', '02-branch-01', '02-branch-02', '09', '10', '99', '100']);
  });

  test('contains nothing from other sessions in the tree, nor files outside a turn', async () => {
    const project = await given.session();
    await say(project, 'Mine', 'Yes.');
    const other = '.teddy/sessions/20260101-other/01/transcript.jsonl';
    await project.commit('Merged by a forge\n', {
      [other]: '{"type":"user","id":"x","message":{"role":"user","content":"Foreign"}}\n',
    });
    const odd = ['notes', '00', '1', '01/output', '02-branch'];
    const written = Object.fromEntries(odd.map((name) => [name, { records: [userSays(`In ${name}`)] }]));
    await writeTurns(project, line, { ...written, '02': { records: [userSays('Still mine')] } });
    const tip = await project.tipOf(line);
    expect(await project.readAt(tip, other)).toContain('Foreign');
    for (const name of odd)
      expect(await project.readAt(tip, `.teddy/sessions/${session}/${name}/transcript.jsonl`)).toContain('In ');
    expect((await rowsAt(project)).filter((row) => row.includes('user'))).toEqual([
      '01 user/text: Mine',
      '02 user/text: Still mine',
    ]);
  });

  test('without a turn is empty', async () => {
    expect(await readConversation(await given.session(), {})).toMatchObject({ session, turns: [], repairs: [] });
  });
});

describe('a turn’s file', () => {
  test('that no record refers to has a record all the same: the plan at the end, the report behind it', async () => {
    const project = await given.session();
    await writeTurns(project, line, {
      '01': { records: [userSays('Plan it')], plan: '# Lost\n', report: 'version: 1\n' },
      '02': { plan: '# Alone\n' },
      '03': { report: 'version: 3\n' },
    });
    const { turns, repairs } = await readConversation(project, {});
    expect(rowsOf(turns)).toEqual([
      '01 user/text: Plan it',
      '01 assistant/plan: # Lost',
      '01 user/report: version: 1',
      '02 assistant/plan: # Alone',
      '03 user/report: version: 3',
    ]);
    expect(repairs).toEqual([]);
  });

  test('that a record refers to appears once, at the place of the record', async () => {
    const project = await given.session();
    const report = { ...userSays(''), message: { role: 'user', file: 'report.md' }, source: 'report' };
    await writeTurns(project, line, {
      '01': {
        records: [userSays('Go'), assistantWrites('plan.md'), assistantSays('Wait.'), JSON.stringify(report)],
        plan: '# Plan\n',
        report: 'version: 1\n',
      },
    });
    expect(await rowsAt(project)).toEqual([
      '01 user/text: Go',
      '01 assistant/plan: # Plan',
      '01 assistant/text: Wait.',
      '01 user/report: version: 1',
    ]);
  });

  test('that is missing is reported, and nothing else is read instead', async () => {
    const project = await given.session();
    await project.write({ 'secret.txt': 'x' });
    await writeTurns(project, line, {
      '01': { records: [userSays('Go'), assistantWrites('plan.md')] },
      '02': { records: [userSays('And'), assistantWrites('../../../../README.md')] },
    });
    const { turns, repairs } = await readConversation(project, {});
    expect(rowsOf(turns)).toEqual([
      '01 user/text: Go',
      '01 assistant/plan: <plan.md>',
      '02 user/text: And',
      '02 assistant/plan: <../../../../README.md>',
    ]);
    expect(repairs).toMatchObject([
      { turn: '01', text: expect.stringContaining('"plan.md"') },
      { turn: '02', text: expect.stringContaining('README.md"') },
    ]);
  });
});

describe('a commit outside every session', () => {
  test('is refused, and so is a missing one', async () => {
    const project = await memoryProject();
    const first = await project.tipOf('main');
    await start(project);
    await say(project, 'One', 'A');
    await expect(readConversation(project, { commit: first })).rejects.toMatchObject({
      code: 'NOT_ON_LINE',
      exitCode: 3,
    });
    for (const commit of ['none', 'f'.repeat(40)])
      await expect(readConversation(project, { commit })).rejects.toMatchObject({
        code: 'UNKNOWN_COMMIT',
        exitCode: 2,
      });
  });

  test('is refused if it contains a decision about memos and no session', async () => {
    const project = await given.session();
    await changeGlobal(
      project,
      'turn 01 memo: x\n\nTeddy-Session: 20260124-add-login\nTeddy-Entry: memo\nTeddy-Entry-Id: 1\nTeddy-Created: x\nTeddy-Format: 1\n',
      () => [{ name: 'memos.yaml', text: '- tabs\n' }],
    );
    await expect(readConversation(project, { commit: 'refs/heads/teddy/global' })).rejects.toMatchObject({
      code: 'NOT_ON_LINE',
      message: expect.stringContaining(`does not contain ${session}`),
    });
  });
});

describe('a history that is cut off', () => {
  /** A user's commit whose parent is missing, as at the end of a shallow clone. */
  async function cut(project: MemoryProject, ...sessions: string[]): Promise<Oid> {
    const text = '{"type":"user","id":"x","timestamp":"","message":{"role":"user","content":"Kept"},"source":"text"}\n';
    const files = Object.fromEntries(sessions.map((name) => [`.teddy/sessions/${name}/01/transcript.jsonl`, text]));
    const own = await project.commit('My own\n', files);
    const { store } = project.repository;
    const walk = store.firstParents.bind(store);
    store.firstParents = async function* (from, not) {
      for await (const found of walk(from, not)) {
        yield found;
        if (found.oid === own) return;
      }
    };
    return own;
  }

  test('is read from the tree, if that contains one session', async () => {
    const project = await memoryProject();
    const commit = await cut(project, '20260101-only');
    const found = await readConversation(project, { commit });
    expect(found).toMatchObject({ session: '20260101-only', line: null, commit });
    expect(rowsOf(found.turns)).toEqual(['01 user/text: Kept']);
  });

  test('is read from the requested session, if the tree contains several', async () => {
    const project = await memoryProject();
    const commit = await cut(project, '20260101-one', '20260102-two');
    await project.setRef('refs/remotes/origin/teddy/20260101-one', commit);
    expect(await readConversation(project, { commit: 'refs/remotes/origin/teddy/20260101-one' })).toMatchObject({
      session: '20260101-one',
    });
    await expect(readConversation(project, { commit })).rejects.toMatchObject({
      code: 'DAMAGED_SESSION',
      message: expect.stringContaining('20260101-one, 20260102-two'),
      hint: expect.stringContaining('--unshallow'),
    });
  });

  test('is refused if the tree contains none', async () => {
    const project = await memoryProject();
    const commit = await cut(project);
    await expect(readConversation(project, { commit })).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
  });
});

test('a run’s report and the next plan alternate', async () => {
  const project = await given.session();
  await turn(project, 'Make a', create('a.txt'));
  await say(project, 'Make b', planOf([create('b.txt')]));
  await run(project);
  expect((await rowsAt(project)).map((row) => row.split(' ')[1])).toEqual([
    'user/text:',
    'assistant/plan:',
    'user/report:',
    'user/text:',
    'assistant/plan:',
    'user/report:',
  ]);
});
