/** The window is closed, or the user will not wait: a run ends in a way that the next command can tell, and nothing goes on. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { runningInGroup } from '../support/interrupted-run.ts';
import { hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { createAction, executeAction, openBegun, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const atOnce = { timeout: 20_000, interval: 20 };
const isPending = async () => (await project.ok('session', 'list')).includes('pending plan');
const has = (path: string) => existsSync(join(project.repo.root, path));

async function openWithPlan(...actions: string[]): Promise<void> {
  ({ project } = await openBegun('closed'));
  await project.plan(planOf(...actions));
}

/**
 * The shell of the terminal ends with it, and its end reaches all that it runs. One within writes down how teddy has ended:
 * 128 + n for signal n.
 */
function inTerminal(...args: string[]): TerminalRun {
  const inner = `trap : HUP; "$@"; echo $? > .git/ended`;
  return runInTerminal(args, {
    cwd: project.repo.root,
    env: project.env,
    through: `run() { sh -c '${inner}' sh "$@"; :; }; run`,
  });
}

const ended = () => expect.poll(() => has('.git/ended'), atOnce).toBe(true);
const hungUp = 128 + 1;

describe.skipIf(!hasTerminal)('when the terminal is closed', () => {
  test('at the first question nothing is run, the plan stays pending, and teddy does not crash', async () => {
    await openWithPlan(createAction('one.txt', '1\n'));
    const run = inTerminal('session', 'execute');
    await run.waitFor(',q,?] ');
    const before = await project.repo.fingerprint();
    await run.close();
    await ended();
    expect(Number(await project.repo.read('.git/ended'))).toBe(hungUp);
    expect(await project.repo.fingerprint()).toEqual(before);
    expect(await isPending()).toBe(true);
  });

  test('while a command prints, it is ended and reported as ABORTED, and no command after it runs', async () => {
    await openWithPlan(
      executeAction('echo "at $$"; while sleep 0.05; do echo tick; done'),
      executeAction('echo > two.txt'),
    );
    const run = inTerminal('session', 'execute', '-y');
    await run.waitFor('\nat ');
    await run.waitFor('\ntick');
    const group = Number(/at (\d+)/.exec(run.text())?.[1]);
    expect(await runningInGroup(group)).not.toEqual([]);
    await run.close();
    await ended();
    expect(Number(await project.repo.read('.git/ended'))).toBe(hungUp);
    expect(await runningInGroup(group)).toEqual([]);
    expect((await project.report()).action_logs.map(({ status }) => status)).toEqual(['ABORTED', 'SKIPPED']);
    expect(has('two.txt')).toBe(false);
  });
});

describe('a second wish to end', () => {
  const deaf = 'trap \'\' TERM; echo "at $$"; while :; do sleep 1; done';

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s leaves at once, says so, and kills what ignores the first',
    async (second) => {
      await openWithPlan(executeAction(deaf));
      const run = project.start(['session', 'execute', '-y']);
      await run.waitForOutput(/at \d+\n/);
      run.kill('SIGINT');
      await sleep(200);
      run.kill(second);
      const { exitCode, stdout, stderr } = await run.result;
      expect(exitCode).toBe(130);
      const group = Number(/at (\d+)/.exec(stdout + stderr)?.[1]);
      await expect.poll(() => runningInGroup(group), atOnce).toEqual([]);
      expect(stderr).toMatch(/^Exiting at once, .* `teddy execute` shows what is unfinished\.$/m);
      await project.refuses('RUN_INTERRUPTED', 3, ['session', 'execute', '-y']);
    },
  );

  test('is not that a terminal was closed, which its shell says once more: the run is reported', async () => {
    await openWithPlan(executeAction(`trap 'sleep 1; exit' TERM; echo "at $$"; while :; do sleep 0.1; done`));
    const run = project.start(['session', 'execute', '-y']);
    await run.waitForOutput(/at \d+\n/);
    run.kill('SIGHUP');
    await sleep(200);
    run.kill('SIGHUP');
    expect(await run.result).toMatchObject({ exitCode: 130 });
    expect((await project.report()).run_summary.status).toBe('ABORTED');
  });
});
