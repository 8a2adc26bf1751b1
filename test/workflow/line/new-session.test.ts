import { describe, expect, test } from 'vitest';
import { attributesText, sessionContextText } from '../../../src/session/global/global-files.ts';
import {
  conversationBranchRef,
  globalRef,
  runName,
  type Oid,
  type RefName,
  type TurnName,
} from '../../../src/names.ts';
import { findLine } from '../../../src/workflow/line/find.ts';
import { initProject } from '../../../src/workflow/line/global-branch.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { given } from '../../support/given.ts';
import { path } from '../../support/disk.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { create, line, say, session, start, storyOf, storyOfLine, turn } from '../../support/turns.ts';

describe('init', () => {
  test('makes teddy/global once, with the project’s documents, and reports it', async () => {
    const project = await memoryProject({ 'AGENTS.md': 'x\n', 'README.md': 'x\n', 'src/a.ts': 'x\n' });
    expect(await initProject(project)).toBe('teddy/global with global.context and memos.yaml');
    const global = await project.tipOf('teddy/global');
    expect(await project.readAt(global, 'global.context')).toMatch(/\nREADME\.md\nAGENTS\.md\n$/);
    expect(await project.readAt(global, 'memos.yaml')).toBe('');
    expect(await initProject(project)).toBeNull();
    expect(await project.tipOf('teddy/global')).toBe(global);
    expect((await project.repository.workspace.head()).ref).toBe('refs/heads/main');
  });

  test('requires the user’s identity before anything is made', async () => {
    const project = await memoryProject();
    project.identity.text = null;
    await expect(initProject(project)).rejects.toMatchObject({ code: 'NO_IDENTITY' });
    await expect(start(project)).rejects.toMatchObject({ code: 'NO_IDENTITY' });
    expect(await project.repository.store.listRefs('refs/heads/teddy/')).toEqual([]);
  });

  test('takes teddy/global from a remote that has one', async () => {
    const project = await memoryProject();
    await initProject(project);
    const theirs = await project.tipOf('teddy/global');
    await project.setRef('refs/remotes/origin/teddy/global', theirs);
    await project.repository.store.updateRefs([{ ref: globalRef, old: theirs, new: null }], 'test');
    await project.commit('More\n', { 'AGENTS.md': 'x\n' });
    expect(await initProject(project)).toBe('teddy/global, from origin/teddy/global');
    expect(await project.tipOf('teddy/global')).toBe(theirs);
  });
});

describe('a session’s start', () => {
  const second = 'refs/heads/teddy/20260124-second';

  async function baseOf(project: MemoryProject, commit: Oid): Promise<string | undefined> {
    const { message } = await project.repository.store.readCommit(commit);
    return /^Teddy-Base-Branch: (.*)$/m.exec(message)?.[1];
  }

  test('on a line that has not landed is that line, which is reported, and its base is never a line', async () => {
    const project = await given.session();
    await turn(project, 'One', create('one.txt'));
    const below = await project.tipOf(line);
    const { commit } = await start(project, 'second');
    expect((await project.repository.store.readCommit(commit)).parents).toEqual([below]);
    expect(await baseOf(project, commit)).toBe('main');
    expect(project.said).toContain(
      `Starts on top of ${session}, which has not landed. To start without it: --from main`,
    );
  });

  test('on a line that has landed is the branch where it landed, which is reported', async () => {
    const project = await given.session();
    await turn(project, 'One', create('one.txt'));
    await landSession(project, {});
    const { commit } = await start(project, 'second');
    expect((await project.repository.store.readCommit(commit)).parents).toEqual([await project.tipOf('main')]);
    expect(await project.repository.workspace.head()).toEqual({ ref: second, oid: commit });
    expect(project.said).toContain(`Starts at main, where ${session} has landed.`);
    await project.switchTo(line);
    await turn(project, 'Two', create('two.txt'));
    await start(project, 'third');
    expect(project.said).toContain(
      `Starts on top of ${session}, which has not landed. To start without it: --from main`,
    );
  });

  test('is a named branch; a missing one, and teddy/global, are refused', async () => {
    const project = await given.session();
    const from = (branch: string) => newSession(project, { name: 'second', switch: true, from: branch });
    await expect(from('nowhere')).rejects.toMatchObject({ code: 'UNKNOWN_BRANCH' });
    await expect(from('teddy/global')).rejects.toMatchObject({ code: 'USAGE' });
    const { commit } = await from('main');
    expect((await project.repository.store.readCommit(commit)).parents).toEqual([await project.tipOf('main')]);
    await project.switchTo('main');
    await project.setRef('refs/heads/my&main', await project.tipOf('main'));
    project.configuration.set('init.defaultBranch', 'my&main');
    await project.switchTo('teddy/global');
    await expect(start(project, 'third')).rejects.toMatchObject({
      code: 'USAGE',
      hint: "Switch to a branch with code first: `git switch 'my&main'`.",
    });
  });
});

