import { expect, test } from 'vitest';
import type { RefName, SessionId, TurnName } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { deleteSession, planDeletion, restoreDeleted } from '../../../src/workflow/landing/delete-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { examineRepository } from '../../../src/workflow/doctor/examine-repository.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { command, create, line, planOf, runUntilKilled, say, session, turn } from '../../support/turns.ts';

const branch = `${line}--01-branch-01`;

/** A session with one turn and a conversation branch; HEAD is on main. */
async function begin(): Promise<MemoryProject> {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await branchSession(project, { turn: '01', switch: false });
  await project.switchTo('main');
  return project;
}

const refsOf = async (project: MemoryProject) =>
  Object.fromEntries(
    (await project.repository.store.listRefs('refs/heads/teddy/2', 'refs/heads/teddy/', 'refs/teddy/'))
      .filter(({ ref }) => !ref.endsWith('/global'))
      .map(({ ref, oid }) => [ref, oid]),
  );

test('deleting a session keeps its branches for an undo that restores them exactly; its id stays taken', async () => {
  const project = await begin();
  const before = await refsOf(project);
  const deletion = await planDeletion(project, 'add-login');
  expect(deletion).toMatchObject({
    session,
    lines: [
      { ref: `refs/heads/${line}`, turns: 1, hasLanded: false, isPushed: false },
      { ref: `refs/heads/${branch}`, turns: 1, hasLanded: false, isPushed: false },
    ],
    archives: [],
    left: [],
  });
  expect(await refsOf(project)).toEqual(before);
  const kept = await deleteSession(project, deletion);
  expect(Object.keys(await refsOf(project))).toEqual(kept);
  expect(kept[0]).toMatch(/^refs\/teddy\/keep\/deleted\/\d{8}T\d{6}Z\/heads\/teddy\/20260124-add-login$/);
  await expect(planDeletion(project, session)).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  expect((await newSession(project, { name: 'add-login', switch: false })).session).toBe(`${session}-2`);
  expect(await restoreDeleted(project, session)).toHaveLength(2);
  expect(await refsOf(project)).toMatchObject(before);
  expect(Object.keys(await refsOf(project)).filter((ref) => ref.includes('deleted'))).toEqual([]);
  await expect(restoreDeleted(project, session)).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  // The name after the date is enough, as for every command.
  await deleteSession(project, await planDeletion(project, session));
  expect(await restoreDeleted(project, 'add-login')).toHaveLength(2);
});

test('deleting reports landed work and remote copies, and removes the archive, which the undo restores', async () => {
  const project = await begin();
  await landSession(project, { target: session });
  await project.setRef(`refs/remotes/origin/${line}`, await project.tipOf(line));
  const before = await refsOf(project);
  const deletion = await planDeletion(project, session);
  expect(deletion).toMatchObject({
    lines: [
      { hasLanded: true, isPushed: true },
      { hasLanded: false, isPushed: false },
    ],
    archives: [{ ref: `refs/teddy/archive/2026-01/${session}` }],
  });
  await deleteSession(project, deletion);
  await restoreDeleted(project, session);
  expect(await refsOf(project)).toEqual(before);
});

test('one branch does not stand for its session', async () => {
  const project = await begin();
  await expect(planDeletion(project, branch)).rejects.toMatchObject({
    code: 'USAGE',
    hint: `All of it: \`teddy delete ${session}\`.`,
  });
});

test('an archived session without branches can be deleted', async () => {
  const project = await begin();
  await archiveSession(project, session);
  await deleteSession(project, await planDeletion(project, session));
  expect(Object.keys(await refsOf(project)).every((ref) => ref.includes('/deleted/'))).toBe(true);
});

test('undoing a deletion leaves a branch that somebody has made meanwhile, and changes nothing', async () => {
  const project = await begin();
  await deleteSession(project, await planDeletion(project, session));
  await project.setRef(`refs/heads/${line}`, await project.tipOf('main'));
  const before = await refsOf(project);
  await expect(restoreDeleted(project, session)).rejects.toMatchObject({ code: 'BRANCH_IN_THE_WAY' });
  expect(await refsOf(project)).toEqual(before);
});

test('a line that is checked out, here or elsewhere, cannot be deleted', async () => {
  const project = await begin();
  await project.switchTo(branch);
  await expect(planDeletion(project, session)).rejects.toMatchObject({
    code: 'LINE_CHECKED_OUT',
    hint: 'Leave it first: `git switch main`.',
  });
  await project.switchTo('main');
  project.linked.push(memoryWorkTree(`refs/heads/${line}` as RefName));
  await expect(planDeletion(project, session)).rejects.toMatchObject({
    code: 'LINE_CHECKED_OUT',
    message: expect.stringContaining('/linked'),
  });
});

test('from the session’s own work tree, the hint is a command that git can run', async () => {
  const project = await begin();
  const tree = memoryWorkTree(`refs/heads/${line}` as RefName);
  project.linked.push(tree);
  const workspace = await project.repository.openWorkspace(tree.root);
  const there = { ...project, repository: { ...project.repository, workspace } };
  await expect(planDeletion(there, session)).rejects.toMatchObject({
    hint: `Leave it first: \`cd /project && teddy worktree remove ${line} && teddy delete ${session}\`.`,
  });
  await landSession(project, { target: session });
  expect((await readStatus(there)).next).toContain(
    `cd /project && teddy worktree remove ${line} && teddy archive ${session}`,
  );
});

test('a killed run, or a turn that is being asked, cannot be deleted', async () => {
  const project = await begin();
  await project.switchTo(line);
  const claim = await project.answers.claim({
    session: session as SessionId,
    ref: `refs/heads/${line}` as RefName,
    turn: '02' as TurnName,
  });
  await project.switchTo('main');
  await expect(planDeletion(project, session)).rejects.toMatchObject({ code: 'LOCKED' });
  await claim.release();
  await project.switchTo(line);
  await say(project, 'Two', planOf([command('one.txt=x')]));
  await runUntilKilled(project);
  await project.switchTo('main');
  await expect(planDeletion(project, session)).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });
});

test('the doctor names the kept branches, and removes them after 30 days, only when it repairs', async () => {
  const project = await begin();
  await deleteSession(project, await planDeletion(project, session));
  const kept = await refsOf(project);
  const examined = await examineRepository(project, { fix: true });
  expect(examined.notes.join()).toContain(`Deleted sessions are kept for 30 days: ${session}`);
  expect(await refsOf(project)).toEqual(kept);
  const now = project.clock.now();
  project.clock = { now: () => new Date(now.getTime() + 31 * 86_400_000) };
  const dry = await examineRepository(project, { fix: false });
  expect(dry.findings).toMatchObject([{ kind: 'deleted-session', outcome: 'left' }]);
  expect(await refsOf(project)).toEqual(kept);
  const fixed = await examineRepository(project, { fix: true });
  expect(fixed.findings).toMatchObject([{ kind: 'deleted-session', outcome: 'fixed' }]);
  expect(await refsOf(project)).toEqual({});
  expect((await examineRepository(project, { fix: true })).findings).toEqual([]);
});
