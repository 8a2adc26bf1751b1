import { describe, expect } from 'vitest';
import { decodeEntry, encodeEntry, type Entry } from '../../../src/session/entries/entry.ts';
import { globalRef, type Oid, type RefName } from '../../../src/names.ts';
import { addMemo } from '../../../src/workflow/context/change-memos.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, memos, planOf, run, say, session, start, storyOfLine } from '../../support/turns.ts';
import { parseReport, renderReport } from '../../../src/plan/report/report-yaml.ts';
import { listProposed } from '../../../src/workflow/line/proposed-memos.ts';
import type { MemoChange } from '../../../src/session/global/memos.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

/** A pending plan with these memos; teddy/global has `spaces`. */
async function pending(...changes: string[]): Promise<MemoryProject> {
  const project = await given.session();
  await project.write({ '.teddy/memos.yaml': '# Ours\n- spaces\n' });
  await say(project, 'Do it', planOf([create('a.txt')], memos(...changes)));
  return project;
}

const yes = { memos: { kind: 'yes' as const } };

async function memosOf(project: MemoryProject, branch: string): Promise<string | null> {
  const path = branch === 'teddy/global' ? 'memos.yaml' : '.teddy/memos.yaml';
  return project.readAt(await project.tipOf(branch), path);
}

async function entryOf(project: MemoryProject, commit: Oid): Promise<Entry | null> {
  return decodeEntry((await project.repository.store.readCommit(commit)).message);
}

describe('approved memos', () => {
  slowTest('are on teddy/global and on the line under one id, before any action, comments kept', async () => {
    const project = await pending('[+] tabs', '[-] spaces');
    const { report } = await run(project, yes);
    expect(await memosOf(project, 'teddy/global')).toBe('# Ours\n- tabs\n');
    expect(await memosOf(project, line)).toBe('# Ours\n- tabs\n');
    expect(await project.read('.teddy/memos.yaml')).toBe('# Ours\n- tabs\n');
    expect((await storyOfLine(project)).slice(-3)).toEqual(['plan 01', 'memo 01', 'report 01']);
    expect(report.memos).toEqual({ added: ['tabs'], removed: ['spaces'], rejected: [] });
    const { parents } = await project.repository.store.readCommit(await project.tipOf(line));
    const [ours, theirs] = [
      await entryOf(project, parents[0] as Oid),
      await entryOf(project, await project.tipOf('teddy/global')),
    ];
    expect(ours).toEqual(theirs);
    expect(ours).toMatchObject({ kind: 'memo', title: '2 memos', details: ['[+] tabs', '[-] spaces'] });
  });

  test('that exist already, or cannot be removed because they don’t, are reported and make no entry', async () => {
    const project = await pending('[+] spaces', '[-] nothing');
    const global = await project.tipOf('teddy/global');
    const { report } = await run(project, yes);
    expect(await project.tipOf('teddy/global')).toBe(global);
    expect(report.memos).toEqual({ added: [], removed: [], rejected: [] });
    expect(project.said).toContain('Already a memo: spaces');
    expect(project.said).toContain('Not a memo, so not removed: nothing');
    expect((await storyOfLine(project)).slice(-2)).toEqual(['plan 01', 'report 01']);
  });

  test('survive a race for teddy/global: both additions are kept', async () => {
    const project = await pending('[+] tabs');
    const other = async () => {
      const { store } = project.repository;
      const tip = await project.tipOf('teddy/global');
      const { author } = await store.readCommit(tip);
      const batch = store.batch();
      const list = await batch.blob('- spaces\n- theirs\n');
      const tree = await batch.tree([{ mode: '100644', name: 'memos.yaml', oid: list }]);
      const commit = await batch.commit({ tree, parents: [tip], author, committer: author, message: 'theirs\n' });
      await batch.flush();
      await project.setRef(globalRef, commit);
    };
    const { report } = await run(withRace(project, other), yes);
    expect(await memosOf(project, 'teddy/global')).toBe('- spaces\n- theirs\n- tabs\n');
    expect(report.memos.added).toEqual(['tabs']);
  });
});

