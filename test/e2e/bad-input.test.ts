/** Every mistake gets a clear error with a code, an exit code and a next step, and nothing is lost or changed. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runTeddy } from '../support/run-teddy.ts';
import { waitForSavedAnswer } from '../support/saved-answer.ts';
import { createPlan, executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
const answer = createPlan('made.txt', 'made\n');

beforeEach(async () => {
  project = await openTeddyProject({ answers: [answer], chunkDelayMs: 100 });
});

afterEach(() => project.close());

test('outside a repository every command says so', async () => {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'teddy-nowhere-')));
  try {
    for (const args of [['init'], ['session', 'new', 'x'], ['session', 'list'], ['session', 'plan', '-m', 'x']]) {
      const result = await runTeddy(args, { cwd });
      expect(result, args.join(' ')).toMatchObject({ exitCode: 1, stdout: '' });
      expect(result.stderr).toContain('[NOT_A_REPOSITORY]');
      expect(result.stderr).toMatch(/^hint: .*git init/m);
    }
  } finally {
    await rm(cwd, { recursive: true });
  }
});

test('without an identity nothing is made, and the two commands to run are named', async () => {
  const { repo } = project;
  await repo.git('config', '--unset', 'user.name');
  await repo.git('config', '--unset', 'user.email');
  await repo.git('config', 'user.useConfigOnly', 'true');
  const env = { HOME: join(repo.root, '.git'), XDG_CONFIG_HOME: join(repo.root, '.git') };
  const said = await project.refuses('NO_IDENTITY', 1, ['session', 'new', 'x'], { env });
  expect(said).toContain('git config --global user.name');
  expect(said).toContain('git config --global user.email');
  await project.refuses('NO_IDENTITY', 1, ['init'], { env });
});

test('a branch called teddy is found before anything is made', async () => {
  await project.repo.git('branch', 'teddy');
  const said = await project.refuses('BRANCH_IN_THE_WAY', 3, ['session', 'new', 'x']);
  expect(said).toContain('git branch -m teddy');
  await project.refuses('BRANCH_IN_THE_WAY', 3, ['init']);
});

test('an untracked .teddy in the way is found before anything is made', async () => {
  await project.repo.write('.teddy/memos.yaml', 'mine\n');
  await project.refuses('FILES_IN_THE_WAY', 3, ['session', 'new', 'x']);
});

test('impossible names, turns, messages, agents and providers are wrong usage', async () => {
  for (const name of ['', '...', '???', '🧸']) await project.refuses('BAD_NAME', 2, ['session', 'new', name]);
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'plan', '-m', 'x']);
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'log']);
  await project.begin('one');
  await project.begin('two', '--no-switch');
  await project.refuses('AMBIGUOUS_SESSION', 2, ['session', 'plan', '-s', '20', '-m', 'x']);
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'show', '-s', 'nope']);
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'show', '-s', '--upload-pack=x']);
  await project.refuses('UNKNOWN_TURN', 2, ['session', 'show']);
  await project.refuses('UNKNOWN_TURN', 2, ['session', 'show', '07']);
  await project.refuses('UNKNOWN_TURN', 2, ['session', 'branch', '07', '-m', 'x']);
  await project.refuses('UNKNOWN_TURN', 2, ['session', 'branch', 'seven']);
  await project.refuses('EMPTY_MESSAGE', 2, ['session', 'plan']);
  for (const message of ['', ' \n\t']) await project.refuses('EMPTY_MESSAGE', 2, ['session', 'plan', '-m', message]);
  await project.refuses('UNKNOWN_AGENT', 2, ['session', 'plan', '-m', 'x', '-a', 'nobody']);
  await project.refuses('UNKNOWN_PROVIDER', 2, ['session', 'plan', '-m', 'x', '--provider', 'oracle']);
  await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '-y']);
});

test('two plans at the same time make one message, one request each, and one answer', async () => {
  await project.begin('race');
  const runs = await Promise.all([1, 2].map(() => project.run(['session', 'plan', '-m', 'Hello'])));
  const codes = runs.map(({ exitCode }) => exitCode).toSorted();
  expect(codes[0], JSON.stringify(runs)).toBe(0);
  expect([3, 5]).toContain(codes[1]);
  const late = runs.find(({ exitCode }) => exitCode !== 0);
  expect(late?.stderr).toMatch(/\[[A-Z_]+\]/);
  expect((await project.subjects()).slice(0, 2)).toEqual(['turn 01 plan: Try it', 'turn 01 message: Hello']);
  expect(await project.subjects()).toHaveLength(4);
  expect(await project.repo.git('status', '--porcelain')).toBe('');
});

test('two executes at the same time run the plan once', async () => {
  await project.begin('race');
  await project.plan(planOf(executeAction('sleep 0.5; echo run >> runs.txt')));
  const runs = await Promise.all([1, 2].map(() => project.run(['session', 'execute', '-y'])));
  expect(runs.map(({ exitCode }) => exitCode).toSorted(), JSON.stringify(runs)).toEqual([0, 3]);
  expect(await project.repo.read('runs.txt')).toBe('run\n');
  expect(await project.repo.git('status', '--porcelain')).toBe('');
});

test('a plan that is killed while the model answers leaves an open turn that the next plan answers', async () => {
  await project.begin('killed');
  const run = project.start(['session', 'plan', '-m', 'Hello']);
  await project.server.waitForRequests(1);
  run.kill('SIGKILL');
  expect((await run.result).signal).toBe('SIGKILL');
  await project.repo.fsck();
  expect(await project.repo.git('status', '--porcelain')).toBe('');
  await project.run(['session', 'plan', '--from', '-'], { stdin: answer });
  expect((await project.subjects()).slice(0, 2)).toEqual(['turn 01 plan: Try it', 'turn 01 message: Hello']);
});

test('an interrupted plan without a terminal keeps what has arrived and exits 130', async () => {
  await project.close();
  project = await openTeddyProject({ answers: ['One line of many.\n'.repeat(4000)], chunkSize: 64, chunkDelayMs: 100 });
  await project.begin('interrupted');
  const run = project.start(['session', 'plan', '-m', 'Hello']);
  await waitForSavedAnswer(project.repo.root);
  run.kill('SIGINT');
  const result = await run.result;
  expect(result).toMatchObject({ exitCode: 130, stdout: '' });
  expect(result.stderr).toContain('[INTERRUPTED]');
  expect((await project.subjects())[0]).toBe('turn 01 reply: interrupted answer');
});
