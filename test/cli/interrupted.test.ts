/** A run that was killed, as commands meet it. What a kill leaves on a disk is in e2e/interrupted. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { ctrlC, ctrlD } from '../support/run-in-terminal.ts';
import { createAction, createPlan, executeAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
  await project.begin('killed');
});
afterEach(() => project.close());

const execute = ['session', 'execute'];
const question = 'What now? [r,b,k,q,?] ';
const statuses = async () => (await project.report()).action_logs.map(({ status }) => status);
const changes = async () => (await project.report()).changes.map(({ path, action }) => [path, action]);

/** Dies in the second of three actions, whose command has written a file. */
async function kill(): Promise<void> {
  await project.plan(planOf(createAction('one.txt', '1\n'), executeAction('half'), createAction('two.txt', '2\n')));
  const { command } = project.memory;
  const { run } = command;
  command.run = async () => {
    await project.memory.write({ 'half.txt': 'half\n' });
    throw new Error('killed');
  };
  await project.run([...execute, '-y']);
  command.run = run;
}

async function ask(...args: string[]) {
  const run = project.inTerminal(args);
  expect(await run.waitFor(question)).toMatch(
    /The run of turn 01 was interrupted in action 2 \(.*\)\.\nr {2}.*\nb {2}.*\nk {2}.*\nq {2}/,
  );
  return run;
}

describe('at a terminal', () => {
  test('it is asked until it is decided; r reports the action as failed, and asks about the rest', async () => {
    await kill();
    const before = await project.repo.fingerprint();
    for (const [keys, exitCode, code] of [
      ['q\n', 3, '[RUN_INTERRUPTED]'],
      [ctrlD, 3, '[RUN_INTERRUPTED]'],
      [ctrlC, 130, '[INTERRUPTED]'],
    ] as const)
      for (const command of [['session', 'resume'], execute]) {
        const run = await ask(...command);
        run.press(keys);
        expect(await run.exitCode).toBe(exitCode);
        expect(run.text()).toContain(code);
        expect(await project.repo.fingerprint()).toEqual(before);
      }
    const run = await ask('session', 'resume');
    run.press('x\n');
    await run.play([question, 'r\n'], [',q,?] ', 'y\n']);
    expect(await run.exitCode).toBe(1);
    expect(await statuses()).toEqual(['SUCCESS', 'FAILURE', 'SUCCESS']);
    expect(await changes()).toEqual([
      ['half.txt', 2],
      ['one.txt', 1],
      ['two.txt', 3],
    ]);
  });

  test('b puts the files back, and the plan is pending; k reports what was done as it stands', async () => {
    await kill();
    const back = await ask('session', 'resume');
    back.press('b\n');
    expect(await back.exitCode).toBe(0);
    expect(back.text()).toContain('The plan is pending again: teddy execute');
    expect(await project.repo.list('.')).not.toContain('half.txt');
    await project.refuses('NOT_APPROVED', 4, ['session', 'resume']);
    await project.ok(...execute, '--reject');
    await kill();
    const kept = project.inTerminal([...execute, '-y']);
    await kept.play([question, 'keep\n']);
    expect(await kept.exitCode).toBe(0);
    expect(await statuses()).toEqual(['SUCCESS', 'ABORTED', 'SKIPPED']);
    expect((await project.report()).run_summary.status).toBe('ABORTED');
  });
});

test('every command that would build on what it left is refused, and --reject asks nothing', async () => {
  await kill();
  const said = await project.refuses('RUN_INTERRUPTED', 3, [...execute, '-y']);
  expect(said).toMatch(/interrupted in action 2 \(.*\)/);
  for (const choice of ['--interrupted=resume', '=rollback', '=keep']) expect(said).toContain(choice);
  for (const args of [
    ['session', 'new', 'other'],
    ['session', 'plan', '-m', 'Go on'],
    ['session', 'plan'],
    ['session', 'branch', '01'],
    ['session', 'branch', '01', '-s', 'killed'],
    ['session', 'undo'],
    ['session', 'rewind', '01'],
    ['session', 'resume', '-y'],
    [...execute, '-y', '-s', 'killed'],
    [...execute, '--reject'],
  ])
    await project.refuses('RUN_INTERRUPTED', 3, args);
  const asked = project.inTerminal([...execute, '--reject']);
  expect(await asked.exitCode).toBe(3);
  const json = await project.run([...execute, '-y', '--json']);
  expect(json.exitCode).toBe(3);
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'RUN_INTERRUPTED' } });
  await project.ok('session', 'show');
  await project.ok('session', 'new', 'other', '--no-switch');

  await project.refuses('NOT_APPROVED', 4, [...execute, '--interrupted=resume', '-s', 'killed']);
  const resumed = await project.run([...execute, '-y', '--interrupted=resume', '--json']);
  expect(resumed.exitCode).toBe(1);
  expect(JSON.parse(resumed.stdout)).toMatchObject({ schema: 'teddy.execute/1', status: 'FAILURE' });
  await project.refuses('NO_PENDING_PLAN', 3, [...execute, '-y']);
});

test('without a run that was killed, --interrupted is refused, and so are flags that it excludes', async () => {
  await project.refuses('NO_PENDING_PLAN', 3, [...execute, '--interrupted=keep']);
  await project.plan(createPlan('one.txt', '1\n'));
  for (const choice of ['resume', 'rollback', 'keep'])
    await project.refuses('NO_INTERRUPTED_RUN', 3, [...execute, `--interrupted=${choice}`]);
  for (const flags of [
    ['--interrupted=rollback', '-y'],
    ['--interrupted=rollback', '--only', '1'],
    ['--interrupted=rollback', '--skip', '1'],
    ['--interrupted=rollback', '--memos=yes'],
    ['--interrupted=rollback', '--rollback'],
    ['--interrupted=keep', '--reject'],
    ['--interrupted=keep', '--dry-run'],
    ['--interrupted=resume', '--replan', '1'],
    ['--interrupted=nonsense'],
  ])
    await project.refuses('USAGE', 2, [...execute, ...flags]);
  await project.ok(...execute, '-y');
});
