/** A run that was killed, without a terminal; and a failing run that puts back what it has changed. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { endGroup, killRun, waitHere } from '../support/interrupted-run.ts';
import {
  createAction,
  createPlan,
  editAction,
  executeAction,
  openBegun,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const execute = ['session', 'execute'];
const has = (path: string) => existsSync(join(project.repo.root, path));
const statuses = async () => (await project.report()).action_logs.map(({ status }) => status);

/** Killed in the second of three actions; its command is at its end. */
async function openKilled(): Promise<string> {
  const begun = await openBegun('killed');
  ({ project } = begun);
  const { session } = begun;
  await mkdir(join(project.repo.root, '.git', 'x'), { recursive: true });
  await project.plan(
    planOf(
      editAction('README.md', '# Scratch', '# Changed'),
      executeAction(`echo run >> .git/x/runs; mkdir made; echo half > made/half.txt; ${waitHere}`),
      createAction('two.txt', '2\n'),
    ),
  );
  await endGroup(await killRun(project));
  return session;
}

/** Each is refused with this code, and none of them changes anything. */
async function refuseAll(code: string, exitCode: number, commands: string[][]): Promise<void> {
  const before = await project.repo.fingerprint();
  for (const args of commands) {
    const { stderr, ...ended } = await project.run(args);
    expect({ exitCode: ended.exitCode, stdout: ended.stdout }, args.join(' ')).toEqual({ exitCode, stdout: '' });
    expect(stderr, args.join(' ')).toContain(`[${code}]\nhint:  `);
  }
  expect(await project.repo.fingerprint()).toEqual(before);
}

