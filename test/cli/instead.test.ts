/** A plan is answered by words: refused for another one, run in the same process, or kept. */
import { openMemoryBegun, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { type TerminalRun } from '../support/run-in-terminal.ts';
import { createAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const first = planOf(createAction('a.txt', 'a\n'), createAction('both.txt', '1\n'));
const second = planOf(createAction('b.txt', 'b\n'), createAction('both.txt', '2\n'));
const question = '[r]un it, [i]nstead, [k]eep? ';
const inTerminal = (...args: string[]): TerminalRun => project.inTerminal(args);

async function open(...answers: string[]): Promise<string> {
  const begun = await openMemoryBegun('words', { answers });
  project = begun.project;
  return begun.session;
}

describe('plan --instead', () => {
  test('refuses the pending plan with the message, and shows the model both', async () => {
    const session = await open(first, second);
    await project.ok('session', 'plan', '-m', 'Make a file');
    const { stderr } = await project.run(['session', 'plan', '--instead', '-m', 'Call it b\nand [c]']);
    expect(stderr).toContain(`Turn 01 of ${session}: refused; none of its actions ran.\n`);
    expect(stderr).toContain(
      "It differs from turn 01's plan:\n  - CREATE a.txt\n  + CREATE b.txt\n  ~ CREATE both.txt\n" +
        'See the whole difference: teddy diff 01 02 --only plan\n',
    );
    expect(await project.ok('session', 'diff', '01', '02', '--only', 'plan')).toContain('b.txt');
    expect((await project.report('01')).run_summary).toMatchObject({ status: 'ABORTED', error: 'Call it b\nand [c]' });
    expect(await project.ok('session', 'show', '01')).toMatch(/\nOutcome\n  ABORTED in .*: Call it b\n    and \[c\]\n/);
    const request = project.server.requests()[1]?.messages[1]?.content ?? '';
    expect(request).toMatch(/error: .*\n *Call it b\n *and \[c\]\n/);
    expect(request).toContain('a.txt');
    expect(await project.subjects()).toEqual([
      'turn 02 plan: Try it',
      'turn 02 message: Call it b',
      'turn 01 report: ABORTED Try it',
      'turn 01 plan: Try it',
      'turn 01 message: Make a file',
      'start: ' + session,
      'First commit',
    ]);
  });

  test('without a terminal a message alone is refused, and the hint names it and works', async () => {
    await open(first, second);
    await project.ok('session', 'plan', '-m', 'Make a file');
    const hint = await project.refuses('PLAN_PENDING', 3, ['session', 'plan', '-m', 'Another']);
    expect(hint).toContain('`teddy plan --instead -m "..."`');
  });

  test('changes nothing without a message, without a plan, or with an agent that there is not', async () => {
    await open(first);
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'plan', '--instead']);
    await project.refuses('NO_PENDING_PLAN', 3, ['session', 'plan', '--instead', '-m', 'Another']);
    await project.ok('session', 'plan', '-m', 'Make a file');
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'plan', '--instead', '-m', ' ']);
    await project.refuses('UNKNOWN_AGENT', 2, ['session', 'plan', '--instead', '-m', 'x', '-a', 'nobody']);
    await project.refuses('USAGE', 2, ['session', 'plan', '-m', 'x', '-y']);
    await project.refuses('USAGE', 2, ['session', 'plan', '-m', 'x', '--run', '--dry-run']);
  });
});

describe('plan --run', () => {
  test('executes the plan with the exit codes of execute', async () => {
    await open(first, planOf(createAction('a.txt', 'again\n')), 'No plan.');
    await project.ok('session', 'plan', '-m', 'Make a file', '--run', '-y');
    expect(await project.repo.read('a.txt')).toBe('a\n');
    const failed = await project.run(['session', 'plan', '-m', 'Make it again', '--run', '-y']);
    expect(failed).toMatchObject({ exitCode: 1 });
    expect((await project.report()).run_summary.status).toBe('VALIDATION_FAILED');
    await project.ok('session', 'plan', '-m', 'Explain', '--run', '-y');
  });

  test('prints one document, with the execution in it', async () => {
    await open(first);
    const printed = JSON.parse(await project.ok('session', 'plan', '-m', 'Make a file', '--run', '-y', '--json'));
    expect(printed).toMatchObject({ schema: 'teddy.plan/1', turn: '01', execution: { status: 'SUCCESS', turn: '01' } });
  });

  test('leaves the plan pending where nobody can be asked', async () => {
    await open(first);
    expect(await project.run(['session', 'plan', '-m', 'Make a file', '--run'])).toMatchObject({ exitCode: 4 });
    await project.ok('session', 'execute', '-y');
  });

  test('-m - reads the message from stdin', async () => {
    await open(first);
    const run = await project.run(['session', 'plan', '-m', '-'], { stdin: 'From a pipe\n' });
    expect(run).toMatchObject({ exitCode: 0 });
    expect(await project.subjects()).toContain('turn 01 message: From a pipe');
  });
});

describe('at a terminal', () => {
  test('a plan is refused by words and the next one run, in one process', async () => {
    await open(first, second);
    const run = inTerminal('session', 'plan', '-m', 'Make a file');
    await run.play(
      [question, '?\n'],
      [question, 'i\n', 'i  refuse it, and say what to do instead'],
      ['Message: ', 'Call it b\n'],
      [question, 'r\n', '+ CREATE b.txt'],
      [',q,?] ', 'a\n'],
    );
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('b.txt')).toBe('b\n');
    expect((await project.report('01')).run_summary.error).toBe('Call it b');
  });

  test.each([
    ['k', 'k\n', 0],
    ['the end of input', '\u0004', 0],
    ['Ctrl-C', '\u0003', 130],
  ])('%s leaves the plan pending, and says how to run it', async (_, keys, exitCode) => {
    await open(first);
    const run = inTerminal('session', 'plan', '-m', 'Make a file');
    await run.play([question, keys]);
    expect(await run.exitCode).toBe(exitCode);
    expect(run.text()).toContain('Next: teddy execute');
    await project.ok('session', 'execute', '-y');
  });
});