describe('session new', () => {
  test('starts from HEAD, switches to the branch, and adds only its own files', async () => {
    const project = await memoryProject({ 'README.md': '# Notes\n', 'src/a.ts': 'a\n' });
    const base = await project.tipOf('main');
    const made = await start(project);
    expect(made).toMatchObject({ session, ref: `refs/heads/${line}`, switched: true });
    expect(made.directory).toBe(`.teddy/sessions/${session}`);
    const commit = await project.repository.store.readCommit(made.commit);
    expect(commit.parents).toEqual([base]);
    expect(commit.message).toMatch(/^start: 20260124-add-login\n\n/);
    expect(commit.message).toMatch(/\nTeddy-Base-Branch: main\n/);
    const changes = await project.repository.store.diffTrees(base, made.commit);
    expect(changes.map(({ change, path }) => `${change} ${path}`)).toEqual([
      'added .teddy/.gitattributes',
      'added .teddy/global.context',
      'added .teddy/memos.yaml',
      `added .teddy/sessions/${session}/session.context`,
    ]);
    expect(await project.read('.teddy/.gitattributes')).toBe(attributesText);
    expect(await project.read(`.teddy/sessions/${session}/session.context`)).toBe(sessionContextText);
    expect(await project.repository.workspace.head()).toEqual({ ref: `refs/heads/${line}`, oid: made.commit });
    expect(await project.repository.workspace.status({ untracked: true })).toEqual({
      edits: [],
      unmerged: [],
      untracked: [],
    });
  });

  test('leaves uncommitted work unchanged, staged, unstaged and untracked', async () => {
    const project = await memoryProject({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
    await project.write({ 'a.txt': 'edited\n', 'b.txt': 'staged\n', 'own.txt': 'own\n' });
    await project.stage('b.txt');
    const before = await project.repository.workspace.status({ untracked: true });
    await start(project);
    expect(await project.repository.workspace.status({ untracked: true })).toEqual(before);
    expect(await project.read('a.txt')).toBe('edited\n');
  });

  test('keeps a name in any script, and finds it composed or not; its run fits a file name', async () => {
    const project = await memoryProject();
    const made = await newSession(project, { name: 'Авторизация U\u0308ber', switch: true });
    expect(made.session).toBe('20260124-авторизация-über');
    for (const selector of [
      made.session,
      'авторизация-u\u0308ber',
      'u\u0308ber',
      'teddy/20260124-авторизация-u\u0308ber',
    ])
      expect(await findLine(project, selector), selector).toMatchObject({ session: made.session, ref: made.ref });
    const { session: long } = await newSession(project, { name: '語'.repeat(60), switch: false });
    const ref = conversationBranchRef(long, '02-branch-01' as TurnName);
    const name = runName({ session: long, turn: '02' as TurnName, ref });
    expect(Buffer.byteLength(`${name}.json.new-4194303-${'0'.repeat(32)}`)).toBeLessThan(256);
    expect(name).not.toContain('/');
  });

  test('leaves HEAD alone without a switch', async () => {
    const project = await memoryProject();
    const made = await newSession(project, { name: 'add-login', switch: false });
    expect(made.switched).toBe(false);
    expect((await project.repository.workspace.head()).ref).toBe('refs/heads/main');
    expect(await project.read('.teddy/memos.yaml')).toBeNull();
  });

  test('numbers a taken name, even if only a remote or a conversation branch has it', async () => {
    const project = await memoryProject();
    const main = await project.tipOf('main');
    await start(project);
    await start(project);
    expect(project.said).toContain(
      `A session called ${session} already exists, so this one is ${session}-2. To continue that one: git switch ${line}`,
    );
    await project.repository.store.updateRefs(
      [{ ref: `refs/heads/${line}-2` as RefName, old: await project.tipOf(`${line}-2`), new: null }],
      'x',
    );
    await project.setRef('refs/remotes/origin/teddy/20260124-add-login-2', main);
    await project.setRef('refs/heads/teddy/20260124-add-login-3--01-branch-01', main);
    expect((await start(project)).session).toBe('20260124-add-login-4');
  });

  test('names a remote on the way to the session with the name if only the remote has it', async () => {
    const project = await memoryProject();
    await project.setRef(`refs/remotes/origin/${line}`, await project.tipOf('main'));
    await start(project);
    expect(project.said.at(-1)).toMatch(new RegExp(`To continue that one: git switch --track origin/${line}$`));
  });

  test('names the work tree on the way to the session with the name if git would not switch to it', async () => {
    const project = await memoryProject();
    const { workTree } = await newSession(project, { name: 'add-login', switch: false, worktree: true });
    await start(project);
    expect(workTree).not.toBeNull();
    expect(project.said.at(-1)).toMatch(new RegExp(`To continue that one: cd ${workTree}$`));
  });

  test('run twice at the same time with the same name makes two sessions', async () => {
    const project = await memoryProject();
    await initProject(project);
    const racing = withRace(project, () => newSession(project, { name: 'add-login', switch: false }));
    const made = await newSession(racing, { name: 'add-login', switch: false });
    expect(made.session).toBe(`${session}-2`);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start']);
  });

  test('slugs a free-text name, and reports it', async () => {
    const project = await memoryProject();
    expect((await start(project, 'Füge Login hinzu!')).session).toBe('20260124-füge-login-hinzu');
    expect(project.said).toContain('The name was changed to füge-login-hinzu.');
    await expect(start(project, '???')).rejects.toMatchObject({ code: 'BAD_NAME' });
  });

  test('on an unborn HEAD begins without a parent, and turns work', async () => {
    const project = await memoryProject(null);
    const made = await start(project);
    expect((await project.repository.store.readCommit(made.commit)).parents).toEqual([]);
    await say(project, 'Begin', 'Hello.');
    expect(await storyOfLine(project)).toEqual(['start', 'message 01', 'reply 01']);
    expect((await project.repository.workspace.head()).ref).toBe(`refs/heads/${line}`);
  });

  test('on another line’s tip starts there, and its turns count from 01', async () => {
    const project = await memoryProject();
    await start(project, 'one');
    await say(project, 'Hello', 'Hi.');
    await start(project, 'two');
    const asked = await say(project, 'Again', 'Hi.');
    expect(asked.turn).toBe('01');
    expect(await storyOfLine(project, 'teddy/20260124-two')).toEqual([
      "'First commit'",
      'start',
      'message 01',
      'reply 01',
      'start',
      'message 01',
      'reply 01',
    ]);
  });

  test('accepts a detached HEAD as its base, without a base branch', async () => {
    const project = await memoryProject();
    await project.detach();
    const made = await start(project);
    expect((await project.repository.store.readCommit(made.commit)).message).not.toContain('Teddy-Base-Branch');
    expect((await storyOf(project, made.commit)).length).toBe(2);
  });

  test('finds untracked files of .teddy/ in the way before anything is made', async () => {
    const project = await memoryProject();
    await project.write({ '.teddy/memos.yaml': 'mine\n' });
    await expect(start(project)).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
    expect(await project.repository.store.listRefs('refs/heads/teddy/')).toEqual([]);
    expect(await project.read('.teddy/memos.yaml')).toBe('mine\n');
  });

  test('names a branch called teddy, with the remedy', async () => {
    const project = await memoryProject();
    const { store } = project.repository;
    const head = await project.tipOf('main');
    await store.updateRefs([{ ref: 'refs/heads/teddy' as RefName, old: null, new: head }], 'x');
    await expect(start(project)).rejects.toMatchObject({
      code: 'BRANCH_IN_THE_WAY',
      hint: expect.stringContaining('git branch -m teddy'),
    });
    await expect(initProject(project)).rejects.toMatchObject({ code: 'BRANCH_IN_THE_WAY' });
  });

  test('makes nothing in the middle of a rebase, or with conflicts', async () => {
    const project = await memoryProject();
    project.state.operation = 'rebase';
    await expect(start(project)).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
    project.state.operation = null;
    project.state.unmerged = [path('README.md')];
    await expect(start(project)).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
    expect(await project.repository.store.listRefs('refs/heads/teddy/')).toEqual([]);
  });

  test('removes the new branch again if git refuses the switch', async () => {
    const project = await memoryProject();
    const refused = new Error('refused');
    const { workspace } = project.repository;
    const stubborn = { ...workspace, switchTo: () => Promise.reject(refused) };
    const blocked = { ...project, repository: { ...project.repository, workspace: stubborn } };
    await expect(newSession(blocked, { name: 'add-login', switch: true })).rejects.toBe(refused);
    expect(await project.repository.store.resolve(`refs/heads/${line}`)).toBeNull();
  });
});
