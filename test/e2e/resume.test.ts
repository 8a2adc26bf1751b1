/** `session resume`: whatever the line waits for, one step a call. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ctrlC, ctrlD, hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { endGroup, killRun, waitHere } from '../support/interrupted-run.ts';
import { waitForSavedAnswer } from '../support/saved-answer.ts';
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

const answer = createPlan('made.txt', 'made\n');
const resume = ['session', 'resume'];
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);
const isPending = async () => (await project.ok('session', 'list')).includes('pending plan');
const recordTypes = async (session: string) =>
  (await project.repo.read(`.teddy/sessions/${session}/01/transcript.jsonl`))
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);

/** A turn whose message is committed, and which the model has refused to answer. */
async function openWithMessage(...answers: string[]): Promise<string> {
  project = await openTeddyProject({
    answers: [{ status: 401, body: { message: 'Incorrect API key provided' } }, ...answers],
  });
  const session = await project.begin('resumed');
  expect(await project.run(['session', 'plan', '-m', 'Make a file'])).toMatchObject({ exitCode: 5 });
  return session;
}

describe('without a terminal', () => {
  test('what a killed command had received of an answer is kept, and then the model is asked again', async () => {
    const long = createPlan('long.txt', Array.from({ length: 400 }, (_, at) => `line ${at + 1}\n`).join(''));
    project = await openTeddyProject({ answers: [long, answer], chunkSize: 64, chunkDelayMs: 10 });
    const session = await project.begin('killed');
    const plan = project.start(['session', 'plan', '-m', 'Make a file']);
    await waitForSavedAnswer(project.repo.root);
    plan.kill('SIGKILL');
    await plan.result;
    const resumed = await project.run(resume);
    expect(resumed).toMatchObject({ exitCode: 0, stdout: answer });
    expect(resumed.stderr).toMatch(/^warning: An answer that an interrupted command had received .* saved in turn 01/m);
    expect(await recordTypes(session)).toEqual(['user', 'assistant_partial', 'assistant']);
  });

  test('a plan that fails ends as with execute, and the next step is named', async () => {
    project = await openTeddyProject();
    await project.begin('failing');
    await project.plan(planOf(executeAction('exit 3')));
    const failed = await project.run([...resume, '-y']);
    expect(failed).toMatchObject({ exitCode: 1 });
    expect(lastLine(failed.stderr)).toBe('Next: teddy session plan -m "..."');
    await project.plan(createPlan('README.md', 'x\n'));
    const invalid = await project.run([...resume, '-y']);
    expect(invalid).toMatchObject({ exitCode: 1 });
    expect((await project.report()).run_summary.status).toBe('VALIDATION_FAILED');
  });

  test('a line that only a remote has is made here when its message is asked again', async () => {
    const session = await openWithMessage(answer);
    const clone = join(project.repo.root, '.git', 'clone');
    await project.repo.git('clone', '--quiet', '--branch', 'main', project.repo.root, clone);
    const git = (...args: string[]) => project.repo.git('-C', clone, ...args);
    await git('config', 'user.name', 'Ada Example');
    await git('config', 'user.email', 'ada@example.org');
    await git('config', 'teddy.model', 'gpt-test');
    await project.run(['global', 'trust'], { cwd: clone });
    const resumed = await project.run([...resume, '-s', session], { cwd: clone });
    expect(resumed).toMatchObject({ exitCode: 0, stdout: answer });
    expect(resumed.stderr).toContain(`Made the local branch teddy/${session}.`);
    const pending = await project.run([...resume, '-s', session, '-y'], { cwd: clone });
    expect(pending).toMatchObject({ exitCode: 3, stdout: '' });
    expect(pending.stderr).toContain('[NOT_ON_LINE]');
  });
});

