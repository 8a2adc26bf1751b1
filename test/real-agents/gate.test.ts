/** The gate, with each agent that has one, in plan mode in a terminal: in print mode they do not plan. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ScriptedAnswer } from '../support/agent-model-server.ts';
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

/** How each agent plans in a terminal. */
interface Planner {
  environment: Record<string, string>;
  args: string[];
  prepare?(): Promise<void>;
  /** On the screen when the agent takes a message. */
  ready: RegExp;
  /** The text that a person types. */
  toPrompt(text: string): string;
  /** The answers that come before a plan. */
  before: ScriptedAnswer[];
  /** `last`: the plan before it. */
  toPlan(plan: string, last?: string): ScriptedAnswer[];
  /** The agent's own question about a plan. */
  question: RegExp;
  /** True if the agent asks its question even after an approval. */
  asksAnyway?: true;
}

const claude: Planner = {
  environment: {
    ANTHROPIC_API_KEY: 'mock-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  },
  args: ['--permission-mode', 'plan'],
  async prepare() {
    const known = {
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: ['mock-key'], rejected: [] },
      projects: { [project.repo.root]: { hasTrustDialogAccepted: true } },
    };
    await writeFile(join(project.home, '.claude.json'), JSON.stringify(known));
  },
  ready: /plan mode on/,
  toPrompt: (text) => text,
  // A newer version has to look for the tool first. The log, which names the plan's file, is written a little later.
  before: [
    agent.version.startsWith('2.1.1')
      ? { calls: { name: 'Glob', input: { pattern: '*' } }, chunkDelayMs: 100 }
      : { calls: { name: 'ToolSearch', input: { query: 'select:ExitPlanMode', max_results: 5 } }, chunkDelayMs: 100 },
  ],
  // The agent takes the plan from its file: without one, the call says nothing of a plan.
  toPlan: (plan) => [
    { calls: { name: 'Write', input: () => ({ file_path: planFile(), content: plan }) } },
    { calls: { name: 'ExitPlanMode', input: { plan } } },
  ],
  question: /Yes, |Would you like to proceed|Exit plan mode\?/,
};

function planFile(): string | undefined {
  const folder = join(project.home, '.claude/projects');
  const logs = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'));
  const text = logs.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
  return /"planFilePath":"([^"]+)"/.exec(text)?.[1];
}

const codex: Planner = {
  environment: { OPENAI_API_KEY: 'mock-key' },
  args: ['--dangerously-bypass-hook-trust'],
  ready: /Ask Codex to do anything/,
  toPrompt: (text) => `/plan ${text}`,
  before: [],
  toPlan: (plan) => [{ says: `Here it is.\n<proposed_plan>\n${plan}</proposed_plan>\n` }],
  question: /Implement this plan\?/,
  asksAnyway: true,
};

const qwen: Planner = {
  environment: { OPENAI_API_KEY: 'mock-key', OPENAI_MODEL: 'mock-model' },
  args: ['--auth-type', 'openai', '--approval-mode', 'plan'],
  ready: /plan mode/,
  toPrompt: (text) => text,
  before: [{ calls: { name: 'tool_search', input: { query: 'select:exit_plan_mode' } } }],
  toPlan: (plan) => [{ calls: { name: 'exit_plan_mode', input: { plan } } }],
  question: /Would you like to proceed|restore previous mode|Yes, and/,
};

function copilotPlan(): string {
  const folder = join(project.home, '.copilot/session-state');
  const [id = ''] = readdirSync(folder).filter((name) => !name.startsWith('.'));
  return join(folder, id, 'plan.md');
}

const copilot: Planner = {
  environment: {
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_PROVIDER_API_KEY: 'mock-key',
    COPILOT_MODEL: 'gpt-4.1',
  },
  args: ['--mode', 'plan'],
  async prepare() {
    await writeFile(
      join(project.home, '.copilot/config.json'),
      JSON.stringify({ trustedFolders: [project.repo.root] }),
    );
  },
  ready: /Plan · /,
  toPrompt: (text) => text,
  before: [],
  // The call contains only a summary; the plan is in the session's folder.
  toPlan: (plan, last) => [
    last === undefined
      ? { calls: { name: 'create', input: () => ({ path: copilotPlan(), file_text: plan }) } }
      : { calls: { name: 'edit', input: () => ({ path: copilotPlan(), old_str: last, new_str: plan }) } },
    { calls: { name: 'exit_plan_mode', input: { summary: '- Write it' } } },
  ],
  question: /Plan Ready for Review/,
  asksAnyway: true,
};

