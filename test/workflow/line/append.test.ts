import { describe, expect } from 'vitest';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import type { Oid, RefName, TurnName } from '../../../src/names.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { append, type Draft } from '../../../src/workflow/line/append.ts';
import { describeRecords } from '../../../src/workflow/line/describe-records.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, run, say, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;

const withTurn = () => given.executedTurns({ One: [create('one.txt')] });

const published = ['plan.md', 'report.md', 'transcript.jsonl', '_context.log', 'turn.context'];

describe('a user’s commit', () => {
  test('that deletes published files is repaired by the next entry, on the line and on disk', async () => {
    const project = await withTurn();
    const before = await project.tipOf(line);
    const gone = Object.fromEntries(
      [...published.map((name) => `01/${name}`), 'session.context'].map((name) => [`${dir}/${name}`, null]),
    );
    await project.commit('Tidy up\n', { ...gone, 'own.txt': 'x\n' });
    await say(project, 'Two', 'Fine.');
    const tip = await project.tipOf(line);
    for (const name of published) {
      expect(await project.readAt(tip, `${dir}/01/${name}`)).toBe(await project.readAt(before, `${dir}/01/${name}`));
      expect(await project.read(`${dir}/01/${name}`)).toBe(await project.readAt(before, `${dir}/01/${name}`));
    }
    expect(await project.readAt(tip, 'own.txt')).toBe('x\n');
    expect((await storyOfLine(project)).slice(-3)).toEqual(["'Tidy up'", 'message 02', 'reply 02']);
    expect((await project.repository.workspace.status({ untracked: true })).edits).toEqual([]);
  });

  test('that changes a published file is repaired as well, and an edit of session.context is kept', async () => {
    const project = await withTurn();
    const before = await project.tipOf(line);
    await project.commit('Rewrite\n', {
      [`${dir}/01/report.md`]: 'status: GREAT\n',
      [`${dir}/session.context`]: 'one.txt\n',
    });
    await say(project, 'Two', planOf([create('two.txt')]));
    await run(project);
    const tip = await project.tipOf(line);
    expect(await project.readAt(tip, `${dir}/01/report.md`)).toBe(await project.readAt(before, `${dir}/01/report.md`));
    expect(await project.readAt(tip, `${dir}/session.context`)).toBe('one.txt\n');
    expect(await project.read(`${dir}/01/report.md`)).toBe(await project.readAt(before, `${dir}/01/report.md`));
  });

  test('while a plan is pending does not hide the plan', async () => {
    const project = await given.session();
    await say(project, 'One', planOf([create('one.txt')]));
    await project.commit('Tidy up\n', { [`${dir}/01/plan.md`]: null });
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
    expect(await project.readAt(await project.tipOf(line), `${dir}/01/plan.md`)).toBe(planOf([create('one.txt')]));
  });
});

describe('turns', () => {
  slowTest('are counted from 01 in order, past 09 and 99', async () => {
    const project = await given.session();
    // Many turns in one commit, which a user's commit could not make but an older line has.
    await say(project, 'One', 'x');
    expect(await say(project, 'Two', 'x')).toMatchObject({ turn: '02' });
    for (let count = 3; count <= 11; count += 1) await say(project, 'More', 'x');
    expect((await storyOfLine(project)).slice(-4)).toEqual(['message 10', 'reply 10', 'message 11', 'reply 11']);
  });

  test('in other sessions in the tree do not count', async () => {
    const project = await given.session({
      'README.md': '# Notes\n',
      '.teddy/sessions/20250101-old/07/plan.md': '# Old\n',
    });
    expect(await say(project, 'One', 'x')).toMatchObject({ turn: '01' });
  });
});

describe('several drafts', () => {
  const ref = `refs/heads/${line}` as RefName;
  const path = `${dir}/01/transcript.jsonl`;
  const user = (id: string, content: string): KnownRecord => ({
    type: 'user',
    id,
    timestamp: '2026-01-24T10:00:00.000Z',
    message: { role: 'user', content },
    source: 'text',
  });
  const toDraft = (record: KnownRecord): Draft => ({
    kind: 'message',
    turn: '01' as TurnName,
    label: describeRecords,
    records: [record],
  });
  const begin = async () => {
    const project = await given.session();
    return project;
  };
  const texts = async (project: MemoryProject, commit: string) =>
    decodeTranscript((await project.readAt(commit as Oid, path)) ?? '').records.flatMap((record) =>
      record.type === 'user' && 'content' in record.message ? [record.message.content] : [],
    );

  test.each([3, 30])('are %i commits, each with the records so far, and one move of the ref', async (count) => {
    const project = await begin();
    const before = await project.tipOf(line);
    const { store } = project.repository;
    let moves = 0;
    const updateRefs: typeof store.updateRefs = (...args) => ((moves += 1), store.updateRefs(...args));
    const counting = { ...project, repository: { ...project.repository, store: { ...store, updateRefs } } };
    const said = Array.from({ length: count }, (_, at) => `Message ${at}`);
    const drafts = said.map((text, at) => toDraft(user(`r${at}`, text)));
    const { commit, entry } = await append(counting, { ref, workspace: null }, () => drafts);
    expect(moves).toBe(1);
    expect(await project.tipOf(line)).toBe(commit);
    let at = count;
    for await (const { oid, commit: found } of store.firstParents(commit, [before])) {
      expect(await texts(project, oid)).toEqual(said.slice(0, at));
      expect(found.message).toContain(`turn 01 message: Message ${(at -= 1)}\n`);
    }
    expect(at).toBe(0);
    expect(entry.id > `${decodeEntry((await store.readCommit(before)).message)?.id}`).toBe(true);
  });

  test('are rebuilt on top of commits that came in between', async () => {
    const project = await begin();
    const racing = withRace(project, () =>
      append(project, { ref, workspace: null }, () => [toDraft(user('x', 'First'))]),
    );
    const drafts = [toDraft(user('a', 'Second')), toDraft(user('b', 'Third'))];
    const { commit } = await append(racing, { ref, workspace: null }, () => drafts);
    expect(await texts(project, commit)).toEqual(['First', 'Second', 'Third']);
  });

  test('are masked, with labels masked before they are cut and one warning; a model’s answer is kept', async () => {
    const secret = `hunter${'2'.repeat(200)}`;
    const project = await begin();
    project.secrets.set(secret, 'secret');
    const drafts = [toDraft(user('a', `It is ${secret}`)), toDraft(user('b', secret))];
    await append(project, { ref, workspace: null }, () => drafts);
    expect(project.said.filter((text) => text.includes('masked'))).toEqual(['warning: 2 secrets were masked in it.']);
    const plan = { kind: 'plan' as const, turn: '01' as TurnName, label: { title: 'x', details: [] } };
    const files = { 'plan.md': `# ${secret}\n` };
    const sha256Of = async (draft: Draft) => {
      const { commit, entry } = await append(project, { ref, workspace: null }, () => [draft]);
      const bytes = (await project.readAt(commit, `${dir}/01/plan.md`)) ?? '';
      expect(entry.sha256).toBe(project.hash(bytes));
      return bytes;
    };
    expect(await sha256Of({ ...plan, files })).toBe('# [masked: secret]\n');
    expect(await sha256Of({ ...plan, files, isAnswer: true })).toBe(`# ${secret}\n`);
    const tip = await project.tipOf(line);
    expect(await texts(project, tip)).toEqual(['It is [masked: secret]', '[masked: secret]']);
    expect(await project.repository.store.findCommits('hunter', ref)).toEqual([]);
  });
});
