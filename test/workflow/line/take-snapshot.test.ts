import { describe, expect } from 'vitest';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { given } from '../../support/given.ts';
import { path } from '../../support/disk.ts';
import { create, line, planOf, run, say, session, start, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;

const begin = () => given.session({ 'README.md': '# Notes\n', 'a.txt': 'a\n', 'b.txt': 'b\n' });

describe('the user’s own edits', () => {
  test('of tracked files become one commit before the message, and index and files stay', async () => {
    const project = await begin();
    await project.write({ 'a.txt': 'edited\n', 'b.txt': null, 'untracked.txt': 'u\n' });
    await say(project, 'Go on', 'Fine.');
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'snapshot', 'message 01', 'reply 01']);
    const tip = await project.tipOf(line);
    expect(await project.readAt(tip, 'a.txt')).toBe('edited\n');
    expect(await project.readAt(tip, 'b.txt')).toBeNull();
    expect(await project.readAt(tip, 'untracked.txt')).toBeNull();
    expect(project.said).toContain('Your own edits to 2 files were committed as a snapshot.');
    const status = await project.repository.workspace.status({ untracked: true });
    expect(status).toEqual({ edits: [], unmerged: [], untracked: ['untracked.txt'] });
  });

  test('of untracked files are named once: all before the first message, later only new ones', async () => {
    const project = await begin();
    const told = () => project.said.filter((text) => text.startsWith('Left out of the session'));
    await project.write({ '.gitignore': '*.log\n', 'x.log': 'l\n', 'early.txt': 'e\n', 'made.txt': 'm\n' });
    await say(project, 'Go on', 'Fine.');
    const advice = '`git add` the ones that belong in it.';
    const first = `Left out of the session, because git does not track them: .gitignore, early.txt, made.txt. ${advice}`;
    expect(told()).toEqual([first]);
    await say(project, 'And on', 'Fine.');
    expect(told()).toEqual([first]);
    await project.write({ 'late.txt': 'l\n', 'a.txt': 'edited\n' });
    const born = new Date(Date.now() + 1000 * 60 * 60);
    const bornOnDisk = async (name: string) => (name === 'late.txt' ? born : new Date(0));
    Object.assign(project.repository.workspace, { bornOnDisk });
    await say(project, 'Still on', 'Fine.');
    expect(told()).toEqual([first, `Left out of the session, because git does not track them: late.txt. ${advice}`]);
  });

  test('that are fully staged join the commit, additions included, which is reported', async () => {
    const project = await begin();
    await project.write({ 'new.txt': 'n\n', 'a.txt': 'edited\n' });
    await project.stage('new.txt');
    await say(project, 'Go on', 'Fine.');
    expect(await project.readAt(await project.tipOf(line), 'new.txt')).toBe('n\n');
    expect(project.said.at(-1)).toMatch(/2 files .* \(1 of them staged\)/);
  });

  test('that are partly staged are refused by name, with nothing changed', async () => {
    const project = await begin();
    const tip = await project.tipOf(line);
    await project.write({ 'a.txt': 'staged\n' });
    await project.stage('a.txt');
    await project.write({ 'a.txt': 'further\n' });
    const before = await project.repository.workspace.status({ untracked: true });
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({
      code: 'PARTIALLY_STAGED',
      message: expect.stringContaining('a.txt'),
    });
    expect(await project.tipOf(line)).toBe(tip);
    expect(await project.repository.workspace.status({ untracked: true })).toEqual(before);
  });

  test('are refused under teddy.snapshot=none, and an unknown value is reported', async () => {
    const project = await begin();
    const tip = await project.tipOf(line);
    await project.write({ 'a.txt': 'edited\n' });
    project.configuration.set('teddy.snapshot', 'none');
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'UNCOMMITTED_EDITS' });
    project.configuration.set('teddy.snapshot', 'some');
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'BAD_SETTING' });
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('with conflicts are refused', async () => {
    const project = await begin();
    project.state.unmerged = [path('a.txt')];
    await project.write({ 'a.txt': '<<<<<<<\n' });
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
  });

  test('list their paths in the label, at most ten lines', async () => {
    const project = await begin();
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`f${at}.txt`, 'x\n']));
    await project.commit('Many\n', many);
    await project.write(Object.fromEntries(Object.keys(many).map((name) => [name, 'y\n'])));
    await say(project, 'Go on', null);
    const { parents } = await project.repository.store.readCommit(await project.tipOf(line));
    const { message } = await project.repository.store.readCommit(parents[0] ?? (await project.tipOf(line)));
    expect(decodeEntry(message)).toMatchObject({
      kind: 'snapshot',
      turn: null,
      title: "12 files of the user's own edits",
    });
    expect(decodeEntry(message)?.details.at(-1)).toBe('and 3 more');
    expect(decodeEntry(message)?.details.length).toBe(10);
  });
});

