/** The page of a session as a file: exported, and held against the repository. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createAction,
  createPlan,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

const secret = 'Zq8vK2mX7pLw4TnR9sYb';
let project: TeddyProject;
let session: string;
let dir: string;
let page: string;

/** Two turns, another attempt at the second one, and a landing of the main line. */
beforeAll(async () => {
  project = await openTeddyProject();
  dir = await mkdtemp(join(tmpdir(), 'teddy-page-'));
  page = join(dir, 'page.html');
  session = await project.begin('add-login');
  await project.plan(createPlan('a.txt', 'A\n'), 'Make a.txt');
  await project.ok('session', 'execute', '-y');
  await project.plan(
    planOf(createAction('b.txt', `${'B\n'.repeat(50)}`), executeAction('echo done; ls')),
    'Make b.txt',
  );
  await project.ok('session', 'execute', '-y');
  await project.ok('session', 'branch', '02');
  await project.plan(createPlan('c.txt', 'C\n'), 'Make c.txt');
  await project.ok('session', 'execute', '-y');
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  await project.ok('session', 'land', '-m', 'Add files');
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  await project.repo.commit({ 'config.txt': 'x\n' }, `Deploy with ${secret}`);
  await project.run(['session', 'export', '--html', page], { env: { DEPLOY_TOKEN: secret } });
});

afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
  await project.close();
});

test('a clone makes the same bytes, whatever else it has', async () => {
  const clone = join(dir, 'clone.git');
  await project.repo.git('clone', '--quiet', '--mirror', '.', clone);
  const here = await project.ok('session', 'export', '-s', session, '--html', '-');
  const there = await project.run(['session', 'export', '-s', session, '--html', '-'], { cwd: clone });
  expect(there.stdout).toBe(here);
  await project.run(['session', 'branch', '01', '-s', session, '--no-switch'], { cwd: clone });
  const file = join(dir, 'cloned.html');
  await writeFile(file, here);
  expect(await project.run(['session', 'verify', '--page', file], { cwd: clone })).toMatchObject({ exitCode: 0 });
});

test('a clone that lacks the beginning of the session says so', async () => {
  const shallow = join(dir, 'shallow');
  await project.repo.git(
    'clone',
    '--quiet',
    '--depth',
    '2',
    '--branch',
    `teddy/${session}`,
    `file://${project.repo.root}`,
    shallow,
  );
  const { exitCode, stderr } = await project.run(['session', 'export', '--html', '-'], { cwd: shallow });
  expect(exitCode).toBe(1);
  expect(stderr).toContain('does not go back to the start of its session');
  expect(stderr).toContain('git fetch --unshallow');
});
