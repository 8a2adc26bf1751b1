/** Work trees of sessions: what is refused. Those that git makes are in e2e/worktree. */
import { test } from 'vitest';
import { openMemoryTeddy } from '../support/memory-teddy.ts';

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
