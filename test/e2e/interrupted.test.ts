/** A run that was killed with its process, and what its branch and work trees have become since. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { endGroup, killRun, waitHere } from '../support/interrupted-run.ts';
import {
  createAction,
  editAction,
  executeAction,
  openBegun,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const execute = ['session', 'execute'];
const has = (path: string) => existsSync(join(project.repo.root, path));

/** Killed in the second of three actions, whose command still waits; its process group. */
async function openKilled(): Promise<{ session: string; group: number }> {
  const begun = await openBegun('killed');
  ({ project } = begun);
  await mkdir(join(project.repo.root, '.git', 'x'), { recursive: true });
  await project.plan(
    planOf(
      editAction('README.md', '# Scratch', '# Changed'),
      executeAction(`echo run >> .git/x/runs; mkdir made; echo half > made/half.txt; ${waitHere}`),
      createAction('two.txt', '2\n'),
    ),
  );
  return { session: begun.session, group: await killRun(project) };
}

test('is locked while its command runs, is found by whatever name its branch has, and is kept as it stands', async () => {
  const { session, group } = await openKilled();
  for (const [choice, ...more] of [['resume', '-y'], ['rollback'], ['keep']]) {
    const said = await project.refuses('LOCKED', 3, [...execute, `--interrupted=${choice}`, ...more]);
    for (const text of [`process group ${group}`, `kill -- -${group}`]) expect(said).toContain(text);
  }
  await project.refuses('LOCKED', 3, ['session', 'resume', '-y']);
  await endGroup(group);
  const { git } = project.repo;
  await git('checkout', '--quiet', '-b', 'mine');
  await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-y']);
  await git('switch', '--quiet', `teddy/${session}`);
  await git('branch', '--quiet', '-m', 'my-feature');
  await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-y']);
  await project.repo.write('README.md', 'staged\n');
  await git('add', 'README.md');
  await project.repo.write('README.md', 'and more\n');
  await project.refuses('PARTIALLY_STAGED', 3, [...execute, '--interrupted=keep']);
  await git('restore', '--staged', 'README.md');
  await project.ok(...execute, '--interrupted=keep');
  const { run_summary, changes } = await project.report();
  expect(run_summary.status).toBe('ABORTED');
  expect(changes.map(({ path }) => path)).toEqual(['README.md', 'made/half.txt']);
  expect(await project.repo.read('.git/x/runs')).toBe('run\n');
  expect(await project.repo.list('.git/teddy/runs')).toEqual([]);
});

test('says where it lies when its line is elsewhere or nowhere, and is taken back where it ran, to be run anew', async () => {
  const { session, group } = await openKilled();
  await endGroup(group);
  const { root, git } = project.repo;
  await git('switch', '--quiet', 'main');
  for (const more of [['--interrupted=rollback'], ['-y', '--worktree']]) {
    const said = await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-s', session, ...more]);
    expect(said).toContain(`\`git switch teddy/${session} && teddy execute --interrupted=keep\``);
  }
  expect(await git('worktree', 'list')).not.toContain('\n');
  const other = join(root, '.git', 'x', 'other');
  await git('worktree', 'add', '--quiet', other, `teddy/${session}`);
  const said = await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-s', session, '--interrupted=rollback']);
  expect(said).toContain(`was interrupted in ${root}, and its branch is now checked out in ${other}.`);
  expect(said).toContain(
    `Switch this work tree to another branch, then switch the other one back: \`git -C ${root} switch teddy/${session}\`.`,
  );
  await git('-C', other, 'switch', '--quiet', '--create', 'away');
  await git('switch', '--quiet', `teddy/${session}`);

  expect(JSON.parse(await project.ok(...execute, '--interrupted=rollback', '--json'))).toEqual({
    schema: 'teddy.execute-rollback/1',
    session,
    turn: '01',
    restored: expect.arrayContaining(['README.md', 'made/half.txt']) as string[],
    left: [],
    movedAside: expect.any(Array) as unknown[],
  });
  expect(await project.repo.read('README.md')).toBe('# Scratch\n');
  expect(has('made')).toBe(false);
  expect(await git('status', '--porcelain')).toBe('');
  await project.refuses('NO_INTERRUPTED_RUN', 3, [...execute, '--interrupted=rollback']);
  await project.ok(...execute, '-y', '--only', '1,3');
  expect(await project.repo.read('README.md')).toBe('# Changed\n');
});

test('is forgotten with a warning when its plan is taken off the line', async () => {
  const { session, group } = await openKilled();
  await endGroup(group);
  await project.repo.git('reset', '--quiet', 'HEAD~2');
  const planned = await project.run(['session', 'plan', '-m', 'Again', '--from', '-'], { stdin: 'No plan.\n' });
  expect(planned.stderr).toContain(
    `The plan of turn 01 is no longer on teddy/${session}, so its interrupted run is forgotten; its changes stay in ${project.repo.root}.`,
  );
  expect(await project.repo.list('.git/teddy/runs')).toEqual([]);
});
