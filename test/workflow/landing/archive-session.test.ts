import { expect } from 'vitest';
import type { Oid, RefName, RepoPath } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { beginWrite } from '../../../src/workflow/writes/begin.ts';
import { archiveSession, restoreArchived } from '../../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { readConversation } from '../../../src/workflow/line/read-conversation.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { create, line, planOf, runUntilKilled, command, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const archive = `refs/teddy/archive/2026-01/${session}`;
const heads = 'refs/heads/teddy/';

/** A session with one turn and a conversation branch from before it; HEAD is on main. */
async function begin(): Promise<MemoryProject> {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await branchSession(project, { turn: '01', switch: false });
  await project.switchTo('main');
  return project;
}

const tipsOf = async (project: MemoryProject, ...prefixes: string[]) =>
  Object.fromEntries((await project.repository.store.listRefs(...prefixes)).map(({ ref, oid }) => [ref, oid]));

test('archiving moves all branches of the session together; teddy/global and other sessions stay', async () => {
  const project = await begin();
  const [main, branch] = [await project.tipOf(line), await project.tipOf(`${line}--01-branch-01`)];
  await start(project, 'other');
  await project.switchTo('main');
  const archived = await archiveSession(project, 'add-login');
  expect(archived).toMatchObject({
    session,
    lines: [
      { line: `refs/heads/${line}`, archive, tip: main, hasLanded: false },
      { line: `refs/heads/${line}--01-branch-01`, tip: branch, hasLanded: false },
    ],
  });
  expect(await tipsOf(project, 'refs/teddy/archive/')).toEqual({
    [archive]: main,
    [`${archive}--01-branch-01`]: branch,
  });
  expect(Object.keys(await tipsOf(project, heads))).toEqual([`${heads}20260124-other`, `${heads}global`]);
  // A second call finds the work done.
  expect(await archiveSession(project, session)).toMatchObject({ session, lines: [], workTrees: [] });
  expect((await readConversation(project, { selector: session })).commit).toBe(main);
  expect((await listSessions(project)).map((one) => one.session)).toEqual(['20260124-other']);
  expect(await listSessions(project, { archived: true })).toMatchObject([
    { session, line: 'archive/20260124-add-login', archived: true, turns: 1, status: 'closed' },
    { session: '20260124-other', archived: false },
  ]);
});

test('restoring puts branches back in place and leaves existing ones alone, and the id stays taken', async () => {
  const project = await begin();
  const before = await tipsOf(project, heads);
  await archiveSession(project, session);
  expect((await start(project)).session).toBe(`${session}-2`);
  await project.switchTo('main');
  expect((await restoreArchived(project, session)).lines.map(({ line: branch }) => branch)).toEqual([
    `refs/heads/${line}`,
    `refs/heads/${line}--01-branch-01`,
  ]);
  expect(await tipsOf(project, heads)).toMatchObject(before);
  expect((await restoreArchived(project, session)).lines).toEqual([]);
  const tip = await project.tipOf(line);
  await project.setRef(`refs/heads/${line}`, await project.tipOf('main'));
  await expect(restoreArchived(project, session)).rejects.toMatchObject({ code: 'BRANCH_IN_THE_WAY' });
  await project.setRef(`refs/heads/${line}`, tip);
  // A branch that has continued contains all of the archive.
  await say(project, 'And now?', 'Done.', { selector: session });
  expect((await restoreArchived(project, session)).lines).toEqual([]);
  await project.setRef(`refs/heads/${line}`, tip);
  await expect(restoreArchived(project, `${session}-2`)).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  // And archived again: being in an archive does not mean that the branch has landed.
  const { lines } = await archiveSession(project, session);
  expect(lines.map(({ hasLanded }) => hasLanded)).toEqual([false, false]);
  // With only the main line restored, the conversation branch's name stays taken too.
  await project.setRef(`refs/heads/${line}`, lines[0]?.tip as Oid);
  expect((await branchSession(project, { turn: '01', selector: session, switch: false })).turn).toBe('01-branch-02');
});

test('without a name, the newest session is not assumed', async () => {
  const project = await begin();
  await project.switchTo('main');
  const refs = await tipsOf(project, 'refs/');
  await expect(archiveSession(project)).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
  expect(await tipsOf(project, 'refs/')).toEqual(refs);
});

test('one branch does not stand for its session, unless it is the only one left', async () => {
  const project = await begin();
  const refs = await tipsOf(project, 'refs/');
  for (const target of [`teddy/${session}--01-branch-01`, `${session}--01-branch-01`])
    await expect(archiveSession(project, target)).rejects.toMatchObject({
      code: 'USAGE',
      message: `teddy/${session}--01-branch-01 is one branch of ${session}, but \`teddy archive\` works on a whole session.`,
      hint: `All of it: \`teddy archive ${session}\`.`,
    });
  expect(await tipsOf(project, 'refs/')).toEqual(refs);
  const main = { ref: `refs/heads/${line}` as RefName, old: await project.tipOf(line), new: null };
  await project.repository.store.updateRefs([main], 'gone');
  expect((await archiveSession(project, 'add-login')).lines).toHaveLength(1);
});

test('a line that is checked out anywhere, or is being rebased, keeps the session from being archived', async () => {
  const project = await begin();
  const refs = await tipsOf(project, 'refs/');
  const refuses = async (code: string, message: string) => {
    await expect(archiveSession(project, session)).rejects.toMatchObject({ code, message });
    expect(await tipsOf(project, 'refs/')).toEqual(refs);
  };
  const ofOurs = expect.stringContaining('teddy worktree remove') as string;
  project.linked.push(memoryWorkTree(`refs/heads/${line}--01-branch-01` as RefName));
  await refuses('LINE_CHECKED_OUT', `${line}--01-branch-01 is checked out in /linked/${session}--01-branch-01.`);
  await expect(archiveSession(project, session)).rejects.toThrow(expect.objectContaining({ hint: ofOurs }));
  project.linked.pop();
  // teddy may not remove a work tree that the user has made.
  project.linked.push({ ...memoryWorkTree(`refs/heads/${line}--01-branch-01` as RefName), madeFor: null });
  await expect(archiveSession(project, session)).rejects.not.toThrow(expect.objectContaining({ hint: ofOurs }));
  project.linked.pop();
  project.state.operation = `rebase of ${line}`;
  await refuses('OPERATION_IN_PROGRESS', `A rebase of ${line} is in progress.`);
  project.state.operation = null;
});

test('HEAD leaves an archived line for the branch that the line started from, unless edits are in the way', async () => {
  const project = await begin();
  const refs = await tipsOf(project, 'refs/');
  await project.switchTo(line);
  const before = await project.read('one.txt');
  await project.write({ 'one.txt': 'edited\n' });
  await expect(archiveSession(project)).rejects.toMatchObject({
    code: 'LINE_CHECKED_OUT',
    hint: expect.stringContaining('switches to main'),
  });
  expect(await tipsOf(project, 'refs/')).toEqual(refs);
  await project.write({ 'one.txt': before });
  project.state.unmerged = ['one.txt' as RepoPath];
  await expect(archiveSession(project)).rejects.toMatchObject({ code: 'LINE_CHECKED_OUT' });
  project.state.unmerged = [];
  expect(await archiveSession(project)).toMatchObject({ session, switchedTo: 'main' });
  expect((await project.repository.workspace.head()).ref).toBe('refs/heads/main');
});

test('the line that HEAD is on is kept if the branch it started from is missing or checked out elsewhere', async () => {
  const project = await begin();
  await project.switchTo(line);
  project.linked.push(memoryWorkTree('refs/heads/main' as RefName));
  await expect(archiveSession(project)).rejects.toMatchObject({
    code: 'LINE_CHECKED_OUT',
    message: `${line} is checked out here, and main is checked out in /linked/main.`,
  });
  project.linked.pop();
  const main = { ref: 'refs/heads/main' as RefName, old: await project.tipOf('main'), new: null };
  await project.repository.store.updateRefs([main], 'gone');
  await expect(archiveSession(project)).rejects.toMatchObject({
    code: 'LINE_CHECKED_OUT',
    message: `${line} is checked out, and the branch that it started from does not exist here.`,
  });
});

slowTest('a renamed main line is archived under its session’s name, and the user’s own branch stays', async () => {
  const project = await begin();
  const tip = await project.tipOf(line);
  await project.setRef('refs/heads/feature/login', tip);
  await project.setRef('refs/heads/feature/early', (await project.repository.store.readCommit(tip)).parents[0] as Oid);
  await project.repository.store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }], 'renamed');
  expect(await archiveSession(project, session)).toMatchObject({
    lines: [{ line: 'refs/heads/feature/login', archive, tip }, { line: `refs/heads/${line}--01-branch-01` }],
    kept: ['refs/heads/feature/early'],
  });
  expect(Object.keys(await tipsOf(project, 'refs/heads/'))).toEqual([
    'refs/heads/feature/early',
    'refs/heads/main',
    'refs/heads/teddy/global',
  ]);
});

