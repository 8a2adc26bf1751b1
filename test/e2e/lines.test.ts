/** Which branches are lines, and which one a command acts on: with real git, a real remote and a real clone. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
let outside: string;

beforeEach(async () => {
  project = await openTeddyProject();
  outside = await realpath(await mkdtemp(join(tmpdir(), 'teddy-lines-')));
  const origin = join(outside, 'origin.git');
  await project.repo.git('init', '--quiet', '--bare', '--initial-branch', 'main', origin);
  await project.repo.git('remote', 'add', 'origin', origin);
  await project.repo.git('push', '--quiet', 'origin', 'main');
  session = await project.begin('fix-ago');
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('session', 'execute', '-y');
});

afterEach(async () => {
  await project.close();
  await rm(outside, { recursive: true, force: true });
});

const branchesOf = async (place: string) =>
  (await project.repo.git('-C', place, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).split('\n');

test('in a clone of a colleague nothing is taken that was not named, and an archive here deletes nothing elsewhere', async () => {
  await project.ok('session', 'push');
  const clone = join(outside, 'clone');
  await project.repo.git('clone', '--quiet', join(outside, 'origin.git'), clone);
  const theirs = openScratchRepository(clone);
  await theirs.git('config', 'user.name', 'Bea Example');
  await theirs.git('config', 'user.email', 'bea@example.org');
  const before = await theirs.fingerprint();
  const plan = ['session', 'plan', '--from', '-', '-m', 'More'];
  const refused = await project.run(plan, { cwd: clone, stdin: createPlan('b.txt', 'B\n') });
  expect(refused).toMatchObject({ exitCode: 2 });
  expect(refused.stderr).toContain(`you have no open session: ${session} (only on origin). [NO_OPEN_SESSION]`);
  expect(await theirs.fingerprint()).toEqual(before);

  expect(await project.run(['session', 'pull'], { cwd: clone })).toMatchObject({ exitCode: 0 });
  expect((await project.run(['doctor'], { cwd: clone })).stdout).toContain(', remotes as last fetched, ');
  expect(await project.ok('session', 'archive')).toContain(`teddy/${session} is now `);
  expect(await project.repo.git('symbolic-ref', '--short', 'HEAD')).toBe('main');
  await project.ok('session', 'sync', '--all');
  expect(await branchesOf(join(outside, 'origin.git'))).toContain(`teddy/${session}`);
  await project.run(['session', 'sync', '--all'], { cwd: clone });
  expect(await branchesOf(clone)).toContain(`teddy/${session}`);

  const asked = await project.run(['session', 'archive', session, '--remote']);
  expect(asked).toMatchObject({ exitCode: 4 });
  expect(asked.stderr).toContain(`error: Nothing was deleted on origin. Here, ${session} is archived. [NOT_APPROVED]`);
  expect(asked.stderr).toContain(`teddy/${session}  last turn by Ada Example <ada@example.org>, not landed there`);
  expect(await branchesOf(join(outside, 'origin.git'))).toContain(`teddy/${session}`);
  await project.ok('session', 'archive', session, '--remote', '-y');
  expect(await branchesOf(join(outside, 'origin.git'))).not.toContain(`teddy/${session}`);
  const synced = await project.run(['session', 'sync', '--all'], { cwd: clone });
  expect(synced.stderr).toContain(`teddy/${session} was archived on origin, but kept here.`);
  expect(await branchesOf(clone)).toContain(`teddy/${session}`);
});

test('an archive with --remote deletes where the branch is pushed that it leaves', async () => {
  const { repo } = project;
  const [origin, mirror] = ['origin.git', 'mirror.git'].map((name) => join(outside, name)) as [string, string];
  await repo.git('clone', '--quiet', '--bare', origin, mirror);
  await repo.git('remote', 'add', 'mirror', mirror);
  await repo.git('config', `branch.teddy/${session}.remote`, 'mirror');
  for (const name of ['origin', 'mirror']) await project.ok('session', 'push', name);
  const part = ['session', 'archive', session.slice(0, -1), '--remote', '-y'];
  const hint = `\`teddy archive ${session} --remote=mirror -y\``;
  expect(await project.refuses('USAGE', 2, part)).toContain(`is only a part of ${session}`);
  expect(await project.refuses('USAGE', 2, part)).toContain(hint);
  expect(await branchesOf(repo.root)).toContain(`teddy/${session}`);
  const done = await project.run(['session', 'archive', '--remote', '-y']);
  expect(done.stdout).toContain(`Deleted teddy/${session} on mirror\n`);
  expect(await branchesOf(mirror)).not.toContain(`teddy/${session}`);
  expect(await branchesOf(origin)).toContain(`teddy/${session}`);
});

test('the steps that are printed after a secret lead to a push of what was before it', async () => {
  await project.plan(createPlan('key.txt', 'token = ghp_abcdefghijklmnopqrstuvwxyzABCDEF0123\n'));
  await project.ok('session', 'execute', '-y');
  const said = await project.refuses('SECRET_FOUND', 3, ['session', 'push']);
  const [first = '', second = '', third] = [...said.matchAll(/`([^`]+)`/g)].map(([, command]) => command);
  expect(third).toBe('teddy push');
  await project.repo.git(...first.split(' ').slice(1));
  await project.repo.git(...second.split(' ').slice(1));
  expect(await project.ok('session', 'push')).toBe(`${session}-clean  pushed\nteddy/global  pushed\n`);
});

test('a memo of somebody who stands on teddy/global leaves index and files as the branch has them', async () => {
  await project.repo.git('switch', '--quiet', 'teddy/global');
  await project.ok('memo', 'add', 'tabs');
  expect(await project.repo.git('status', '--porcelain')).toBe('');
  expect(await project.repo.read('memos.yaml')).toContain('tabs');
  await project.refuses('USAGE', 2, ['session', 'new', 'x']);
  await project.repo.write('memos.yaml', '- mine\n');
  await project.refuses('UNCOMMITTED_EDITS', 3, ['memo', 'add', 'spaces']);
});