describe('in .teddy/', () => {
  test('session.context is the user’s to edit', async () => {
    const project = await begin();
    await project.write({ [`${dir}/session.context`]: 'a.txt\n' });
    await say(project, 'Go on', 'Fine.');
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'snapshot', 'message 01', 'reply 01']);
    expect(await project.readAt(await project.tipOf(line), `${dir}/session.context`)).toBe('a.txt\n');
  });

  test('edits of memos and global.context are merged into teddy/global, entry by entry', async () => {
    const project = await begin();
    await project.write({ '.teddy/memos.yaml': '- one\n- two\n', '.teddy/global.context': 'a.txt\n' });
    await say(project, 'First', 'Fine.');
    expect(await project.readAt(await project.tipOf('teddy/global'), 'memos.yaml')).toBe('- one\n- two\n');
    expect(await project.readAt(await project.tipOf('teddy/global'), 'global.context')).toBe('a.txt\n');
    // Another session adds a fact and removes one, then this one edits its older copy.
    await project.switchTo('main');
    await start(project, 'other');
    await project.write({ '.teddy/memos.yaml': '- two\n- three\n' });
    await say(project, 'Second', 'Fine.');
    await project.switchTo(line);
    await project.write({ '.teddy/memos.yaml': '- one\n- two\n- four\n' });
    await say(project, 'Third', 'Fine.');
    expect(await project.readAt(await project.tipOf('teddy/global'), 'memos.yaml')).toBe('- two\n- three\n- four\n');
    expect(await project.read('.teddy/memos.yaml')).toBe('- two\n- three\n- four\n');
  });

  test('an unreadable memo list is refused, with nothing changed', async () => {
    const project = await begin();
    const [tip, global] = [await project.tipOf(line), await project.tipOf('teddy/global')];
    await project.write({ '.teddy/memos.yaml': 'a: map\n' });
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
    expect([await project.tipOf(line), await project.tipOf('teddy/global')]).toEqual([tip, global]);
  });

  slowTest('a missing file is written again, without a snapshot', async () => {
    const project = await begin();
    await say(project, 'Hello', 'Hi.');
    await project.write({ [`${dir}/01/transcript.jsonl`]: null, '.teddy/memos.yaml': null });
    await say(project, 'Go on', 'Fine.');
    expect(await project.read(`${dir}/01/transcript.jsonl`)).toContain('Hello');
    expect(await project.read('.teddy/memos.yaml')).toBe('');
    expect((await storyOfLine(project)).slice(-2)).toEqual(['message 02', 'reply 02']);
  });

  test('a changed plan is PLAN_MODIFIED, another changed file FILE_MODIFIED, each with the remedy', async () => {
    const project = await begin();
    await say(project, 'Do it', planOf([create('new.txt')]));
    await run(project);
    for (const [name, code] of [
      ['plan.md', 'PLAN_MODIFIED'],
      ['_context.log', 'FILE_MODIFIED'],
    ] as const) {
      const before = (await project.read(`${dir}/01/${name}`)) ?? '';
      await project.write({ [`${dir}/01/${name}`]: `${before}more\n` });
      await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({
        code,
        hint: expect.stringContaining(`git restore --source=HEAD --staged --worktree ${dir}/01/${name}`),
      });
      await project.write({ [`${dir}/01/${name}`]: before });
    }
  });

  test('a file that another command was just publishing does not count as changed', async () => {
    const project = await begin();
    await say(project, 'Do it', planOf([create('new.txt')]));
    await run(project);
    const name = `${dir}/01/_context.log`;
    const published = (await project.read(name)) ?? '';
    await project.write({ [name]: `${published}more\n` });
    const { workspace } = project.repository;
    const look = workspace.headAndStatus.bind(workspace);
    let looks = 0;
    const headAndStatus: typeof look = async (options) => {
      looks += 1;
      if (looks === 2) await project.write({ [name]: published });
      return look(options);
    };
    Object.assign(workspace, { headAndStatus });
    await say(project, 'Go on', 'Fine.');
    expect((await storyOfLine(project)).slice(-2)).toEqual(['message 02', 'reply 02']);
  });
});
