/** Mistakes of every kind: each has a code, an exit code and a next step, and nothing changes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/run-cli.ts';
import { memoryContext } from '../support/cli-context.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
});
afterEach(() => project.close());

test('outside a repository every command says so, and commands are completed all the same', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'teddy-nowhere-'));
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() };
  for (const line of ['init', 'session new x', 'session list', 'session plan -m x', 'doctor']) {
    const context = memoryContext({ words: line.split(' '), cwd, env });
    expect(await runCommand(context), line).toBe(line === 'doctor' ? 2 : 1);
    const { stdout, stderr } = context.read();
    expect(stdout, line).toBe('');
    expect(stderr, line).toMatch(/\[NOT_A_REPOSITORY\]\n(?:.*\n)*hint: .*git init/m);
  }
  const asked = memoryContext({ words: ['complete', '--', 'session', 'la'], cwd, env });
  expect(await runCommand(asked)).toBe(0);
  expect(asked.read()).toMatchObject({ stdout: expect.stringMatching(/^land\t/) as string, stderr: '' });
  await rm(cwd, { recursive: true });
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
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'review', 'nothing-such']);
  await project.refuses('UNKNOWN_TURN', 2, ['session', 'diff', '01', '07']);
  await project.refuses('USAGE', 2, ['session', 'stats', '--since', '1d', 'one']);
  await project.refuses('USAGE', 2, ['session', 'stats', '--since', 'yesterday']);
  await project.refuses('USAGE', 2, ['session', 'diff', '01', '--only=words']);
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'view', 'nothing']);
  await project.refuses('USAGE', 2, ['session', 'view', 'nothing', '--list']);
  for (const port of ['x', '-1', '65536', '80.5', '']) await project.refuses('USAGE', 2, ['serve', `--port=${port}`]);
});

test('resume refuses an agent that it does not know, and names what is missing', async () => {
  for (const [code, ...args] of [
    ['UNKNOWN_AGENT', 'add-login', '--with', 'nobody'],
    ['USAGE', 'add-login:01'],
    ['USAGE', 'add-login', '--with'],
    ['UNKNOWN_SESSION', '--with', 'codex'],
  ])
    await project.refuses(code ?? '', 2, ['session', 'resume', ...args]);
});

test('doctor tells in two lines that there is nothing to fix, and exits with 0', async () => {
  await project.begin('healthy');
  const { exitCode, stdout, stderr } = await project.run(['doctor']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^Checked: 1 line, .+\nNothing to fix\.\n$/);
});

test('the link of a page is shown to no agent', async () => {
  await project.begin('asked');
  project.memory.agent.trace = { seen: 'Claude Code started this.', pid: null };
  const said = await project.refuses('AGENT_MAY_NOT_APPROVE', 3, ['session', 'view', '--no-open']);
  expect(said).toContain('only a person may use it. Claude Code started this.');
});
