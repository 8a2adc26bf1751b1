/** The place that a hint sends a person to who is elsewhere: git has to accept the command. */
import { expect, test } from 'vitest';
import { mainLineRef, type SessionId } from '../../../src/names.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { afterLeaving, findWayTo } from '../../../src/workflow/line/way-to-line.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { given } from '../../support/given.ts';
import { memoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { create, line, session, start, turn } from '../../support/turns.ts';

const ref = mainLineRef(session as SessionId);
const nowhere = { ref, workspace: null };

test('an edited file that the line has changed is stashed first', async () => {
  const project = await memoryProject();
  await project.commit('Mine', { 'same.txt': 'x\n' });
  await start(project);
  await turn(project, 'One', create('one.txt'));
  await project.switchTo('main');
  await project.commit('Mine', { 'one.txt': 'mine\n' });
  await project.write({ 'same.txt': 'edited\n' });
  expect(await findWayTo(project, nowhere)).toBe(`git switch ${line}`);
  await project.write({ 'one.txt': 'edited\n' });
  expect(await findWayTo(project, nowhere)).toBe(`git stash && git switch ${line}`);
});

test.each([
  ['a file of the same name', { 'sub/one.txt': 'mine\n' }, 'git stash -u && '],
  ['a file where the line has a directory', { sub: 'mine\n' }, 'git stash -u && '],
  ['a file in a directory where the line has a file', { 'two.txt/mine.txt': 'mine\n' }, 'git stash -u && '],
  ['a file beside those of the line', { 'sub/mine.txt': 'mine\n' }, ''],
  ['a file that git ignores and would overwrite', { 'sub/one.txt': 'mine\n', '.gitignore': 'one.txt\n' }, ''],
])('an untracked file in the way is stashed first: %s', async (_, files, first) => {
  const project = await given.session();
  await turn(project, 'One', create('sub/one.txt'), create('two.txt'));
  await project.switchTo('main');
  // git leaves no empty directory.
  await project.fs.promises.rmdir('/project/sub');
  await project.write(files);
  expect(await findWayTo(project, nowhere)).toBe(`${first}git switch ${line}`);
});

test('git’s unfinished operation is ended first, and unmerged files are stashed with the rest', async () => {
  const project = await memoryProject();
  await newSession(project, { name: 'add-login', switch: false });
  const ways = [];
  for (const operation of ['merge', 'rebase', 'bisect', `rebase of ${line}`, null]) {
    Object.assign(project.state, { operation, unmerged: operation === 'merge' || operation === null ? ['a.txt'] : [] });
    ways.push((await findWayTo(project, nowhere)).replace(`git switch ${line}`, '<switch>'));
  }
  expect(ways).toEqual([
    'git merge --abort && <switch>',
    'git rebase --abort && <switch>',
    '<switch>',
    '<switch>',
    'git add -u && git stash && <switch>',
  ]);
  expect((await readStatus(project)).next).toEqual(['git status']);
});

test('git forgets a missing work tree first, and an existing one is used', async () => {
  const project = await memoryProject();
  await newSession(project, { name: 'add-login', switch: false });
  const tree = memoryWorkTree(ref, { isGone: true });
  project.linked.push(tree);
  expect(await findWayTo(project, nowhere)).toBe(`git worktree prune && git switch ${line}`);
  tree.lock = '';
  const forget = `git worktree unlock ${tree.root} && git worktree prune`;
  expect(await findWayTo(project, nowhere)).toBe(`${forget} && git switch ${line}`);
  tree.isGone = false;
  expect(await findWayTo(project, nowhere)).toBe(`cd ${tree.root}`);
});

test('a remote is named if several have the branch', async () => {
  const project = await memoryProject();
  const { commit } = await newSession(project, { name: 'add-login', switch: false });
  await project.setRef(`refs/remotes/b/${line}`, commit);
  await project.repository.store.updateRefs([{ ref, old: commit, new: null }], 'gone');
  expect(await findWayTo(project, nowhere)).toBe(`git switch ${line}`);
  await project.setRef(`refs/remotes/a/${line}`, commit);
  await project.setRef(`refs/remotes/a/other/${line}`, commit);
  expect(await findWayTo(project, nowhere)).toBe(`git switch --track a/${line}`);
});

test('a known work tree is used, whatever git has on record', async () => {
  const project = await memoryProject();
  const workspace = { ...project.repository.workspace, root: '/a b' };
  expect(await findWayTo(project, { ref, workspace })).toBe("cd '/a b'");
});

test('a command that leaves the line comes after the commands for another work tree', async () => {
  const project = await memoryProject();
  await newSession(project, { name: 'add-login', switch: false });
  const after = (root: string) => {
    const workspace = { ...project.repository.workspace, root };
    return afterLeaving({ ...project, repository: { ...project.repository, workspace } }, ref, 'leave');
  };
  expect(await after('/project')).toBe('leave');
  const tree = memoryWorkTree(ref);
  project.linked.push(tree);
  const remove = `teddy worktree remove ${line} && leave`;
  expect([await after('/project'), await after(tree.root)]).toEqual([remove, `cd /project && ${remove}`]);
  tree.madeFor = null;
  expect([await after('/project'), await after(tree.root)]).toEqual([
    `git -C ${tree.root} switch --detach && leave`,
    'git switch --detach && leave',
  ]);
  project.linked.pop();
  await project.switchTo(line);
  expect([await after('/project'), await after('/other')]).toEqual([
    'leave',
    'git -C /project switch --detach && leave',
  ]);
});
