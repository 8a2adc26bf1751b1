/** A person sees these and can do these before an action runs. */
import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { createAction, executeAction, openBegun, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const question = ',q,?] ';

async function ask(actions: string[], env: Record<string, string> = {}): Promise<TerminalRun> {
  ({ project } = await openBegun('asked'));
  await project.plan(planOf(...actions));
  return runInTerminal(['session', 'execute'], { cwd: project.repo.root, env: { ...project.env, ...env } });
}

describe.skipIf(!hasTerminal)('before an action runs', () => {
  test('e changes a file and a script: the change is shown, done, and recorded, also after an editor that failed', async () => {
    // For each of them once, it fails, or leaves an empty script.
    const spoil =
      'case "$1" in *.sh) test -e .git/two || { : >.git/two; : >"$1"; exit 0; };; *) test -e .git/one || { : >.git/one; exit 3; };; esac';
    const editor = `sh -c '${spoil}; sed -i s/planned/mine/ "$1"' editor`;
    const run = await ask([createAction('a.txt', 'planned\n'), executeAction('echo planned > b.txt')], {
      GIT_EDITOR: editor,
    });
    await run.play(
      [question, 'e\n'],
      [question, 'e\n', 'failed: it ended with exit code 3'],
      [question, 'y\n', '+mine'],
      [question, 'e\n'],
      [question, 'e\n', 'The script is empty'],
      [question, 'y\n', '$ echo mine > b.txt'],
    );
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('a.txt')).toBe('mine\n');
    expect(await project.repo.read('b.txt')).toBe('mine\n');
    const { action_logs, session } = await project.report();
    expect(action_logs).toMatchObject([
      { modified_by_user: true },
      { modified_by_user: true, params: { command: 'echo mine > b.txt' } },
    ]);
    const report = await project.repo.read(`.teddy/sessions/${session}/01/report.md`);
    expect(report.match(/modified_by_user: true/g)).toHaveLength(2);
  });

  test('a long diff is cut at the question, and d shows all of it through the pager', async () => {
    const lines = Array.from({ length: 60 }, (_, n) => `line ${n}\n`).join('');
    const run = await ask([createAction('long.txt', lines)], { GIT_PAGER: 'sed s/^/paged:/', NO_COLOR: '1' });
    const cut = await run.waitFor(question);
    expect(cut).toMatch(/\.\.\. \d+ more lines \(d shows all\)\n/);
    expect(cut).not.toContain('+line 59');
    run.press('d\n');
    await run.play(
      [question, 'x\n', 'paged:+line 59'],
      ['Close the turn, and skip the rest? [y,n] ', 'y\n'],
      ['Why? (Enter for no reason) ', '\n'],
    );
    expect(await run.exitCode).toBe(4);
    const report = await project.report();
    expect(report.run_summary.status).toBe('ABORTED');
    expect(report.action_logs[0]?.details).not.toHaveProperty('comment');
  });
});

test('a plan that somebody else has to approve is pushed next', async () => {
  ({ project } = await openBegun('others', { answers: [planOf(createAction('a.txt', 'a\n'))] }));
  const remote = `${project.repo.root}.git`;
  await project.repo.git('init', '--quiet', '--bare', '-b', 'main', remote);
  await project.repo.git('remote', 'add', 'origin', remote);
  await project.repo.git('push', '--quiet', 'origin', 'main');
  await project.repo.git('config', 'teddy.approvals', 'others');
  const { stderr } = await project.run(['plan', '-m', 'Make a file']);
  expect(stderr).toContain('Somebody else has to approve it before it runs (teddy.approvals).\nNext: teddy push\n');
  await rm(remote, { recursive: true });
});
