/** The page of a session as a file: exported, and held against the repository. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createAction, createPlan, executeAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;
let dir: string;

beforeAll(async () => {
  project = await openMemoryTeddy();
  dir = await mkdtemp(join(tmpdir(), 'teddy-page-'));
  session = await project.begin('add-login');
  for (const [name, plan] of [
    ['a.txt', createPlan('a.txt', 'A\n')],
    ['b.txt', planOf(createAction('b.txt', 'B\n'.repeat(50)), executeAction('echo done; ls'))],
  ] as const) {
    await project.plan(plan, `Make ${name}`);
    await project.ok('session', 'execute', '-y');
  }
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
  expect(exported.stderr).toMatch(new RegExp(`^Exported ${session} to ${file}: 2 turns, \\d+ KB\\.\n$`));
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
    page: { bytes: Buffer.byteLength(written), turns: 2 },
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

test('a page that differs is told with the place, in words and in JSON', async () => {
  const file = join(dir, 'changed.html');
  const text = await project.ok('session', 'export', '--html', '-');
  await writeFile(file, text);
  expect(await verify(file)).toMatchObject({ exitCode: 0 });
  const changed = text.replace('Make b.txt', 'Make d.txt');
  await writeFile(file, changed);
  const { exitCode, stdout } = await verify(file);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/: different from the page rendered from the repository, first in .*line \d+: /);
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
    await project.refuses('USAGE', 2, ['session', 'verify', '--page', file, ...more]);
});
