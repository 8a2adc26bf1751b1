/** A plan is answered by words: refused for another one, run in the same process, or kept. */
import { afterEach, describe, expect, test } from 'vitest';
import { hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { createAction, createPlan, openBegun, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const first = planOf(createAction('a.txt', 'a\n'), createAction('both.txt', '1\n'));
const question = '[r]un it, [i]nstead, [k]eep? ';
const inTerminal = (...args: string[]): TerminalRun =>
  runInTerminal(args, { cwd: project.repo.root, env: project.env });

async function open(...answers: string[]): Promise<string> {
  const begun = await openBegun('words', { answers });
  project = begun.project;
  return begun.session;
}

describe.skipIf(!hasTerminal)('at a terminal', () => {
  test('a message while a plan waits asks what becomes of it: run it, refuse it, or keep it', async () => {
    await open(first, createPlan('b.txt', 'b\n'));
    await project.ok('session', 'plan', '-m', 'Make a file');
    const asked = 'plan [i]nstead, [k]eep and stop? ';
    const kept = inTerminal('session', 'plan', '-m', 'Another');
    await kept.play([asked, 'k\n', 'Turn 01 has a plan that has not been run.']);
    expect(await kept.exitCode).toBe(3);
    const ran = inTerminal('session', 'plan', '-m', 'Then b');
    await ran.play([asked, 'r\n'], [',q,?] ', 'a\n'], [question, 'k\n']);
    expect(await ran.exitCode).toBe(0);
    expect(await project.repo.read('a.txt')).toBe('a\n');
    expect(await project.subjects()).toContain('turn 02 message: Then b');
    await project.repo.write('plan.md', createPlan('c.txt', 'c\n'));
    const instead = inTerminal('session', 'plan', '--from', 'plan.md', '-m', 'c');
    await instead.play([asked, 'i\n'], ['[k]eep? ', 'k\n']);
    expect(await instead.exitCode).toBe(0);
    expect((await project.report('02')).run_summary).toMatchObject({ status: 'ABORTED', error: 'c' });
  });
});
