/** At a terminal: questions, answers, and Ctrl-C at any moment. */
import { afterEach, describe, expect, test } from 'vitest';
import { runningInGroup } from '../support/interrupted-run.ts';
import { ctrlC, hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import {
  createAction,
  createPlan,
  executeAction,
  openBegun,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

// The letters before these depend on the action.
const question = ',q,?] ';

async function openWithPlan(answer: string): Promise<void> {
  ({ project } = await openBegun('asked'));
  await project.plan(answer);
}

function inTerminal(...args: string[]): TerminalRun {
  return runInTerminal(args, { cwd: project.repo.root, env: project.env });
}

describe.skipIf(!hasTerminal)('at a terminal', () => {
  test('Ctrl-C while a command runs ends its whole group, reports ABORTED, and exits 130', async () => {
    await openWithPlan(
      planOf(executeAction('echo half > half.txt; sleep 60 & echo "at $$"; wait'), createAction('b', 'b\n')),
    );
    const run = inTerminal('session', 'execute', '-y');
    await run.waitFor('\nat ');
    await run.waitFor('\n');
    const pid = Number(/at (\d+)/.exec(run.text())?.[1]);
    expect(await runningInGroup(pid)).toHaveLength(2);
    run.press(ctrlC);
    expect(await run.exitCode).toBe(130);
    expect(await runningInGroup(pid)).toEqual([]);
    const report = await project.report();
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'interrupted' });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['ABORTED', 'SKIPPED']);
    expect(report.changes.map(({ path }) => path)).toEqual(['half.txt']);
    await project.plan(planOf(), 'Go on');
  });

  /** A shell with jobs: when teddy is stopped, it prints the word of `stopped`, and brings it back. */
  const inShell = (stopped: string, ...args: string[]): TerminalRun => {
    const through = `run() { set -m; "$@"; ${stopped}; fg >/dev/null; }; run`;
    return runInTerminal(args, { cwd: project.repo.root, env: project.env, through });
  };
  const ctrlZ = '\u001a';

  test('Ctrl-Z stops the command together with teddy, fg lets both go on, and its time is shown meanwhile', async () => {
    await openWithPlan(planOf(executeAction('echo "at $$"; until test -e go; do sleep 0.1; done; echo over')));
    // A signal that was sent need not have come: the state is read until it is the wanted one.
    const state = 'cut -d " " -f 3 "/proc/$(cat pid)/stat"';
    const stopped = `until test "$(${state})" = T; do sleep 0.05; done; ${state}; echo STOPPED; touch go`;
    const run = inShell(stopped, 'session', 'execute', '-y');
    await run.waitFor('1/1 EXECUTE echo');
    await run.waitFor('\nat ');
    await run.waitFor('\n');
    await project.repo.write('pid', /\nat (\d+)/.exec(run.text())?.[1] ?? '');
    await run.play(['Running 1/1, ', ctrlZ], ['STOPPED', '', /T\n$/]);
    await run.waitFor('over\nSUCCESS 1/1 EXECUTE echo');
    expect(await run.exitCode).toBe(0);
    expect((await project.report()).action_logs[0]?.details).toMatchObject({ return_code: 0, timed_out: false });
  });

  test('after Ctrl-Z and fg, a question hears its answer', async () => {
    await openWithPlan(planOf(createAction('one.txt', '1\n')));
    const run = inShell('echo STOPPED', 'session', 'execute');
    await run.play([question, ctrlZ]);
    await run.waitFor('STOPPED');
    await run.play([question, 'y\n']);
    expect(await run.exitCode).toBe(0);
    expect((await project.report()).run_summary.status).toBe('SUCCESS');
  });

  test('after Ctrl-Z and fg, the prompt of a conversation reads on', async () => {
    project = await openTeddyProject();
    await project.begin('talk');
    const run = inShell('echo STOPPED', 'session', 'chat');
    await run.play(['> ', `/qu${ctrlZ}`]);
    await run.waitFor('STOPPED');
    await run.play(['> /qu', 'it\n']);
    expect(await run.exitCode).toBe(0);
  });

  test("long output goes through git's pager, and is printed as it is when there is no such program", async () => {
    const lines = Array.from({ length: 60 }, (_, n) => `line ${n}`).join('\n');
    await openWithPlan(createPlan('long.txt', `${lines}\n`));
    const show = async (env: Record<string, string | undefined>) => {
      const run = runInTerminal(['session', 'show'], { cwd: project.repo.root, env: { PAGER: undefined, ...env } });
      expect(await run.exitCode).toBe(0);
      return run.text();
    };
    expect(await show({ PAGER: 'sed s/^/paged:/' })).toContain('paged:  line 59');
    // Somebody else may have written what the repository's own configuration says.
    await project.repo.git('config', 'core.pager', 'sed s/^/foreign:/');
    const own = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.pager', GIT_CONFIG_VALUE_0: 'sed s/^/configured:/' };
    expect(await show({ PAGER: 'sed s/^/paged:/', ...own })).toContain('configured:  line 59');
    expect(await show({ PAGER: 'sed s/^/paged:/' })).toContain('paged:  line 59');
    for (const pager of ['no-such-pager', 'cat', '']) {
      expect(await show({ GIT_PAGER: pager })).toContain('\n  line 59\n');
    }
  });
});