describe('an edit of the list on disk, after the plan', () => {
  test('is on the line and on teddy/global before the plan’s memos are', async () => {
    const project = await pending('[+] tabs');
    await project.write({ '.teddy/memos.yaml': '# Ours\n- spaces\n- by hand\n' });
    await run(project, yes);
    expect((await storyOfLine(project)).slice(-4)).toEqual(['plan 01', 'snapshot 01', 'memo 01', 'report 01']);
    for (const branch of ['teddy/global', line]) {
      expect(await memosOf(project, branch)).toBe('# Ours\n- spaces\n- by hand\n- tabs\n');
    }
    expect(await project.read('.teddy/memos.yaml')).toBe('# Ours\n- spaces\n- by hand\n- tabs\n');
  });
});

describe('memos that are not approved', () => {
  test('are discarded by a no, and the report says that the user was asked', async () => {
    const project = await pending('[+] tabs');
    const global = await project.tipOf('teddy/global');
    const asked: MemoChange[][] = [];
    const ask = async (changes: MemoChange[]) => (asked.push(changes), false);
    const { report } = await run(project, { memos: { kind: 'ask', ask } });
    expect(asked).toEqual([[{ kind: 'add', fact: 'tabs' }]]);
    expect(await project.tipOf('teddy/global')).toBe(global);
    expect(report.memos).toEqual({ added: [], removed: [], rejected: ['tabs'], asked: true });
    expect(parseReport(renderReport(report))).toEqual(report);
    expect(report.run_summary.status).toBe('SUCCESS');
  });

  test('wait for the user if nobody can be asked, even under -y, which is reported', async () => {
    const project = await pending('[+] tabs');
    const { report } = await run(project, { memos: { kind: 'none' } });
    expect(report.memos).toMatchObject({ added: [], rejected: [], proposed: ['tabs'] });
    expect(await listProposed(project)).toEqual(['tabs']);
    expect(parseReport(renderReport(report))).toEqual(report);
    expect(project.said.some((text) => text.startsWith('warning: ') && text.includes('--memos=yes'))).toBe(true);
  });

  test('without a question to the user are in the report without an answer', async () => {
    const [refused, removed] = [await pending('[+] tabs'), await pending('[-] spaces')];
    expect((await run(refused, { memos: { kind: 'no' } })).report.memos).not.toHaveProperty('asked');
    const { memos } = (await run(removed, { memos: { kind: 'none' } })).report;
    expect(memos).toEqual({ added: [], removed: [], rejected: ['spaces'] });
  });

  test('are not even asked about if the plan is invalid', async () => {
    const project = await given.session();
    await say(project, 'Do it', planOf([create('README.md')], memos('[+] tabs')));
    const ask = () => Promise.reject(new Error('asked'));
    const { report } = await run(project, { memos: { kind: 'ask', ask } });
    expect(report).toMatchObject({ run_summary: { status: 'VALIDATION_FAILED' }, memos: { rejected: ['tabs'] } });
    expect(report.memos).not.toHaveProperty('asked');
  });
});

