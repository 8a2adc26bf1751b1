/** The page of a session as a file: exported, and held against the repository. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
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

const verify = (...args: string[]) => project.run(['session', 'verify', '--page', ...args]);

test('a page goes to a file, which is replaced only by force, or to stdout', async () => {
  const file = join(dir, 'other.html');
  const before = await project.repo.fingerprint();
  const exported = await project.run(['session', 'export', '--html', file]);
  expect(exported).toMatchObject({ exitCode: 0, stdout: '' });
  expect(exported.stderr).toMatch(new RegExp(`^Exported ${session} to ${file}: 3 turns, \\d+ KB\\.\n$`));
  expect(await project.repo.fingerprint()).toEqual(before);
  const written = await readFile(file, 'utf8');
  expect(await project.ok('session', 'export', '--html', '-')).toBe(written);
  expect(written.startsWith('<!doctype html>')).toBe(true);
  await project.refuses('FILES_IN_THE_WAY', 3, ['session', 'export', '--html', file]);
  const json = JSON.parse(await project.ok('session', 'export', '--html', file, '--force', '--json')) as object;
  expect(json).toMatchObject({
    schema: 'teddy.export/1',
    session,
    kind: 'html',
    path: file,
    page: { bytes: Buffer.byteLength(written), turns: 3 },
  });
  expect((await readdir(dir)).filter((name) => name.includes('.tmp-'))).toEqual([]);
  await project.refuses('USAGE', 2, ['session', 'export', '--html=']);
  await project.refuses('USAGE', 2, ['session', 'export', '--html', file, '--jsonl', file]);
  await project.refuses('UNKNOWN_SESSION', 2, [
    'session',
    'export',
    '-s',
    'nothing-such',
    '--html',
    join(dir, 'x.html'),
  ]);
  await project.refuses('USAGE', 2, [
    'session',
    'export',
    '-s',
    `main..teddy/${session}`,
    '--html',
    join(dir, 'x.html'),
  ]);
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

test('a secret of the environment is masked in a page, and a machine that does not know it says so', async () => {
  const text = await readFile(page, 'utf8');
  expect(text).not.toContain(secret);
  expect(text).toContain('[masked: env DEPLOY_TOKEN]');
  const known = await project.run(['session', 'verify', '--page', page], { env: { DEPLOY_TOKEN: secret } });
  expect(known).toMatchObject({ exitCode: 0 });
  expect(known.stdout).toMatch(new RegExp(`^${page}: the same as the repository gives: ${session} at [0-9a-f]{10}, `));
  const { exitCode, stdout } = await verify(page);
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining('One of the two masks more secrets.')]);
});

test('a page that differs is told with the place, in words and in JSON', async () => {
  const file = join(dir, 'changed.html');
  const text = await project.ok('session', 'export', '--html', '-');
  await writeFile(file, text);
  expect(await verify(file)).toMatchObject({ exitCode: 0 });
  const changed = text.replace('Make b.txt', 'Make d.txt');
  await writeFile(file, changed);
  const { exitCode, stdout } = await verify(file);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/: different from what the repository gives, first in .*line \d+: /);
  const json = await verify(file, '--json');
  expect(json.exitCode).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    schema: 'teddy.session-verify/1',
    ok: false,
    lines: [],
    page: { file, outcome: 'different', session, difference: { line: expect.any(Number) } },
  });
});

test('a page of another version, or of another repository, or no page, is not verified', async () => {
  const file = join(dir, 'foreign.html');
  const text = await project.ok('session', 'export', '--html', '-');
  await writeFile(file, text.replace(/content="git-teddy [^"]*"/, 'content="git-teddy 99.0.0"'));
  expect(await verify(file)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('git-teddy 99.0.0 made it'),
  });
  await writeFile(file, text.replaceAll(await project.repo.git('rev-parse', `teddy/${session}`), 'a'.repeat(40)));
  const unknown = await project.refuses('UNKNOWN_COMMIT', 2, ['session', 'verify', '--page', file]);
  expect(unknown).toContain('aaaaaaaaaa, a commit that this repository does not have');
  await writeFile(file, '<!doctype html><p>Hello</p>');
  await project.refuses('USAGE', 2, ['session', 'verify', '--page', file]);
  await project.refuses('USAGE', 2, ['session', 'verify', '--page', dir]);
  await project.refuses('FILE_NOT_FOUND', 2, ['session', 'verify', '--page', join(dir, 'none.html')]);
  for (const more of [['--all'], ['--fsck'], [session], ['--signed-by', 'SHA256:x']])
    await project.refuses('USAGE', 2, ['session', 'verify', '--page', page, ...more]);
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
