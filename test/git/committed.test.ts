/** Other agents' sessions whose code somebody has committed, on real git. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { listSessions } from '../../src/workflow/review/list-sessions.ts';
import { captureTurns, type CapturedTurn } from '../support/captured-line.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let project: Project;

beforeEach(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'one\n', 'old.txt': 'old\n' });
  project = await open();
});
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

const open = () =>
  openProject({ cwd: repo.root, env: process.env, notices: { info: () => undefined, warn: () => undefined } });

const capture = (...files: (Record<string, string | null> | null)[]) =>
  captureTurns(
    project,
    'claude-code',
    files.map((some): CapturedTurn => ({ model: 'opus', ...(some === null ? {} : { files: some }) })),
  );

/** The user commits these files; returns the commit's id. */
async function commit(files: Record<string, string | null>, message = 'By the user'): Promise<string> {
  for (const [path, text] of Object.entries(files))
    if (text === null) await rm(`${repo.root}/${path}`);
    else await repo.write(path, text);
  await repo.git('add', '--all');
  await repo.git('commit', '--quiet', '-m', message);
  return repo.git('rev-parse', 'HEAD');
}

async function states(): Promise<(string | null)[]> {
  return (await listSessions(project)).flatMap(({ state, committed }) => [state, committed]);
}

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
    {
      'a.txt': 'one\n',
      'old.txt': null,
      'tmp.txt': null,
    },
  );
  await commit({ 'b.txt': 'draft\n' });
  expect(await states()).toEqual(['closed', null]);
  const last = await commit({ 'b.txt': 'done\n', 'old.txt': null });
  expect(await states()).toEqual(['committed', last]);
});

test('another version, or messages alone, are not committed', async () => {
  await capture({ 'b.txt': 'two\n' });
  await commit({ 'b.txt': 'two, otherwise\n' });
  expect(await states()).toEqual(['closed', null]);
  await repo.git(
    'branch',
    '-D',
    (await repo.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy')).trim(),
  );
  await capture(null, null);
  expect(await states()).toEqual(['closed', null]);
});

test('the branch may be HEAD’s, and the agent may have committed itself', async () => {
  await repo.git('switch', '--quiet', '-c', 'feature');
  const own = await commit({ 'b.txt': 'two\n' }, 'By the agent');
  await repo.git('switch', '--quiet', 'main');
  await capture({ 'b.txt': 'two\n' });
  await repo.git('switch', '--quiet', 'feature');
  expect(await states()).toEqual(['committed', own]);
});

test('branches that have not moved are searched once', async () => {
  await capture({ 'b.txt': 'two\n' });
  const search = vi.spyOn(project.repository.blame, 'findMarked');
  await states();
  expect(search).toHaveBeenCalledTimes(2);
  await states();
  expect(search).toHaveBeenCalledTimes(2);
  const last = await commit({ 'b.txt': 'two\n' });
  await states();
  expect(search).toHaveBeenCalledTimes(3);
  await project.repository.close();
  project = await open();
  expect(await states()).toEqual(['committed', last]);
});

test('an amended commit is found by its new name', async () => {
  await capture({ 'b.txt': 'two\n' });
  const first = await commit({ 'b.txt': 'two\n' });
  expect(await states()).toEqual(['committed', first]);
  await repo.git('commit', '--quiet', '--amend', '-m', 'Say it better');
  expect(await states()).toEqual(['committed', await repo.git('rev-parse', 'HEAD')]);
});

test('the branch may have continued since: that is not a conflict, and the archive keeps only what exists elsewhere', async () => {
  await capture({ 'a.txt': 'two\n' });
  const last = await commit({ 'a.txt': 'two\n' });
  await commit({ 'a.txt': 'three\n' });
  const [listed] = await listSessions(project);
  await expect(landSession(project, { target: listed?.line ?? '' })).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
    message: expect.stringContaining(`committed as ${last.slice(0, 10)}`),
  });
  const archived = await archiveSession(project, listed?.session);
  expect(archived.lines).toMatchObject([{ hasLanded: true }]);
});

test('land names the commit that has the code', async () => {
  const line = await capture({ 'b.txt': 'two\n' });
  const last = await commit({ 'b.txt': 'two\n' });
  const landing = landSession(project, { target: line.session });
  await expect(landing).rejects.toThrow(
    `main already has all code from teddy/${line.session}, committed as ${last.slice(0, 10)}.`,
  );
});