describe('a crash between the two commits of a pair', () => {
  /** teddy/global has the memo, but the line does not. */
  async function crashed(...changes: string[]): Promise<{ project: MemoryProject; global: Oid }> {
    const project = await pending(...(changes.length === 0 ? ['[+] tabs'] : changes));
    const before = await project.tipOf(line);
    const failing = { ...project.repository.workspace, publish: () => Promise.reject(new Error('killed')) };
    const dying = { ...project, repository: { ...project.repository, workspace: failing } };
    await expect(run(dying, yes)).rejects.toThrow('killed');
    expect(await project.tipOf(line)).toBe(before);
    expect(await memosOf(project, 'teddy/global')).toContain('tabs');
    return { project, global: await project.tipOf('teddy/global') };
  }

  test.each([
    ['at once', []],
    ['after the user’s edits', ['snapshot 01']],
  ])('is finished by the next run, %s, under the same id, and only once', async (_, between) => {
    const { project, global } = await crashed();
    if (between.length > 0) await project.write({ 'README.md': '# Mine\n' });
    await run(project, { memos: { kind: 'no' } });
    const story = (await storyOfLine(project)).slice(-3 - between.length);
    expect(story).toEqual(['plan 01', ...between, 'memo 01', 'report 01']);
    const { parents } = await project.repository.store.readCommit(await project.tipOf(line));
    expect(await entryOf(project, parents[0] as Oid)).toEqual(await entryOf(project, global));
    expect(await project.read('.teddy/memos.yaml')).toContain('tabs');
  });

  test('is in the next run’s report, and only the other memos are asked about', async () => {
    const { project } = await crashed('[+] tabs', '[-] spaces');
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    const asked: MemoChange[][] = [];
    const ask = async (changes: MemoChange[]) => (asked.push(changes), true);
    const { report } = await run(project, { memos: { kind: 'ask', ask } });
    expect(report.memos).toEqual({ added: ['tabs'], removed: ['spaces'], rejected: [] });
    expect(asked).toEqual([]);
    expect(project.said.join('\n')).not.toContain('Already a memo');
  });

  test('is in the report even if the plan is rejected, and only undecided memos count as rejected', async () => {
    const { project } = await crashed('[+] tabs', '[+] spaces');
    const { report } = await run(project, { reject: 'no' });
    expect(report.memos).toEqual({ added: ['tabs'], removed: [], rejected: ['spaces'] });
  });

  test('is in the report after a later crash, when both commits existed', async () => {
    const project = await pending('[+] tabs');
    await addMemo(project, 'theirs');
    project.configuration.set('teddy.timeout', 'never');
    await expect(run(project, yes)).rejects.toMatchObject({ code: 'BAD_SETTING' });
    expect((await storyOfLine(project)).at(-1)).toBe('memo 01');
    project.configuration.delete('teddy.timeout');
    const { report } = await run(project, { memos: { kind: 'no' } });
    expect(report.memos).toEqual({ added: ['tabs'], removed: [], rejected: [] });
    expect((await storyOfLine(project)).slice(-3)).toEqual(['plan 01', 'memo 01', 'report 01']);
  });

  test('is finished even if others have changed the memos since', async () => {
    const { project } = await crashed();
    await addMemo(project, 'theirs');
    await run(project, { memos: { kind: 'no' } });
    expect((await storyOfLine(project)).slice(-3)).toEqual(['plan 01', 'memo 01', 'report 01']);
    expect(await memosOf(project, line)).toBe('# Ours\n- spaces\n- tabs\n- theirs\n');
  });

  slowTest('is not finished by a turn of the same name on another line', async () => {
    const project = await pending('[+] tabs');
    await project.setRef(`refs/heads/${line}--01-branch-01`, await project.tipOf(line));
    await run(project, yes);
    await project.switchTo(`${line}--01-branch-01`);
    await run(project, { memos: { kind: 'no' } });
    expect((await storyOfLine(project, `${line}--01-branch-01`)).slice(-2)).toEqual(['plan 01', 'report 01']);
  });

  slowTest('in another session is not finished by this one', async () => {
    const { project } = await crashed();
    await project.switchTo('main');
    await start(project, 'other');
    await say(project, 'Do it', planOf([create('a.txt')]));
    await run(project);
    expect(await storyOfLine(project, 'teddy/20260124-other')).not.toContain('memo 01');
  });

  test('is not recognized by a label that merely looks like an entry', async () => {
    const project = await pending('[+] tabs');
    const { store } = project.repository;
    const tip = await project.tipOf('teddy/global');
    const { tree, author } = await store.readCommit(tip);
    const batch = store.batch();
    const message = encodeEntry({
      kind: 'memo',
      session: '20250101-other' as Entry['session'],
      turn: '01' as Entry['turn'],
      id: 'x',
      created: '2025-01-01T00:00:00.000Z',
      title: `Teddy-Session: ${session}`,
      details: [],
    });
    const commit = await batch.commit({ tree, parents: [tip], author, committer: author, message });
    await batch.flush();
    await store.updateRefs([{ ref: globalRef as RefName, old: tip, new: commit }], 'x');
    await run(project, { memos: { kind: 'no' } });
    expect(await storyOfLine(project)).not.toContain('memo 01');
  });
});
