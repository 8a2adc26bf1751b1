/** A person sees these and can do these before an action runs. */
import { openMemoryBegun, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { type TerminalRun } from '../support/run-in-terminal.ts';
import { createAction, editAction, executeAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const question = ',q,?] ';

async function ask(actions: string[], env: Record<string, string> = {}): Promise<TerminalRun> {
  ({ project } = await openMemoryBegun('asked'));
  await project.plan(planOf(...actions));
  return project.inTerminal(['session', 'execute'], { env });
}

describe('before an action runs', () => {
  test('the whole plan is summed up once, and only letters that apply are offered', async () => {
    const read = '### READ\n- **Resource:** README.md\n';
    const run = await ask([createAction('a.txt', '1\n2\n'), executeAction('echo one\necho two'), read]);
    const first = await run.waitFor(question);
    expect(first).toContain(
      'The plan: 1 file, 1 command, 1 other action\n  a.txt  +2 -0  new\n  $ echo one ...\n  read README.md\n\n1/3',
    );
    expect(first).toMatch(/Write this\? \[y,n,c,a,e,d,x$/);
    run.press('n\n');
    const second = await run.waitFor(question);
    expect(second).not.toContain('The plan:');
    expect(second).toMatch(/Run this\? \[y,n,c,a,e,x$/);
    run.press('n\n');
    await run.play(
      [question, 'x\n', /Show this to the model\? \[y,n,c,a,x$/],
      ['Close the turn, and skip the rest? [y,n] ', 'y\n'],
      ['Why? (Enter for no reason) ', '\n'],
    );
    expect(await run.exitCode).toBe(4);
  });

  test.each([
    ['q', 'q\n'],
    ['quit, after a no to closing the turn', 'x\nn\nquit\n'],
  ])('%s leaves the plan pending, and what was typed ahead is no reason', async (_, keys) => {
    const run = await ask([createAction('a.txt', 'a\n'), createAction('b.txt', 'b\n')]);
    await run.play([question, 'n\n']);
    for (const key of keys.split(/(?<=\n)/)) {
      await run.play(['] ', key]);
    }
    expect(await run.exitCode).toBe(130);
    expect(run.text()).not.toContain('Why?');
    const again = project.inTerminal(['session', 'resume']);
    await again.play(
      [question, 'x\n'],
      ['[y,n] ', 'y\nnot this reason\n'],
      ['Why? (Enter for no reason) ', 'this one\n'],
    );
    expect(await again.exitCode).toBe(4);
    expect((await project.report()).action_logs[0]?.details).toMatchObject({ comment: 'this one' });
  });

  test('after the last action nothing is asked about others, and a success without it says so', async () => {
    const run = await ask([createAction('a.txt', 'a\n'), executeAction('npm test')]);
    await run.play([question, 'y\n'], [question, 'c\n'], ['What should be different? ', 'run make test\n']);
    expect(await run.exitCode).toBe(0);
    expect(run.text()).not.toContain('Continue with the other actions?');
    expect(run.text()).toContain(': 1 of 2 actions was not run');
    expect((await project.report()).run_summary).toMatchObject({ status: 'SUCCESS', error: null, not_run: [2] });
    expect(await project.ok('status')).toContain('Turn 01 is closed: 1 of 2 actions was not run.');
    expect(await project.ok('session', 'show')).toMatch(/SUCCESS in .*: 1 of 2 actions was not run\n/);
    expect(await project.ok('session', 'review')).toMatch(/1 plan was run; [^]*SUCCESS, in part/);
    await project.ok('session', 'verify');
    await project.plan(planOf(createAction('b.txt', 'b\n')));
    await project.ok('session', 'execute', '--reject=no');
    expect(await project.ok('session', 'review')).toContain('1 plan was run; ');
  });

  test('the words that differ are emphasised, and control characters are shown, not obeyed', async () => {
    const run = await ask([editAction('src/app.ts', 'port = 8080', 'port = 9090'), createAction('b', 'x\u001b[7m\n')]);
    await run.waitFor(question);
    expect(run.raw()).toContain('\u001b[7m8080\u001b[27m');
    expect(run.raw()).toContain('\u001b[7m9090\u001b[27m');
    run.press('y\n');
    expect(await run.waitFor(question)).toContain('+x␛[7m');
    expect(run.raw()).not.toContain('x\u001b[7m');
    run.press('y\n');
    expect(await run.exitCode).toBe(0);
  });

  test('c says why with the no: the rest goes on or not, and the words are in the report and the next request', async () => {
    const run = await ask([createAction('a.txt', 'a\n'), createAction('b.txt', 'b\n'), createAction('c.txt', 'c\n')]);
    await run.play(
      [question, 'c\n'],
      ['What should be different? ', 'call it first.txt\n'],
      ['Continue with the other actions? [y,n] ', 'y\n'],
      [question, 'c\n', 'SKIPPED 1/3 CREATE a.txt (declined)\n  call it first.txt\n'],
      ['What should be different? ', 'stop here\n'],
      ['Continue with the other actions? [y,n] ', 'z\n'],
      ['Continue with the other actions? [y,n] ', 'n\n', 'n  stop here; the rest is skipped'],
    );
    expect(await run.exitCode).toBe(4);
    const { action_logs, run_summary } = await project.report();
    expect(run_summary.status).toBe('ABORTED');
    expect(action_logs.map(({ details }) => details?.comment)).toEqual(['call it first.txt', 'stop here', undefined]);
    expect(action_logs.map(({ details }) => details?.['reason'])).toEqual([
      'declined',
      'declined',
      'the run was stopped before it',
    ]);
    const preview = await project.ok('session', 'plan', '-m', 'Again', '--dry-run');
    expect(preview).toContain('comment: call it first.txt');
  });
});
