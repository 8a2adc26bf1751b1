/** The page of a session, made in clones. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAction, createPlan, executeAction, openTeddyProject, planOf } from '../support/teddy-project.ts';

test('a clone makes the same bytes, whatever else it has, and one that lacks the beginning of the session says so', async () => {
  const project = await openTeddyProject();
  const dir = await mkdtemp(join(tmpdir(), 'teddy-page-'));
  const session = await project.begin('add-login');
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('session', 'execute', '-y');
  await project.plan(planOf(createAction('b.txt', 'B\n'.repeat(50)), executeAction('echo done; ls')));
  await project.ok('session', 'execute', '-y');
  await project.ok('session', 'branch', '02');
  await project.plan(createPlan('c.txt', 'C\n'));
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  await project.ok('session', 'land', '-m', 'Add files');

  const clone = join(dir, 'clone.git');
  await project.repo.git('clone', '--quiet', '--mirror', '.', clone);
  const exported = ['session', 'export', '-s', session, '--html', '-'];
  const page = await project.ok(...exported);
  expect((await project.run(exported, { cwd: clone })).stdout).toBe(page);
  await project.run(['session', 'branch', '01', '-s', session, '--no-switch'], { cwd: clone });
  await writeFile(join(dir, 'page.html'), page);
  const verified = await project.run(['session', 'verify', '--page', join(dir, 'page.html')], { cwd: clone });
  expect(verified).toMatchObject({ exitCode: 0 });

  const [shallow, url] = [join(dir, 'shallow'), `file://${project.repo.root}`];
  await project.repo.git('clone', '--quiet', '--depth', '2', '--branch', `teddy/${session}`, url, shallow);
  const { exitCode, stderr } = await project.run(['session', 'export', '--html', '-'], { cwd: shallow });
  expect(exitCode).toBe(1);
  for (const text of ['does not go back to the start of its session', 'git fetch --unshallow'])
    expect(stderr).toContain(text);
  await rm(dir, { recursive: true });
  await project.close();
});