const planner = { 'claude-code': claude, codex, copilot, qwen }[agent.name as string];

/** The dialog accepts no key for a moment. */
async function answerYes(): Promise<void> {
  const answer = () => {
    const text = screen();
    if (!text.includes('Carried out')) tmux('send-keys', '-t', 'agent', 'Enter');
    return text;
  };
  await expect.poll(answer, { timeout: 30_000, interval: 1000 }).toMatch(/Carried out/);
}

async function startPlanning({ environment, args, prepare, ready, toPrompt }: Planner, prompt: string): Promise<void> {
  await teddy('capture', 'install', '--gate', '--yes', '--agent', agent.name);
  await writeFile(join(project.home, '.gitconfig'), '[teddy]\n\tgate = terminal\n\tagentsMayApprove = true\n');
  await prepare?.();
  const env = {
    HOME: project.home,
    PATH: process.env['PATH'],
    TERM: 'xterm-256color',
    ANTHROPIC_BASE_URL: project.model.url,
    OPENAI_BASE_URL: `${project.model.url}/v1`,
    COPILOT_PROVIDER_BASE_URL: `${project.model.url}/v1`,
    ...environment,
  };
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const program = [process.env['AGENT_PROGRAM'] ?? '', ...args];
  const size = ['-x', '110', '-y', '45', '-c', project.repo.root];
  tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'agent', ...size, 'env', '-i', ...settings, ...program);
  await shows(ready);
  tmux('send-keys', '-t', 'agent', '-l', toPrompt(prompt));
  await shows(new RegExp(prompt));
  tmux('send-keys', '-t', 'agent', 'Enter');
}

describe.skipIf(planner === undefined || !hasTerminal)('a plan', () => {
  const { before, toPlan, question, asksAnyway } = planner ?? claude;

  test('waits, is returned with the reason for its rejection, is remade, and continues after a yes', async () => {
    const [first, second] = ['# First plan\n\n1. Write a.txt\n', '# Second plan\n\n1. Write b.txt\n'];
    project.model.script('K1', [...before, ...toPlan(first), ...toPlan(second, first), { says: 'Carried out.' }]);
    await startPlanning(planner ?? claude, 'K1 Plan it');
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
    if (asksAnyway) {
      await shows(question);
      await answerYes();
    } else await shows(/Carried out/);
    await project.settle();
    expect(await story()).toEqual(
      expect.arrayContaining(['start', 'message 01', 'plan 01', 'approval 01', 'plan 02', 'approval 02']),
    );
    expect(await teddy('session', 'verify', await line(), '--require-approval')).toContain('no fault');
    expect(
      await project.repo.git('show', `${await line()}:.teddy/sessions/${(await line()).slice(6)}/02/plan.md`),
    ).toBe(second.trimEnd());
    await project.expectUntouched();
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)('is asked about by the agent if the gate ends by %s', async (signal) => {
    project.model.script('K2', [...before, ...toPlan('# Only plan\n'), { says: 'Carried out.' }]);
    await startPlanning(planner ?? claude, 'K2 Plan it');
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
    await shows(question);
    await answerYes();
    const text = async () => project.repo.git('log', '--format=%B', await line());
    // The hooks of the turn that follows start what notes it.
    await expect.poll(text, { timeout: 20_000 }).toContain('Teddy-Verdict: none');
    await project.settle();
    expect(await text()).not.toContain('Teddy-Verdict: approved');
    expect((await project.teddy('session', 'verify', await line(), '--require-approval')).exitCode).toBe(1);
    expect((await project.teddy('session', 'verify', await line())).exitCode).toBe(0);
  });
});