slowTest(
  'an archive of the same name with other commits is never overwritten; one that is ahead stays ahead',
  async () => {
    const project = await begin();
    const { store } = project.repository;
    await project.setRef(archive, await project.tipOf('main'));
    expect((await archiveSession(project, session)).lines).toHaveLength(2);
    const tip = (await store.resolve(archive)) ?? '';
    await restoreArchived(project, session);
    const parent = (await store.readCommit(await project.tipOf(line))).parents[0];
    if (parent === undefined) throw new Error('There is no parent.');
    await project.setRef(`refs/heads/${line}`, parent);
    await archiveSession(project, session);
    expect(await store.resolve(archive)).toBe(tip);

    await restoreArchived(project, session);
    await project.switchTo(line);
    await project.setRef(archive, await project.commit('Elsewhere\n', { 'else.txt': 'else\n' }));
    await project.setRef(`refs/heads/${line}`, parent);
    await project.switchTo('main');
    await project.switchTo(line);
    await project.commit('Here\n', { 'here.txt': 'here\n' });
    await project.switchTo('main');
    const refs = await tipsOf(project, 'refs/');
    const name = session.slice('20260124-'.length);
    const refused = (hint: string) => ({ code: 'BRANCH_IN_THE_WAY', hint: expect.stringContaining(hint) });
    await expect(archiveSession(project, session)).rejects.toMatchObject(
      refused(`\`git branch ${name}-again ${archive}\``),
    );
    expect(await tipsOf(project, 'refs/')).toEqual(refs);
    // The name that the error suggests is free.
    await project.setRef(`refs/heads/${name}-again`, tip as Oid);
    await expect(archiveSession(project, session)).rejects.toMatchObject(refused(`\`git branch ${name}-again-2 `));
  },
);

