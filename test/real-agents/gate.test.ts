/** The gate, with Claude Code in plan mode in a terminal: in print mode it does not plan. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCapturedProject, type CapturedProject } from '../support/captured-project.ts';
import { requireAgent } from '../support/real-agent.ts';

const agent = requireAgent();
const hasTerminal = spawnSync('tmux', ['-V']).status === 0;
let project: CapturedProject;
let socket: string;

beforeEach(async () => {
  project = await openCapturedProject(agent);
  socket = join(project.home, 'tmux');
});
afterEach(async () => {
  spawnSync('tmux', ['-S', socket, 'kill-server']);
  // Its last hooks may still start a drainer.
  await setTimeout(500);
  await project.settle();
  await project.close();
});

const tmux = (...args: string[]) => execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8' });
const screen = () => tmux('capture-pane', '-p', '-t', 'agent');
const shows = (text: RegExp) => expect.poll(screen, { timeout: 60_000, interval: 100 }).toMatch(text);
const teddy = async (...args: string[]) => {
  const result = await project.teddy(...args);
  expect(result, args.join(' ')).toMatchObject({ exitCode: 0 });
  return result.stdout;
};
const line = async () => ((await project.lines())[0] ?? '').replace('refs/heads/', '');
/** The entries on the line, oldest first, each with its kind and its turn. */
const story = async () => {
  const format = '%(trailers:key=Teddy-Entry,valueonly,separator=) %(trailers:key=Teddy-Turn,valueonly,separator=)';
  const log = await project.repo.git('log', '--reverse', `--format=${format}`, await line());
  return log.split('\n').map((entry) => entry.trim());
};
const waits = (turn: string) =>
  expect
    .poll(async () => ((await line()) === '' ? [] : story()), { timeout: 60_000, interval: 100 })
    .toContain(`plan ${turn}`);

/** A newer version of the agent has to look for the tool first. */
const find = agent.version.startsWith('2.1.1')
  ? []
  : [{ calls: { name: 'ToolSearch', input: { query: 'select:ExitPlanMode', max_results: 5 } } }];
const handIn = (plan: string) => ({ calls: { name: 'ExitPlanMode', input: { plan } } });

/** The dialog accepts no key for a moment. */
async function answerYes(): Promise<void> {
  const answer = () => {
    const text = screen();
    if (!text.includes('Carried out')) tmux('send-keys', '-t', 'agent', 'Enter');
    return text;
  };
  await expect.poll(answer, { timeout: 30_000, interval: 1000 }).toMatch(/Carried out/);
}

async function startPlanning(prompt: string): Promise<void> {
  await teddy('capture', 'install', '--gate', '--yes', '--agent', agent.name);
  await writeFile(join(project.home, '.gitconfig'), '[teddy]\n\tgate = terminal\n\tagentsMayApprove = true\n');
  const known = {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: ['mock-key'], rejected: [] },
    projects: { [project.repo.root]: { hasTrustDialogAccepted: true } },
  };
  await writeFile(join(project.home, '.claude.json'), JSON.stringify(known));
  const env = {
    HOME: project.home,
    PATH: process.env['PATH'],
    TERM: 'xterm-256color',
    ANTHROPIC_BASE_URL: project.model.url,
    ANTHROPIC_API_KEY: 'mock-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const program = [process.env['AGENT_PROGRAM'] ?? '', '--permission-mode', 'plan'];
  const size = ['-x', '110', '-y', '45', '-c', project.repo.root];
  tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'agent', ...size, 'env', '-i', ...settings, ...program);
  await shows(/plan mode on/);
  tmux('send-keys', '-t', 'agent', '-l', prompt);
  await shows(new RegExp(prompt));
  tmux('send-keys', '-t', 'agent', 'Enter');
}

describe.skipIf(agent.name !== 'claude-code' || !hasTerminal)('a plan', () => {
  test('waits, is returned with the reason for its rejection, is remade, and continues after a yes', async () => {
    const [first, second] = ['# First plan\n\n1. Write a.txt\n', '# Second plan\n\n1. Write b.txt\n'];
    project.model.script('K1', [...find, handIn(first), handIn(second), { says: 'Carried out.' }]);
    await startPlanning('K1 Plan it');
    await waits('01');
    await teddy('session', 'reject', '-s', await line(), '-m', 'Another file.', '--comment', '3:Not a.txt');
    await waits('02');
    const told = project.model
      .requests('K1')
      .at(-1)
      ?.messages.map(({ text }) => text);
    expect(told?.join('\n')).toMatch(/rejected this plan[^]*Another file\.\nplan\.md, line 3: Not a\.txt/);
    expect(screen()).not.toMatch(/Carried out/);
    await teddy('session', 'approve', '-s', await line());
    await shows(/Carried out/);
    await project.settle();
    const calls = find.length === 0 ? [] : ['exchange 01'];
    expect(await story()).toEqual(
      expect.arrayContaining(['start', 'message 01', ...calls, 'plan 01', 'approval 01', 'plan 02', 'approval 02']),
    );
    expect(await teddy('session', 'verify', await line(), '--require-approval')).toContain('no fault');
    expect(
      await project.repo.git('show', `${await line()}:.teddy/sessions/${(await line()).slice(6)}/02/plan.md`),
    ).toBe(second.trimEnd());
    await project.expectUntouched();
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)('is asked about by the agent if the gate ends by %s', async (signal) => {
    project.model.script('K2', [...find, handIn('# Only plan\n'), { says: 'Carried out.' }]);
    await startPlanning('K2 Plan it');
    await waits('01');
    const gates = () =>
      execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
        .split('\n')
        .filter((row) => row.includes(`main.cjs capture gate ${agent.name}`))
        .map((row) => Number.parseInt(row, 10))
        // Nobody else's is killed.
        .filter((pid) => readlinkSync(`/proc/${pid}/cwd`) === project.repo.root);
    await expect.poll(gates).not.toEqual([]);
    for (const pid of gates()) process.kill(pid, signal);
    await shows(/Yes, |Would you like to proceed|Exit plan mode\?/);
    await answerYes();
    await project.settle();
    const text = await project.repo.git('log', '--format=%B', await line());
    expect(text).toContain('Teddy-Verdict: none');
    expect(text).not.toContain('Teddy-Verdict: approved');
    expect((await project.teddy('session', 'verify', await line(), '--require-approval')).exitCode).toBe(1);
    expect((await project.teddy('session', 'verify', await line())).exitCode).toBe(0);
  });
});