describe('a run that was killed', () => {
  test('is forgotten with a warning when its plan is taken off the line; before that it is settled only where nothing is half staged', async () => {
    const session = await openKilled();
    await project.repo.write('README.md', 'staged\n');
    await project.repo.git('add', 'README.md');
    await project.repo.write('README.md', 'and more\n');
    await refuseAll(
      'PARTIALLY_STAGED',
      3,
      ['resume', 'keep'].map((choice) => [...execute, '-y', `--interrupted=${choice}`]),
    );
    await project.repo.git('reset', '--quiet', 'HEAD~2');
    const planned = await project.run(['session', 'plan', '-m', 'Again', '--from', '-'], { stdin: 'No plan.\n' });
    expect(planned.stderr).toContain(
      `The plan of turn 01 is no longer on teddy/${session}, so its interrupted run is forgotten; its changes stay in ${project.repo.root}.`,
    );
    expect(await project.repo.list('.git/teddy/runs')).toEqual([]);
  });

  test('is refused by every command that would build on what it left, until it is gone on with after its interrupted action', async () => {
    const session = await openKilled();
    const said = await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-y']);
    expect(said).toMatch(/interrupted in action 2 \(.*\)/);
    for (const choice of ['--interrupted=resume', '=rollback', '=keep']) expect(said).toContain(choice);
    await refuseAll('RUN_INTERRUPTED', 3, [
      ['session', 'new', 'other'],
      ['session', 'plan', '-m', 'Go on'],
      ['session', 'plan'],
      ['session', 'branch', '01'],
      ['session', 'branch', '01', '-s', session],
      ['session', 'undo'],
      ['session', 'rewind', '01'],
      ['session', 'resume', '-y'],
      [...execute, '-y', '-s', session],
      [...execute, '--reject'],
    ]);
    const json = await project.run([...execute, '-y', '--json']);
    expect(json.exitCode).toBe(3);
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'RUN_INTERRUPTED' } });
    await project.ok('session', 'list');
    await project.ok('session', 'show');
    expect(await project.run(['session', 'new', 'other', '--no-switch'])).toMatchObject({ exitCode: 0 });

    // The action is reported as failed and not run again.
    await project.refuses('NOT_APPROVED', 4, [...execute, '--interrupted=resume']);
    const resumed = await project.run([...execute, '-y', '--interrupted=resume', '--json']);
    expect(resumed.exitCode).toBe(1);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ schema: 'teddy.execute/1', status: 'FAILURE' });
    expect(await statuses()).toEqual(['SUCCESS', 'FAILURE', 'SUCCESS']);
    const { changes, action_logs } = await project.report();
    expect(changes.map(({ path, action }) => [path, action])).toEqual([
      ['README.md', 1],
      ['made/half.txt', 2],
      ['two.txt', 3],
    ]);
    expect(action_logs[1]?.details?.['reason']).toContain('the run was interrupted in it');
    expect(await project.repo.read('.git/x/runs')).toBe('run\n');
    expect(await project.repo.git('status', '--porcelain')).toBe('');
    await project.refuses('NO_PENDING_PLAN', 3, [...execute, '-y']);
  });

  test('is not forgotten when the branch gets another name or another branch goes on from it, and is kept as it stands', async () => {
    const session = await openKilled();
    const { git } = project.repo;
    await git('checkout', '--quiet', '-b', 'mine');
    await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-y']);
    await git('switch', '--quiet', `teddy/${session}`);
    await git('branch', '--quiet', '-m', 'my-feature');
    await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-y']);
    // ABORTED with what it changed, nothing more is run, and that is no failure.
    const kept = await project.run([...execute, '--interrupted=keep']);
    expect(kept).toMatchObject({ exitCode: 0 });
    expect(await statuses()).toEqual(['SUCCESS', 'ABORTED', 'SKIPPED']);
    const { run_summary, changes } = await project.report();
    expect(run_summary.status).toBe('ABORTED');
    expect(changes.map(({ path }) => path)).toEqual(['README.md', 'made/half.txt']);
    expect(has('two.txt')).toBe(false);
    expect(await project.repo.read('.git/x/runs')).toBe('run\n');
    expect(await project.repo.list('.git/teddy/runs')).toEqual([]);
    await project.plan(createPlan('next.txt', 'n\n'));
    await project.ok(...execute, '-y');
  });

  test('is told where it lies when its line is elsewhere or nowhere, and is taken back where it ran: its plan can be run anew', async () => {
    const session = await openKilled();
    const { root, git } = project.repo;
    await git('switch', '--quiet', 'main');
    for (const more of [['--interrupted=rollback'], ['-y', '--worktree']]) {
      const said = await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-s', session, ...more]);
      expect(said).toContain(`\`git switch teddy/${session} && teddy session execute --interrupted=keep\``);
    }
    expect(await git('worktree', 'list')).not.toContain('\n');
    const other = join(root, '.git', 'x', 'other');
    await git('worktree', 'add', '--quiet', other, `teddy/${session}`);
    const said = await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-s', session, '--interrupted=rollback']);
    expect(said).toContain(`was interrupted in ${root}, and its branch is now checked out in ${other}.`);
    expect(said).toContain(
      `Switch this work tree to another branch, then the other one back: \`git -C ${root} switch teddy/${session}\`.`,
    );
    await git('-C', other, 'switch', '--quiet', '--create', 'away');
    await git('switch', '--quiet', `teddy/${session}`);

    const rolledBack = await project.run([...execute, '--interrupted=rollback', '--json']);
    expect(rolledBack).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(rolledBack.stdout)).toEqual({
      schema: 'teddy.execute-rollback/1',
      session,
      turn: '01',
      restored: expect.arrayContaining(['README.md', 'made/half.txt']) as string[],
      left: [],
      movedAside: expect.any(Array) as unknown[],
    });
    expect(await project.repo.read('README.md')).toBe('# Scratch\n');
    expect(has('made')).toBe(false);
    expect(await project.repo.git('status', '--porcelain')).toBe('');
    expect(await project.ok('session', 'list')).toContain('pending plan');
    await project.refuses('NO_INTERRUPTED_RUN', 3, [...execute, '--interrupted=rollback']);
    await project.ok(...execute, '-y', '--only', '1,3');
    expect(await project.repo.read('README.md')).toBe('# Changed\n');
  });

  test('is locked while its command still runs, and nothing is changed under it', async () => {
    ({ project } = await openBegun('killed'));
    await project.plan(planOf(executeAction(`echo half > half.txt; ${waitHere}`)));
    const group = await killRun(project);
    for (const choice of ['resume', 'rollback', 'keep']) {
      const said = await project.refuses(
        'LOCKED',
        3,
        [...execute, '-y', `--interrupted=${choice}`].filter((word) => choice !== 'rollback' || word !== '-y'),
      );
      expect(said).toContain(`process group ${group}`);
      expect(said).toContain(`kill -- -${group}`);
    }
    await project.refuses('LOCKED', 3, ['session', 'resume', '-y']);
    await endGroup(group);
    await project.ok(...execute, '--interrupted=rollback');
    expect(has('half.txt')).toBe(false);
  });
});

