/** Which sessions `archive --landed` archives, which it keeps, and why. */
import { expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { mainLineRef, type RefName, type SessionId } from '../../../src/names.ts';
import { archiveLanded, type ArchivedLanded } from '../../../src/workflow/landing/archive-landed.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { create, start, turn } from '../../support/turns.ts';

const { signal } = new AbortController();
const request = { beforeMs: null, isDryRun: false, signal };
const idOf = (name: string) => `20260124-${name}` as SessionId;
const refOf = (name: string) => mainLineRef(idOf(name));

const refsOf = async (project: MemoryProject) =>
  Object.fromEntries((await project.repository.store.listRefs('refs/')).map(({ ref, oid }) => [ref, oid]));
const branchesOf = async (project: MemoryProject) =>
  (await project.repository.store.listRefs('refs/heads/teddy/')).map(({ ref }) =>
    ref.slice('refs/heads/teddy/'.length),
  );
const sessionsOf = ({ archived }: ArchivedLanded) => archived.map(({ session }) => session);

/** Sessions with one turn each; HEAD is on main. */
async function begin(...names: string[]): Promise<MemoryProject> {
  const project = await memoryProject();
  for (const name of names) {
    await start(project, name);
    await turn(project, name, create(`${name}.txt`));
    await project.switchTo('main');
  }
  return project;
}

const land = (project: MemoryProject, name: string) => landSession(project, { target: idOf(name) });

test('each session that has landed is archived with its other attempts, and no other session', async () => {
  const project = await begin('one', 'open', 'two', 'more');
  await branchSession(project, { selector: idOf('one'), turn: '01', switch: false });
  for (const name of ['one', 'two', 'more']) await land(project, name);
  // It has continued since.
  await project.switchTo('teddy/20260124-more');
  await turn(project, 'More', create('more-2.txt'));
  await start(project, 'empty');
  await project.switchTo('main');
  const before = await refsOf(project);

  const dry = await archiveLanded(project, { ...request, isDryRun: true });
  expect(await refsOf(project)).toEqual(before);
  const done = await archiveLanded(project, request);
  for (const result of [dry, done])
    expect(result).toMatchObject({
      archived: [
        { session: idOf('one'), lines: [{ hasLanded: true }, { hasLanded: false }] },
        { session: idOf('two'), lines: [{ line: refOf('two'), archive: 'refs/teddy/archive/2026-01/20260124-two' }] },
      ],
      refused: [],
    });
  expect(done).toEqual(dry);
  expect(await branchesOf(project)).toEqual(['20260124-empty', '20260124-more', '20260124-open', 'global']);
  expect((await refsOf(project))['refs/teddy/archive/2026-01/20260124-two']).toBe(before[refOf('two')]);
  expect(await archiveLanded(project, request)).toEqual({ archived: [], refused: [] });
});

test('a remote’s HEAD on a session’s branch does not count as landing, and one on its trunk does', async () => {
  const project = await begin('one');
  const tip = await project.tipOf('teddy/20260124-one');
  await project.setRef('refs/remotes/origin/teddy/20260124-one', tip);
  await project.setRef('refs/remotes/origin/HEAD', tip);
  expect(sessionsOf(await archiveLanded(project, { ...request, isDryRun: true }))).toEqual([]);
  await project.setRef('refs/remotes/origin/main', tip);
  expect(sessionsOf(await archiveLanded(project, { ...request, isDryRun: true }))).toEqual([idOf('one')]);
  await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
  await project.setRef('refs/remotes/origin/trunk', tip);
  expect(sessionsOf(await archiveLanded(project, { ...request, isDryRun: true }))).toEqual([idOf('one')]);
});

test('a session is kept until the latest step on each of its branches is old enough', async () => {
  const project = await begin('one', 'two');
  for (const name of ['one', 'two']) await land(project, name);
  const at = async (ms: number) =>
    sessionsOf(await archiveLanded(project, { ...request, beforeMs: ms, isDryRun: true }));
  // The ids of entries contain their time.
  const made = Number.parseInt('019bf0000000', 16);
  expect(await at(made)).toEqual([]);
  expect(await at(made + 0x800)).toEqual([idOf('one'), idOf('two')]);
  project.ids.entryId = () => '019bf000-1000-7000-8000-000000000000';
  await branchSession(project, { selector: idOf('two'), turn: '01', switch: false });
  expect(await at(made + 0x800)).toEqual([idOf('one')]);
  expect(await at(made + 0x1001)).toEqual([idOf('one'), idOf('two')]);
});

test('a session that a work tree is on is kept, with the reason, and so is one whose archive has other commits', async () => {
  const project = await begin('blocked', 'elsewhere', 'here', 'ready');
  for (const name of ['blocked', 'elsewhere', 'here', 'ready']) await land(project, name);
  const other = await project.commit('Elsewhere\n', { 'else.txt': 'else\n' });
  await project.setRef('refs/teddy/archive/2026-01/20260124-blocked' as RefName, other);
  await project.switchTo('teddy/20260124-here');
  project.linked.push(memoryWorkTree(refOf('elsewhere')));
  for (const isDryRun of [true, false]) {
    const result = await archiveLanded(project, { ...request, isDryRun });
    expect(sessionsOf(result)).toEqual([idOf('ready')]);
    expect(result.refused).toMatchObject([
      { session: idOf('blocked'), problem: { code: 'BRANCH_IN_THE_WAY' } },
      { session: idOf('elsewhere'), problem: { code: 'LINE_CHECKED_OUT', exitCode: 3 } },
      { session: idOf('here'), problem: { code: 'LINE_CHECKED_OUT' } },
    ]);
  }
  expect((await project.repository.workspace.head()).ref).toBe(refOf('here'));
  expect(await branchesOf(project)).toEqual(['20260124-blocked', '20260124-elsewhere', '20260124-here', 'global']);
});

test('a session that somebody continues at the same moment is kept, with the new commits', async () => {
  const project = await begin('one');
  await land(project, 'one');
  let moved = '';
  const racing = withRace(project, async () => {
    await project.switchTo('teddy/20260124-one');
    moved = await project.commit('Meanwhile\n', { 'new.txt': 'new\n' });
    await project.switchTo('main');
  });
  expect(await archiveLanded(racing, request)).toMatchObject({
    archived: [],
    refused: [{ session: idOf('one'), problem: { code: 'REF_MOVED' } }],
  });
  expect((await refsOf(project))[refOf('one')]).toBe(moved);
});

test('a session that somebody else archives at the same moment is skipped', async () => {
  const project = await begin('one', 'two');
  for (const name of ['one', 'two']) await land(project, name);
  const racing = withRace(project, () => archiveSession(project, idOf('one')));
  expect(await archiveLanded(racing, request)).toMatchObject({ archived: [{ session: idOf('two') }], refused: [] });
});

test('a failure that would affect every session is reported once and ends the command', async () => {
  const project = await begin('one', 'two');
  for (const name of ['one', 'two']) await land(project, name);
  const full = new TeddyError('DISK_FULL', 'There is no space left.');
  const failing = withRace(project, () => Promise.reject(full));
  expect(await archiveLanded(failing, request)).toEqual({
    archived: [],
    refused: [{ session: idOf('one'), problem: full }],
  });
});

test('an interruption reports how many sessions are archived', async () => {
  const project = await begin('one');
  await land(project, 'one');
  const aborted = { ...request, signal: AbortSignal.abort() };
  await expect(archiveLanded(project, aborted)).rejects.toMatchObject({
    code: 'INTERRUPTED',
    message: expect.stringContaining('0 sessions are archived') as string,
  });
});