test('archiving reports whether the session has landed, and which work trees were made for its lines', async () => {
  const project = await begin();
  await landSession(project, { target: session });
  project.linked.push(memoryWorkTree(`refs/heads/${line}` as RefName, { ref: 'refs/heads/other' as RefName }));
  const { lines, workTrees } = await archiveSession(project, session);
  expect(lines.map(({ hasLanded }) => hasLanded)).toEqual([true, false]);
  expect(workTrees).toEqual([`/linked/${session}`]);
});

slowTest('a branch that moves meanwhile is archived with its new commits', async () => {
  const project = await begin();
  let moved = '';
  const racing = withRace(project, async () => {
    await project.switchTo(line);
    moved = await project.commit('Meanwhile\n', { 'new.txt': 'new\n' });
    await project.switchTo('main');
  });
  await archiveSession(racing, session);
  expect((await tipsOf(project, 'refs/teddy/archive/'))[archive]).toBe(moved);
});

slowTest('an interrupted run is refused, and so is a commit in place of a session', async () => {
  const project = await given.session();
  await say(project, 'One', planOf([command('true')]));
  await runUntilKilled(project);
  const tip = await project.tipOf(line);
  await project.switchTo('main');
  await expect(archiveSession(project, session)).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });
  expect(await project.tipOf(line)).toBe(tip);
  await expect(archiveSession(project, tip)).rejects.toMatchObject({ code: 'USAGE' });
});

test('an unfinished write session keeps its line’s branches', async () => {
  const project = await begin();
  await project.switchTo(line);
  const before = await tipsOf(project, heads);
  const { record } = await beginWrite(project, { intent: 'x', target: 'new.txt', operation: 'create' });
  await expect(archiveSession(project, session)).rejects.toMatchObject({
    code: 'WRITE_ACTIVE',
    message: expect.stringContaining(record.id) as string,
  });
  expect(await tipsOf(project, heads)).toEqual(before);
});