test('without a run that was killed, --interrupted is refused, and so are flags that it excludes', async () => {
  project = await openTeddyProject();
  await project.begin('whole');
  await project.refuses('NO_PENDING_PLAN', 3, [...execute, '--interrupted=keep']);
  await project.plan(createPlan('one.txt', '1\n'));
  await refuseAll(
    'NO_INTERRUPTED_RUN',
    3,
    ['resume', 'rollback', 'keep'].map((choice) => [...execute, `--interrupted=${choice}`]),
  );
  await refuseAll(
    'USAGE',
    2,
    [
      ['--interrupted=rollback', '-y'],
      ['--interrupted=rollback', '--only', '1'],
      ['--interrupted=rollback', '--skip', '1'],
      ['--interrupted=rollback', '--memos=yes'],
      ['--interrupted=rollback', '--rollback'],
      ['--interrupted=keep', '--reject'],
      ['--interrupted=keep', '--dry-run'],
      ['--interrupted=resume', '--replan', '1'],
      ['--interrupted=nonsense'],
    ].map((flags) => [...execute, ...flags]),
  );
  await project.ok(...execute, '-y');
});

test('--rollback puts back all that a failing run has changed: content, modes, deletions, and parents that it made', async () => {
  project = await openTeddyProject({
    files: { 'README.md': '# Scratch\n', 'tool.sh': 'echo tool\n', 'gone.txt': 'gone\n', 'dir/deep.txt': 'deep\n' },
  });
  const { repo } = project;
  await project.begin('failing');
  await repo.write('mine.txt', 'mine\n');
  await chmod(join(repo.root, 'tool.sh'), 0o755);
  await repo.git('commit', '--quiet', '--all', '-m', 'Make it executable');
  await project.plan(
    planOf(
      editAction('README.md', '# Scratch', '# Changed'),
      createAction('new/parent/file.txt', 'new\n'),
      executeAction(
        'chmod 644 tool.sh; echo more >> tool.sh; rm gone.txt; rm -r dir; echo over > mine.txt; mkdir -p a/b; echo x > a/b/c',
      ),
      executeAction('exit 3'),
      createAction('never.txt', 'x\n'),
    ),
  );
  const failed = await project.run([...execute, '-y', '--rollback']);
  expect(failed).toMatchObject({ exitCode: 1 });
  expect(failed.stderr).toContain('Rolled back: restored ');
  const report = await project.report();
  expect(report.run_summary.status).toBe('FAILURE');
  expect(await statuses()).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS', 'FAILURE', 'SKIPPED']);
  expect(report.changes).toEqual([]);
  expect(await repo.read('README.md')).toBe('# Scratch\n');
  expect(await repo.read('tool.sh')).toBe('echo tool\n');
  expect((await stat(join(repo.root, 'tool.sh'))).mode & 0o777).toBe(0o755);
  expect(await repo.read('gone.txt')).toBe('gone\n');
  expect(await repo.read('dir/deep.txt')).toBe('deep\n');
  expect(await repo.read('mine.txt')).toBe('mine\n');
  for (const path of ['new', 'a', 'never.txt']) expect(has(path), path).toBe(false);
  expect(await repo.git('status', '--porcelain')).toBe('?? mine.txt');
});

test('a run that succeeds keeps what it did, --rollback or not; without it a failing run does too', async () => {
  project = await openTeddyProject();
  await project.begin('kept');
  await project.plan(createPlan('one.txt', '1\n'));
  await project.ok(...execute, '-y', '--rollback');
  expect(has('one.txt')).toBe(true);
  await project.plan(planOf(createAction('two.txt', '2\n'), executeAction('exit 3')));
  expect(await project.run([...execute, '-y'])).toMatchObject({ exitCode: 1 });
  expect(has('two.txt')).toBe(true);
});
