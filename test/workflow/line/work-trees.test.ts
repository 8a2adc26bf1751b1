/** Lines in their own linked work trees: which one a line gets, when it has ended, and which are never removed. */
import { describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { LeftRun } from '../../../src/ports/disk.ts';
import { mainLineRef, type RefName, type SessionId, type TurnName } from '../../../src/names.ts';
import { listWorkTrees } from '../../../src/workflow/line/list-work-trees.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { openWorkTree } from '../../../src/workflow/line/open-work-tree.ts';
import { removeWorkTrees, type RemovedWorkTrees } from '../../../src/workflow/line/remove-work-tree.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree, type MemoryWorkTree } from '../../support/memory-work-trees.ts';
import { create, line, planOf, say, session, turn } from '../../support/turns.ts';

const ref = mainLineRef(session as SessionId);
const root = `/linked/${session}`;
const begin = (project: MemoryProject, name = 'add-login') =>
  newSession(project, { name, switch: true, worktree: true });
const open = (project: MemoryProject, selector?: string, needsPlan = false) =>
  openWorkTree(project, selector, { needsPlan });
const removeOne = (project: MemoryProject, selector: string) =>
  removeWorkTrees(project, { kind: 'one', selector, path: `/project/${selector}` });
const removeEnded = (project: MemoryProject) => removeWorkTrees(project, { kind: 'ended' });
const rootsOf = ({ removed, kept }: RemovedWorkTrees) => [
  removed.map((tree) => tree.root),
  kept.map(({ tree, reason }) => [tree.root, reason.code]),
];
const treeOf = (project: MemoryProject) => project.linked[0] as MemoryWorkTree;

describe('a new session in its own work tree', () => {
  test('leaves HEAD where it is', async () => {
    const project = await memoryProject();
    const made = await begin(project);
    expect(made).toMatchObject({ ref, switched: false, workTree: root });
    expect((await project.repository.workspace.head()).ref).toBe('refs/heads/main');
    expect(project.linked).toMatchObject([{ root, ref, madeFor: ref }]);
  });

  test('is possible in the middle of a rebase, and with files of .teddy/ in the way', async () => {
    const project = await memoryProject();
    project.state.operation = 'rebase';
    await project.write({ '.teddy/memos.yaml': 'mine\n' });
    expect((await begin(project)).workTree).toBe(root);
  });

  test('leaves no branch if the work tree cannot be made', async () => {
    const project = await memoryProject();
    const refused = new TeddyError('DISK_FULL', 'No space left.');
    project.repository.addWorkTree = () => Promise.reject(refused);
    await expect(begin(project)).rejects.toBe(refused);
    expect(await project.repository.store.resolve(ref)).toBeNull();
  });
});

describe('a line in its own work tree', () => {
  test('gets one if it is checked out nowhere, and the same one the next time', async () => {
    const project = await memoryProject();
    await newSession(project, { name: 'add-login', switch: false });
    expect(await open(project, 'add-login')).toEqual({ ref, root, made: true });
    expect(await open(project, ref)).toEqual({ ref, root, made: false });
    expect(await open(project)).toMatchObject({ root, made: false });
    expect(project.linked).toHaveLength(1);
  });

  test('is refused if the main work tree is on it', async () => {
    const project = await given.session();
    for (const selector of [undefined, session]) {
      await expect(open(project, selector)).rejects.toMatchObject({
        code: 'LINE_CHECKED_OUT',
        message: expect.stringContaining('in the main work tree, /project') as string,
      });
    }
    expect(project.linked).toEqual([]);
  });

  test('that only a remote has becomes a local branch first', async () => {
    const project = await memoryProject();
    const { commit } = await newSession(project, { name: 'add-login', switch: false });
    await project.setRef(`refs/remotes/origin/${line}`, commit);
    await project.repository.store.updateRefs([{ ref, old: commit, new: null }], 'test');
    expect(await open(project, 'add-login')).toMatchObject({ ref, made: true });
    expect(await project.tipOf(line)).toBe(commit);
  });

  test('gets none for a plan that does not exist', async () => {
    const project = await memoryProject();
    await newSession(project, { name: 'add-login', switch: false });
    await expect(open(project, session, true)).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
    expect(project.linked).toEqual([]);
    await say(project, 'Do it', planOf([create('a.txt')]), { selector: session });
    expect(await open(project, session, true)).toMatchObject({ made: true });
  });

  test('gets a new one if its own is missing, which is reported', async () => {
    const project = await memoryProject();
    await begin(project);
    treeOf(project).isGone = true;
    expect(await open(project, session)).toMatchObject({ made: true });
    expect(project.linked).toMatchObject([{ isGone: false }]);
    expect(project.said.join()).toContain(`warning: The work tree ${root} is gone`);
  });

  test('joins the one that another command has made meanwhile', async () => {
    const project = await memoryProject();
    await newSession(project, { name: 'add-login', switch: false });
    const add = project.repository.addWorkTree;
    project.repository.addWorkTree = async (wanted) => {
      await add(wanted);
      return add(wanted);
    };
    expect(await open(project, session)).toEqual({ ref, root, made: false });
  });
});

describe('the list of work trees', () => {
  test('has lines in order, with the contents of each work tree, and skips work trees on other branches', async () => {
    const project = await memoryProject();
    await begin(project, 'two');
    await begin(project, 'one');
    await project.setRef('refs/heads/side', await project.tipOf('main'));
    project.linked.push(memoryWorkTree('refs/heads/side' as RefName, { madeFor: null }));
    Object.assign(project.linked[0] as MemoryWorkTree, { untracked: ['a'], ignored: ['made/'], operation: 'merge' });
    expect(await listWorkTrees(project)).toMatchObject([
      { session: '20260124-one', changes: 0, ignored: [], operation: null, end: null, isCurrent: false },
      { session: '20260124-two', changes: 1, ignored: ['made/'], operation: 'merge', end: null },
    ]);
  });

  test('has a line in somebody else’s work tree, and one of teddy’s whose HEAD has left its line', async () => {
    const project = await memoryProject();
    await begin(project);
    const tree = treeOf(project);
    tree.madeFor = null;
    expect(await listWorkTrees(project)).toMatchObject([{ line: ref, session, madeFor: null }]);
    Object.assign(tree, { madeFor: ref, ref: 'refs/heads/main' });
    expect(await listWorkTrees(project)).toMatchObject([{ line: ref, session, ref: 'refs/heads/main' }]);
    tree.ref = null;
    expect(await listWorkTrees(project)).toMatchObject([{ line: ref, session, ref: null }]);
  });

  test.each([
    ['its base branch, here', 'refs/heads/topic', 'merged'],
    ['its base branch, as last fetched', 'refs/remotes/origin/topic', 'merged'],
    ['the default branch', 'refs/heads/main', 'merged'],
    ['the archive', `refs/teddy/archive/2026-01/${session}`, 'archived'],
    ['another branch', 'refs/heads/other', null],
    ['a remote’s branch that only ends like its base', 'refs/remotes/origin/x/other', null],
  ])('reports how a line that is in %s has ended', async (_, where, end) => {
    const project = await memoryProject();
    await project.switchTo('topic', await project.tipOf('main'));
    const { commit } = await begin(project);
    expect(await listWorkTrees(project)).toMatchObject([{ end: null }]);
    await project.setRef(where, commit);
    expect(await listWorkTrees(project)).toMatchObject([{ end }]);
  });

  test('reports that a line has landed even if it is checked out', async () => {
    const project = await given.session();
    await turn(project, 'One', create('one.txt'));
    await project.switchTo('main');
    await open(project, session);
    await landSession(project, { target: session });
    expect(await listWorkTrees(project)).toMatchObject([{ line: ref, end: 'landed' }]);
  });

  test('does not count a line as ended that has continued since', async () => {
    const project = await memoryProject();
    const { commit } = await begin(project);
    await project.setRef('refs/heads/main', commit);
    await project.setRef(`refs/teddy/archive/2026-01/${session}`, commit);
    await say(project, 'Hello', 'Hi.', { selector: session });
    expect(await listWorkTrees(project)).toMatchObject([{ end: null }]);
  });

  test('reports a line whose branch is missing as deleted, or as archived if it was', async () => {
    const project = await memoryProject();
    const { commit } = await begin(project);
    await project.repository.store.updateRefs([{ ref, old: commit, new: null }], 'test');
    expect(await listWorkTrees(project)).toMatchObject([{ line: ref, session, oid: null, end: 'deleted' }]);
    await project.setRef(`refs/teddy/archive/2026-01/${session}`, commit);
    expect(await listWorkTrees(project)).toMatchObject([{ end: 'archived' }]);
  });
});

describe('removing a work tree', () => {
  test.each([[session], [line], ['login'], [`/project/../linked/${session}`]])('finds %s', async (selector) => {
    const project = await memoryProject();
    await begin(project);
    const path = selector.startsWith('/') ? root : `/project/${selector}`;
    const { removed } = await removeWorkTrees(project, { kind: 'one', selector, path });
    expect(removed).toMatchObject([{ root }]);
    expect(project.linked).toEqual([]);
    expect(await project.tipOf(line)).toBeTruthy();
  });

  test('does not guess', async () => {
    const project = await memoryProject();
    await begin(project, 'one');
    await begin(project, 'one-more');
    await expect(removeOne(project, 'three')).rejects.toMatchObject({ code: 'UNKNOWN_WORK_TREE' });
    await expect(removeOne(project, '')).rejects.toMatchObject({ code: 'UNKNOWN_WORK_TREE' });
    await expect(removeOne(project, 'one')).rejects.toMatchObject({ code: 'AMBIGUOUS_SESSION' });
    expect((await removeOne(project, '20260124-one')).removed).toMatchObject([{ session: '20260124-one' }]);
  });

  test.each<[string, Partial<MemoryWorkTree>, string]>([
    ['has changes', { untracked: ['mine.txt'] }, 'UNCOMMITTED_EDITS'],
    ['is in the middle of a merge', { operation: 'merge' }, 'OPERATION_IN_PROGRESS'],
    ['is locked', { lock: '' }, 'LOCKED'],
    ['was made by somebody else', { madeFor: null }, 'WORK_TREE_IN_USE'],
    ['is not finished', { isUnfinished: true, ref: null }, 'WORK_TREE_IN_USE'],
    ['is the current directory', { root: '/project' }, 'WORK_TREE_IN_USE'],
  ])('keeps one that %s', async (_, state, code) => {
    const project = await memoryProject();
    await begin(project);
    Object.assign(treeOf(project), state);
    await expect(removeOne(project, session)).rejects.toMatchObject({
      code,
      hint: expect.stringMatching(/\S/) as string,
    });
    expect(project.linked).toHaveLength(1);
  });

  test('keeps one whose plan is being executed or was interrupted, but ignores a waiting plan', async () => {
    const project = await memoryProject();
    await begin(project);
    await say(project, 'Do it', planOf([create('a.txt')]), { selector: session });
    const place = { session: session as SessionId, turn: '01' as TurnName, ref };
    const running = await project.journals.claim(place);
    await expect(removeOne(project, session)).rejects.toMatchObject({ code: 'LOCKED' });
    await running.release();
    const left = { run: { turn: place.turn }, interrupted: null, ended: [], isRollingBack: false } as unknown;
    project.journals = { ...project.journals, find: async () => left as LeftRun };
    await expect(removeOne(project, session)).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });
    const damaged = new TeddyError('DAMAGED_SESSION', 'Its journal cannot be read.');
    project.journals = { ...project.journals, find: () => Promise.reject(damaged) };
    await expect(removeOne(project, session)).rejects.toBe(damaged);
    project.journals = { ...project.journals, find: async () => null };
    expect((await removeOne(project, session)).removed).toMatchObject([{ root }]);
    await (await project.journals.claim(place)).release();
  });

  test('takes only the ended ones on request, and names the ones that have to stay', async () => {
    const project = await memoryProject();
    await begin(project, 'one');
    await begin(project, 'two');
    await begin(project, 'three');
    await begin(project, 'four');
    const [, two, , four] = project.linked as MemoryWorkTree[];
    for (const name of ['one', 'two', 'four']) {
      const tip = await project.tipOf(`teddy/20260124-${name}`);
      await project.setRef(`refs/teddy/archive/2026-01/20260124-${name}`, tip);
    }
    Object.assign(two ?? {}, { untracked: ['mine.txt'] });
    Object.assign(four ?? {}, { madeFor: null });
    expect(rootsOf(await removeEnded(project))).toEqual([
      ['/linked/20260124-one'],
      [['/linked/20260124-two', 'UNCOMMITTED_EDITS']],
    ]);
    expect(project.linked.map((tree) => tree.root)).toEqual(
      ['two', 'three', 'four'].map((name) => `/linked/20260124-${name}`),
    );
  });
});
