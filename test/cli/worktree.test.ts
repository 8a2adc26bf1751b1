/** Work trees of sessions: what is refused. Those that git makes are in e2e/worktree. */
import { expect, test } from 'vitest';
import { openMemoryTeddy } from '../support/memory-teddy.ts';
import { createPlan } from '../support/teddy-project.ts';

test('--worktree is refused where the main work tree is on the line, and where nothing is to be done', async () => {
  const project = await openMemoryTeddy();
  const session = await project.begin('try-it');
  await project.refuses('LINE_CHECKED_OUT', 3, ['session', 'plan', '-m', 'Do it', '--worktree']);
  await project.repo.git('switch', '--quiet', 'main');
  await project.refuses('EMPTY_MESSAGE', 2, ['session', 'plan', '-m', ' ', '--worktree']);
  for (const words of [
    ['session', 'plan', '-m', 'Do it', '--worktree', '--dry-run'],
    ['session', 'execute', '--worktree', '--dry-run'],
    ['session', 'new', 'x', '--worktree', '--no-switch'],
    ['worktree', 'remove'],
    ['worktree', 'remove', session, '--ended'],
  ])
    await project.refuses('USAGE', 2, words);
  await project.refuses('UNKNOWN_WORK_TREE', 2, ['worktree', 'remove', 'other']);
  await project.close();
});

test('--worktree makes the work tree of a line that is checked out nowhere, and uses it again', async () => {
  const project = await openMemoryTeddy();
  const session = await project.begin('try-it', '--no-switch');
  const refused = await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '-s', session, '--worktree']);
  expect(refused).not.toContain('Made');
  const planned = await project.plan(createPlan('a.txt', 'A\n'), 'Do it', '-s', session, '--worktree');
  const { sessions } = JSON.parse(await project.ok('session', 'list', '--json')) as {
    sessions: { workTrees: { path: string }[] }[];
  };
  const [path = ''] = sessions.flatMap(({ workTrees }) => workTrees.map((tree) => tree.path));
  expect(planned.stderr).toContain(`Created the work tree ${path}.\nSession ${session}, in ${path}.\n`);
  const again = await project.run(['session', 'execute', '-s', session, '--worktree', '-y']);
  expect(again).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('Made') as string });
  await project.close();
});
