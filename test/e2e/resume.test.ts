/** `teddy resume`: whatever the line waits for, one step a call. */
import { afterEach, describe, expect, test } from 'vitest';
import { hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { createPlan, openBegun, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const answer = createPlan('made.txt', 'made\n');
const resume = ['session', 'resume'];

/** A turn whose message is committed, and which the model has refused to answer. */
async function openWithMessage(...answers: string[]): Promise<string> {
  project = await openTeddyProject({
    answers: [{ status: 401, body: { message: 'Incorrect API key provided' } }, ...answers],
  });
  const session = await project.begin('resumed');
  expect(await project.run(['session', 'plan', '-m', 'Make a file'])).toMatchObject({ exitCode: 5 });
  return session;
}

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
    await empty.play(['Message: ', 'e\n']);
    expect(await empty.exitCode).toBe(0);
    expect(project.server.requests()).toHaveLength(0);
    await project.repo.write('.git/message', 'Make a file\n\n# not this\nwith two lines\n');
    const run = inTerminal({ GIT_EDITOR: `cp '${project.repo.root}/.git/message'` });
    await run.play(['Message: ', 'e\n'], ['[k]eep? ', 'k\n']);
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
    await run.play(['[k]eep? ', 'k\n']);
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read(`.teddy/sessions/${session}/01/plan.md`)).toBe(answer);
  });
});