describe.skipIf(!hasTerminal)('at a terminal', () => {
  const inTerminal = (env: Record<string, string> = {}, ...args: string[]): TerminalRun =>
    runInTerminal([...resume, ...args], { cwd: project.repo.root, env: { ...project.env, ...env } });

  async function openWithNothing(...answers: string[]): Promise<string> {
    const begun = await openBegun('asked', { answers });
    ({ project } = begun);
    return begun.session;
  }

  test('e opens the editor for a longer message, and a text of comments alone is none', async () => {
    await openWithNothing(answer);
    const empty = inTerminal({ GIT_EDITOR: 'true' });
    await empty.waitFor('Message: ');
    empty.press('e\n');
    expect(await empty.exitCode).toBe(0);
    expect(project.server.requests()).toHaveLength(0);
    await project.repo.write('.git/message', 'Make a file\n\n# not this\nwith two lines\n');
    const run = inTerminal({ GIT_EDITOR: `cp '${project.repo.root}/.git/message'` });
    await run.waitFor('Message: ');
    run.press('e\n');
    await run.waitFor('[k]eep? ');
    run.press('k\n');
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.git('log', '-1', '--skip=1', '--format=%B')).toMatch(
      /^turn 01 message: Make a file\n\n\nwith two lines/,
    );
  });

  test('an answer by hand to the open message is written in the editor', async () => {
    const session = await openWithMessage();
    await project.repo.git('config', 'teddy.provider', 'manual');
    await project.repo.write('.git/answer.md', answer);
    const run = inTerminal({ GIT_EDITOR: `cp '${project.repo.root}/.git/answer.md'` });
    await run.waitFor('[k]eep? ');
    run.press('k\n');
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read(`.teddy/sessions/${session}/01/plan.md`)).toBe(answer);
  });

  describe('after a run that was killed', () => {
    const question = 'What now? [r,b,k,q,?] ';

    async function killFirst(): Promise<void> {
      ({ project } = await openBegun('killed'));
      await mkdir(join(project.repo.root, '.git', 'x'), { recursive: true });
      await project.plan(
        planOf(
          createAction('one.txt', '1\n'),
          executeAction(`echo run >> .git/x/runs; echo half > half.txt; ${waitHere}`),
          createAction('two.txt', '2\n'),
        ),
      );
      await endGroup(await killRun(project));
    }

    async function ask(...args: string[]): Promise<TerminalRun> {
      const run = runInTerminal(args, { cwd: project.repo.root, env: project.env });
      expect(await run.waitFor(question)).toMatch(
        /The run of turn 01 was interrupted in action 2 \(.*\)\.\nr {2}.*\nb {2}.*\nk {2}.*\nq {2}/,
      );
      return run;
    }

    const statuses = async () => (await project.report()).action_logs.map(({ status }) => status);
    const changes = async () => (await project.report()).changes.map(({ path, action }) => [path, action]);
    const runs = () => project.repo.read('.git/x/runs');

    test('it is asked until it is decided; r reports the action as failed, asks about the rest, and runs nothing again', async () => {
      await killFirst();
      const command = resume;
      const before = await project.repo.fingerprint();
      for (const [name, keys, exitCode, code] of [
        ['q', 'q\n', 3, '[RUN_INTERRUPTED]'],
        ['the end of input', ctrlD, 3, '[RUN_INTERRUPTED]'],
        ['Ctrl-C', ctrlC, 130, '[INTERRUPTED]'],
      ] as const) {
        const run = await ask(...command);
        run.press(keys);
        expect(await run.exitCode, name).toBe(exitCode);
        expect(run.text(), name).toContain(code);
        expect(await project.repo.fingerprint(), name).toEqual(before);
      }
      await project.refuses('RUN_INTERRUPTED', 3, [...command, '-y']);

      const run = await ask(...command);
      run.press('x\n');
      await run.waitFor(question);
      run.press('r\n');
      await run.waitFor(',q,?] ');
      run.press('y\n');
      expect(await run.exitCode).toBe(1);
      expect(await statuses()).toEqual(['SUCCESS', 'FAILURE', 'SUCCESS']);
      expect(await changes()).toEqual([
        ['half.txt', 2],
        ['one.txt', 1],
        ['two.txt', 3],
      ]);
      expect(await runs()).toBe('run\n');
    });

    test('b puts the files back, and the plan is pending', async () => {
      await killFirst();
      const run = await ask(...resume);
      run.press('b\n');
      expect(await run.exitCode).toBe(0);
      expect(lastLine(run.text())).toBe('The plan is pending again: teddy session execute');
      expect(await isPending()).toBe(true);
      for (const path of ['one.txt', 'half.txt', 'two.txt'])
        expect(existsSync(join(project.repo.root, path)), path).toBe(false);
      await project.refuses('NOT_APPROVED', 4, resume);
    });

    test('session execute asks as well; k reports what was done as it stands, and that is no failure', async () => {
      await killFirst();
      const left = await ask('session', 'execute');
      left.press('q\n');
      expect(await left.exitCode).toBe(3);
      expect(left.text()).toContain('[RUN_INTERRUPTED]');
      await project.refuses('RUN_INTERRUPTED', 3, ['session', 'execute', '-y']);
      const run = await ask('session', 'execute', '-y');
      run.press('keep\n');
      expect(await run.exitCode).toBe(0);
      expect(await statuses()).toEqual(['SUCCESS', 'ABORTED', 'SKIPPED']);
      expect((await project.report()).run_summary.status).toBe('ABORTED');
      expect(await changes()).toEqual([
        ['half.txt', 2],
        ['one.txt', 1],
      ]);
      expect(await runs()).toBe('run\n');
    });
  });

  test('execute --reject after a run that was killed runs nothing and asks nothing: it says that there is more to decide', async () => {
    ({ project } = await openBegun('killed'));
    await project.plan(planOf(executeAction(waitHere), createAction('two.txt', '2\n')));
    await endGroup(await killRun(project));
    const run = runInTerminal(['session', 'execute', '--reject'], { cwd: project.repo.root, env: project.env });
    expect(await run.exitCode).toBe(3);
    expect(run.text()).toContain('[RUN_INTERRUPTED]');
    expect(await isPending()).toBe(true);
  });
});
