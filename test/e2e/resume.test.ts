/** `teddy resume`: whatever the line waits for, one step a call. */
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('a session from another machine is pulled and checked out, here or in a linked work tree, or opened in an agent', async () => {
  project = await openTeddyProject();
  const { repo } = project;
  const place = await mkdtemp(join(tmpdir(), 'teddy-machines-'));
  await repo.git('init', '--quiet', '--bare', '-b', 'main', join(place, 'there.git'));
  await repo.git('remote', 'add', 'origin', join(place, 'there.git'));
  await repo.git('push', '--quiet', 'origin', 'main');
  const session = await project.begin('moving');
  await project.plan(answer);
  for (const name of ['one', 'two']) await repo.git('clone', '--quiet', join(place, 'there.git'), join(place, name));
  await project.ok('push');
  await writeFile(join(place, '.gitconfig'), '[user]\n\tname = Ada Example\n\temail = ada@example.org\n');
  const go = (name: string, ...args: string[]) =>
    project.run([...resume, 'moving', ...args], { cwd: join(place, name), env: { HOME: place } });
  const here = await go('one', '-y');
  expect(here).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(`Switched to teddy/${session}.`) });
  expect(here.stderr).toContain(`Pulled teddy/${session}, teddy/global from origin.`);
  expect(await readFile(join(place, 'one/made.txt'), 'utf8')).toBe('made\n');
  // Steps that the other machine has sent since then, and that were fetched, are taken first.
  const on = (...args: string[]) => project.run(args, { cwd: join(place, 'one'), env: { HOME: place } });
  await on('push');
  await project.ok('sync');
  await project.plan(createPlan('more.txt', 'more\n'));
  await project.ok('push');
  await repo.git('-C', join(place, 'one'), 'fetch', '--quiet');
  expect(await go('one', '-y')).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Pulled teddy/') });
  const { exitCode, stdout } = await go('two', '--worktree', '--with', 'claude-code');
  const root = join(await realpath(place), `two/.git/teddy/worktrees/${session}`);
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^cd .* && claude --resume [0-9a-f-]{36}\n$/)]);
  expect(stdout).toContain(`cd ${root} && `);
  expect((await readdir(join(place, '.claude/projects')))[0]).toBe(root.replaceAll(/[^a-zA-Z0-9]/g, '-'));
  await rm(place, { recursive: true });
});
