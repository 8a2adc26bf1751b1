/** Other agents' sessions whose code somebody has committed. */
import { beforeEach, expect, test, vi } from 'vitest';
import type { Oid } from '../../../src/names.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { captureTurns, type CapturedTurn } from '../../support/captured-line.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

type Files = Record<string, string | null>;

let project: MemoryProject;

beforeEach(async () => {
  project = await memoryProject({ 'a.txt': 'one\n', 'old.txt': 'old\n' });
});

const capture = (...files: (Files | null)[]) =>
  captureTurns(
    project,
    'claude-code',
    files.map((some): CapturedTurn => ({ model: 'opus', ...(some === null ? {} : { files: some }) })),
  );

const commit = (files: Files) => project.commit('By the user\n', files);

const states = async () => (await listSessions(project)).flatMap(({ state, committed }) => [state, committed]);

test('a session is committed once its last file is, and not before', async () => {
  await capture({ 'b.txt': 'two\n', 'c.txt': 'three\n' });
  expect(await states()).toEqual(['closed', null]);
  await commit({ 'b.txt': 'two\n' });
  expect(await states()).toEqual(['closed', null]);
  const last = await commit({ 'c.txt': 'three\n' });
  expect(await states()).toEqual(['committed', last]);
  await commit({ 'c.txt': 'changed since\n' });
  expect(await states()).toEqual(['committed', last]);
});

test('the last version of each file counts, compared with the start', async () => {
  await capture(
    { 'b.txt': 'draft\n', 'tmp.txt': 'x\n' },
    { 'a.txt': 'tried\n', 'b.txt': 'done\n' },
    { 'a.txt': 'one\n', 'old.txt': null, 'tmp.txt': null },
  );
  await commit({ 'b.txt': 'draft\n' });
  expect(await states()).toEqual(['closed', null]);
  const last = await commit({ 'b.txt': 'done\n', 'old.txt': null });
  expect(await states()).toEqual(['committed', last]);
});

test.each<[string, (Files | null)[]]>([
  ['another version', [{ 'b.txt': 'two\n' }]],
  ['messages alone', [null, null]],
])('%s is not committed', async (_, files) => {
  await capture(...files);
  await commit({ 'b.txt': 'two, otherwise\n' });
  expect(await states()).toEqual(['closed', null]);
});

test('the branch may be HEAD’s, and the agent may have committed itself', async () => {
  await project.switchTo('feature', await project.tipOf('main'));
  const own = await commit({ 'b.txt': 'two\n' });
  await project.switchTo('main');
  await capture({ 'b.txt': 'two\n' });
  await project.switchTo('feature');
  expect(await states()).toEqual(['committed', own]);
});

test('branches that have not moved are searched once', async () => {
  await capture({ 'b.txt': 'two\n' });
  const search = vi.spyOn(project.repository.blame, 'findMarked');
  await states();
  await states();
  expect(search).toHaveBeenCalledTimes(2);
  const last = await commit({ 'b.txt': 'two\n' });
  await states();
  expect(search).toHaveBeenCalledTimes(3);
  expect(await states()).toEqual(['committed', last]);
});

test('an amended commit is found by its new name', async () => {
  await capture({ 'b.txt': 'two\n' });
  const first = await commit({ 'b.txt': 'two\n' });
  expect(await states()).toEqual(['committed', first]);
  const { store } = project.repository;
  const batch = store.batch();
  const amended = await batch.commit({ ...(await store.readCommit(first)), message: 'Say it better\n' });
  await batch.flush();
  await project.setRef('refs/heads/main', amended);
  expect(await states()).toEqual(['committed', amended]);
});

test('the branch may have continued since: that is not a conflict, and the archive keeps only what exists elsewhere', async () => {
  const line = await capture({ 'a.txt': 'two\n' });
  const last: Oid = await commit({ 'a.txt': 'two\n' });
  await commit({ 'a.txt': 'three\n' });
  await expect(landSession(project, { target: line.session })).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    message: `main already has all code from teddy/${line.session}, committed as ${last.slice(0, 10)}.`,
  });
  expect((await archiveSession(project, line.session)).lines).toMatchObject([{ hasLanded: true }]);
});
