/**
 * Refs among the archives with invalid names, such as from a layout without months: they are ignored, kept, and named
 * by the doctor.
 */
import { expect, test } from 'vitest';
import { archiveRef, mainLineRef, type Oid, type RefName, type SessionId } from '../../../src/names.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { archiveSession, restoreArchived } from '../../../src/workflow/landing/archive-session.ts';
import { deleteSession, planDeletion, restoreDeleted } from '../../../src/workflow/landing/delete-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { examineRepository } from '../../../src/workflow/doctor/examine-repository.ts';
import { findArchived } from '../../../src/workflow/line/find-recorded.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, session, turn } from '../../support/turns.ts';

const main = mainLineRef(session as SessionId);
const [present, flat] = [archiveRef(main), `refs/teddy/archive/${session}` as RefName];

const archives = async (project: MemoryProject) =>
  Object.fromEntries(
    (await project.repository.store.listRefs('refs/teddy/archive/')).map(({ ref, oid }) => [ref, oid]),
  );

/**
 * A session with two turns; HEAD is on main, and a ref with the session's name but without its month contains one of
 * them.
 */
async function begin(): Promise<{ project: MemoryProject; first: Oid; tip: Oid }> {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  const first = await project.tipOf(line);
  await turn(project, 'Two', create('two.txt'));
  const tip = await project.tipOf(line);
  await project.switchTo('main');
  await project.setRef(flat, first);
  return { project, first, tip };
}

test('a session without another archive is not found by a misplaced ref', async () => {
  const { project, first, tip } = await begin();
  await project.repository.store.updateRefs([{ ref: main, old: tip, new: null }], 'gone');
  expect(await listSessions(project, { archived: true })).toEqual([]);
  expect(await findArchived(project.repository.store, 'add-login')).toBeNull();
  await expect(restoreArchived(project, session)).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  expect(await archives(project)).toEqual({ [flat]: first });
});

test('archiving, restoring, deleting, undoing and landing ignore it, whatever it contains', async () => {
  const { project, first, tip } = await begin();
  await archiveSession(project, session);
  expect(await archives(project)).toEqual({ [flat]: first, [present]: tip });
  expect(await listSessions(project, { archived: true })).toMatchObject([
    { session, line: `archive/${session}`, turns: 2 },
  ]);
  await restoreArchived(project, session);

  const other = await project.commit('Elsewhere\n', { 'else.txt': 'else\n' });
  await project.setRef(flat, other);
  await archiveSession(project, session);
  await deleteSession(project, await planDeletion(project, session));
  expect(await archives(project)).toEqual({ [flat]: other });
  await restoreDeleted(project, session);
  expect(await archives(project)).toEqual({ [flat]: other, [present]: tip });

  await restoreArchived(project, session);
  expect(await landSession(project, { target: session })).toMatchObject({ archive: present });
  expect(await archives(project)).toEqual({ [flat]: other, [present]: tip });
});

test('the doctor names each and leaves it, like one in the place of a month', async () => {
  const { project, first, tip } = await begin();
  await archiveSession(project, session);
  const strange = [
    'refs/teddy/archive/2026-02/20260124-add-login',
    'refs/teddy/archive/2026-03',
    `refs/teddy/archive/2026-13/${session}`,
    flat,
    'refs/teddy/archive/x',
  ];
  for (const ref of strange) await project.setRef(ref, ref === flat ? first : tip);
  const before = await archives(project);
  expect((await examineRepository(project, { fix: true })).findings).toMatchObject([
    { kind: 'misplaced-archive', thing: strange[0], outcome: 'left', todo: expect.stringContaining(tip) as string },
    { kind: 'branch-in-the-way', thing: 'refs/teddy/archive/2026-03', outcome: 'left' },
    { kind: 'misplaced-archive', thing: strange[2], outcome: 'left' },
    { kind: 'misplaced-archive', thing: flat, outcome: 'left', todo: expect.stringContaining(first) as string },
    { kind: 'misplaced-archive', thing: strange[4], outcome: 'left' },
  ]);
  expect(await archives(project)).toEqual(before);
});
