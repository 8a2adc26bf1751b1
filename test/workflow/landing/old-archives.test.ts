/** Archives with the names from before archives had months: read as ever, moved when they are written, and by the doctor. */
import { expect, test } from 'vitest';
import { archiveRef, flatArchiveRef, mainLineRef, type Oid, type RefName, type SessionId } from '../../../src/names.ts';
import { readConversation } from '../../../src/workflow/line/read-conversation.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { archiveSession, restoreArchived } from '../../../src/workflow/landing/archive-session.ts';
import { deleteSession, planDeletion, takeBack } from '../../../src/workflow/landing/delete-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { examineRepository } from '../../../src/workflow/doctor/examine-repository.ts';
import { findArchived } from '../../../src/workflow/line/find-recorded.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, session, start, turn } from '../../support/turns.ts';

const main = mainLineRef(session as SessionId);
const [present, flat] = [archiveRef(main), flatArchiveRef(main)];

const archives = async (project: MemoryProject) =>
  Object.fromEntries(
    (await project.repository.store.listRefs('refs/teddy/archive/')).map(({ ref, oid }) => [ref, oid]),
  );

/** A session with two turns that an earlier teddy has archived; HEAD is on main. */
async function begin(): Promise<{ project: MemoryProject; first: Oid; tip: Oid }> {
  const project = await memoryProject();
  await start(project);
  await turn(project, 'One', create('one.txt'));
  const first = await project.tipOf(line);
  await turn(project, 'Two', create('two.txt'));
  const tip = await project.tipOf(line);
  await project.switchTo('main');
  await project.setRef(flat, tip);
  await project.repository.store.updateRefs([{ ref: main, old: tip, new: null }], 'archived');
  return { project, first, tip };
}

const fix = (project: MemoryProject) => examineRepository(project, { fix: true });

test('what it holds is found by its id, listed, and brought back, and the archive stays as it is', async () => {
  const { project, tip } = await begin();
  expect((await readConversation(project, { selector: session })).commit).toBe(tip);
  expect(await listSessions(project, { archived: true })).toMatchObject([{ session, archived: true, turns: 2 }]);
  expect(await findArchived(project.repository.store, 'add-login')).toMatchObject({
    ref: flat,
    name: `archive/${session}`,
  });
  await expect(archiveSession(project, session)).resolves.toMatchObject({ session, lines: [] });
  expect(await restoreArchived(project, session)).toMatchObject({ lines: [{ branch: main, archive: flat, tip }] });
  expect(await archives(project)).toEqual({ [flat]: tip });
});

test.each(['archive', 'land'])('%s keeps the line below its month, and the old name goes', async (verb) => {
  const { project } = await begin();
  await restoreArchived(project, session);
  await project.switchTo(line);
  await turn(project, 'Three', create('three.txt'));
  const tip = await project.tipOf(line);
  if (verb === 'land') expect(await landSession(project, { target: session })).toMatchObject({ archive: present });
  else expect(await archiveSession(project, session)).toMatchObject({ lines: [{ archive: present, tip }] });
  expect(await archives(project)).toEqual({ [present]: tip });
});

test('an older branch is archived up to what the old name keeps, and other commits there are in the way', async () => {
  const { project, first, tip } = await begin();
  await project.setRef(main, first);
  await archiveSession(project, session);
  expect(await archives(project)).toEqual({ [present]: tip });
  await project.setRef(main, first);
  await project.setRef(flat, await project.commit('Elsewhere\n', { 'else.txt': 'else\n' }));
  const before = await archives(project);
  await expect(archiveSession(project, session)).rejects.toMatchObject({
    code: 'BRANCH_IN_THE_WAY',
    message: expect.stringContaining(`${flat} holds commits`) as string,
  });
  expect(await archives(project)).toEqual(before);
});

test('a deleted one comes back below its month, and both names go together and come back as they were', async () => {
  const { project, first, tip } = await begin();
  await deleteSession(project, await planDeletion(project, session));
  expect(await archives(project)).toEqual({});
  await takeBack(project, session);
  expect(await archives(project)).toEqual({ [present]: tip });
  await project.setRef(flat, first);
  await deleteSession(project, await planDeletion(project, session));
  await takeBack(project, session);
  expect(await archives(project)).toEqual({ [flat]: first, [present]: tip });
});

test('the doctor names them, and moves all of them at once, and only when it is to fix', async () => {
  const { project, first, tip } = await begin();
  const branch = flatArchiveRef(`${main}--02-branch-01` as RefName);
  await project.setRef(branch, first);
  const before = await archives(project);
  const dry = await examineRepository(project, { fix: false });
  expect(dry.findings).toMatchObject([{ kind: 'old-archive', outcome: 'left' }]);
  expect(dry.findings[0]?.meaning).toContain(`2 archives are not below the month`);
  expect(await archives(project)).toEqual(before);
  expect((await fix(project)).findings).toMatchObject([{ outcome: 'mended', said: '2 archives moved.' }]);
  expect(await archives(project)).toEqual({ [present]: tip, [archiveRef(`${main}--02-branch-01` as RefName)]: first });
  expect((await fix(project)).findings).toEqual([]);
});

test('of two names of a line the one that is ahead wins, and where neither is, both stay', async () => {
  const { project, first, tip } = await begin();
  await project.setRef(present, first);
  // One session is found once, and not two that are alike.
  expect(await findArchived(project.repository.store, 'add-log')).toMatchObject({ ref: present, tip: first });
  await fix(project);
  expect(await archives(project)).toEqual({ [present]: tip });
  await project.setRef(flat, first);
  await fix(project);
  expect(await archives(project)).toEqual({ [present]: tip });

  const other = await project.commit('Elsewhere\n', { 'else.txt': 'else\n' });
  await project.setRef(flat, other);
  const { findings } = await fix(project);
  expect(findings).toMatchObject([{ kind: 'old-archive', thing: flat, outcome: 'left', fix: null }]);
  expect(findings[0]?.todo).toContain(`git update-ref -d ${flat} ${other}`);
  expect(await archives(project)).toEqual({ [flat]: other, [present]: tip });
});

test('a move that somebody else is faster than is made anew, and keeps what has come', async () => {
  const { project, tip } = await begin();
  await restoreArchived(project, session);
  await project.switchTo(line);
  await turn(project, 'Three', create('three.txt'));
  const ahead = await project.tipOf(line);
  await project.switchTo('main');
  expect(ahead).not.toBe(tip);
  await fix(withRace(project, () => project.setRef(flat, ahead)));
  expect(await archives(project)).toEqual({ [present]: ahead });
});

test('refs below the archive that are no archives are left and named, as is one that stands where a month would be', async () => {
  const { project, tip } = await begin();
  await fix(project);
  const strange = [
    'refs/teddy/archive/2026-02/20260124-add-login',
    'refs/teddy/archive/2026-03',
    `refs/teddy/archive/2026-13/${session}`,
    'refs/teddy/archive/x',
  ];
  for (const ref of strange) await project.setRef(ref, tip);
  const before = await archives(project);
  expect((await fix(project)).findings).toMatchObject([
    { kind: 'misplaced-archive', thing: strange[0], outcome: 'left', todo: expect.stringContaining(tip) as string },
    { kind: 'branch-in-the-way', thing: 'refs/teddy/archive/2026-03', outcome: 'left' },
    { kind: 'misplaced-archive', thing: strange[2], outcome: 'left' },
    { kind: 'misplaced-archive', thing: strange[3], outcome: 'left' },
  ]);
  expect(await archives(project)).toEqual(before);
  expect(await listSessions(project, { archived: true })).toMatchObject([{ session, branch: present }]);
});
