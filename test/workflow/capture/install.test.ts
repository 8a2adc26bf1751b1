import { beforeEach, describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { AgentName } from '../../../src/agents/agents.ts';
import type { AgentSetup, AgentState, HookScript } from '../../../src/ports/agent-setup.ts';
import type { Step } from '../../../src/ports/setup.ts';
import type { SpoolState } from '../../../src/ports/capture.ts';
import type { RefName } from '../../../src/names.ts';
import { newFollowedLog } from '../../../src/workflow/capture/capture.ts';
import { chooseAgents, installCapture, stopCapture, uninstallHooksOf } from '../../../src/workflow/capture/install.ts';
import { takeNews } from '../../../src/workflow/capture/news.ts';
import { capturePart } from '../../../src/workflow/capture/setup-part.ts';
import { findSilentAgents, countUncaptured, readCaptureStatus } from '../../../src/workflow/capture/status.ts';
import { carryOutParts, planParts } from '../../../src/workflow/setup/set-up.ts';
import { examineRepository } from '../../../src/workflow/doctor/examine-repository.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

let project: MemoryProject;
let agents: AgentState[];
let script: HookScript['state'];
/** The time of Codex's last write to its log, in seconds since 1970, and the log's folder; null if there is no log. */
let codexLog: { at: number; cwd: string } | null;
/** The agent whose file cannot be changed. */
let blocked: AgentName | null;

beforeEach(async () => {
  project = await memoryProject();
  const none = { gate: false, canGate: false, trusted: null, problem: null };
  const agent = { program: null, found: true, hooks: 'missing', ...none } as const;
  agents = [
    { ...agent, name: 'claude-code', title: 'Claude Code', path: '/home/.claude/settings.json' },
    { ...agent, name: 'codex', title: 'Codex', path: '/home/.codex/hooks.json', trusted: true },
    { ...agent, name: 'gemini', title: 'Gemini CLI', path: '/home/.gemini/settings.json', found: false },
  ];
  [script, codexLog, blocked] = ['missing', null, null];
});

const setHooks = (name: AgentName, hooks: AgentState['hooks']) =>
  (agents = agents.map((agent) => (agent.name === name ? { ...agent, hooks } : agent)));
const setup: AgentSetup = {
  list: async () => agents,
  script: async () => ({ path: '/home/agent-hook', state: script }),
  installScript: async () => void (script = 'installed'),
  removeScript: async () => void (script = 'missing'),
  async install(name) {
    if (name === blocked) throw new TeddyError('HOOK_IN_THE_WAY', 'It is not JSON.', 'Correct it.');
    const wasThere = agents.some((agent) => agent.name === name && agent.hooks === 'installed');
    setHooks(name, 'installed');
    return !wasThere;
  },
  async uninstall(name) {
    setHooks(name, 'missing');
    return 'restored';
  },
  async preview(name, isInstall) {
    const { hooks = 'missing', path = '' } = agents.find((agent) => agent.name === name) ?? {};
    return (hooks === 'installed') === isInstall ? null : { path, before: null, after: null };
  },
};
const install = async (...names: string[]) => installCapture(project, setup, await chooseAgents(setup, names));
function captureOf(): MemoryCapture {
  const capture = memoryCapture('codex');
  const [path, written] = ['/rollout-1.jsonl', codexLog];
  if (written === null) return capture;
  const payload = { id: 's1', cwd: written.cwd, cli_version: '0.169.0' };
  capture.files.set(path, `${JSON.stringify({ type: 'session_meta', ordinal: 0, payload })}\n`);
  capture.logs.find = async function* () {
    yield { agent: 'codex', path, stat: { device: 1, inode: 1, size: 1, mtimeMs: 1000 * written.at } };
  };
  return capture;
}
const status = () => readCaptureStatus(project, setup, captureOf());
const spoolState = (changes: Partial<SpoolState>) => {
  const { look } = project.spool;
  project.spool.look = async () => ({ ...(await look()), ...changes });
};

test('a bare repository refuses capture, and nothing is installed', async () => {
  const bare = { ...project, repository: { ...project.repository, workspace: null } };
  await expect(installCapture(bare, setup, await chooseAgents(setup, []))).rejects.toMatchObject({
    code: 'NO_WORK_TREE',
  });
  expect([script, agents.some(({ hooks }) => hooks === 'installed')]).toEqual(['missing', false]);
  expect(await capturePart(bare, setup, project.setup).planSetUp()).toEqual(['This repository has no work tree.']);
});

test('the agents that are found are installed; one whose file is in the way does not stop the others', async () => {
  blocked = 'claude-code';
  expect(await install()).toMatchObject([
    { name: 'claude-code', outcome: 'failed', error: { code: 'HOOK_IN_THE_WAY' } },
    { name: 'codex', outcome: 'installed', error: null },
  ]);
  expect(await project.settings.get('capture')).toBe('true');
  expect(await status()).toMatchObject({ captured: true, script: { state: 'installed' }, warnings: [] });
  expect(await install('codex', 'gemini')).toMatchObject([{ outcome: 'unchanged' }, { outcome: 'installed' }]);
});

test('an unknown agent is refused, and so is an empty list', async () => {
  await expect(chooseAgents(setup, ['cursor'])).rejects.toMatchObject({ code: 'UNKNOWN_AGENT' });
  agents = agents.map((agent) => ({ ...agent, found: false }));
  await expect(chooseAgents(setup, [])).rejects.toMatchObject({ code: 'UNKNOWN_AGENT' });
});

test('stopping keeps the hooks for other repositories; the script is removed with the last one', async () => {
  await install();
  expect(await stopCapture(project)).toEqual({ was: true, kept: null });
  expect(await stopCapture(project)).toEqual({ was: false, kept: null });
  expect(await status()).toMatchObject({ captured: false });
  expect(agents[0]?.hooks).toBe('installed');
  await uninstallHooksOf(setup, await chooseAgents(setup, ['codex']));
  expect(script).toBe('installed');
  await uninstallHooksOf(setup, agents);
  expect(script).toBe('missing');
});

test.each<[string, () => unknown, RegExp]>([
  ['the script is missing', () => (script = 'missing'), /script that all hooks run is missing/],
  ['its program is gone', () => (script = 'broken'), /no longer exists/],
  ['hooks were changed', () => setHooks('codex', 'changed'), /Some hooks for Codex/],
  [
    'Codex is not trusted',
    () => (agents = agents.map((a) => ({ ...a, trusted: a.name === 'codex' ? false : null }))),
    /Codex does not run/,
  ],
  [
    'an agent has its hooks switched off',
    () => (agents = agents.map((a) => ({ ...a, problem: a.name === 'codex' ? 'Off.' : null }))),
    /^Off\.$/,
  ],
  [
    'an agent has worked but never called',
    () => (codexLog = { at: 4_000_000_000, cwd: '/project/src' }),
    /Codex 0\.169\.0 has worked here, last at 2096-10-02 07:06 UTC, but its hooks have never called teddy: `teddy capture sweep`/,
  ],
  ['lines could not be read', () => spoolState({ unreadable: 2 }), /2 recorded hook calls could not be read/],
  [
    'a bell is waiting',
    () => spoolState({ waiting: [{ agent: 'codex', bytes: 1, oldest: 1 }] }),
    /nothing is reading them/,
  ],
  ['the spool is gone', () => spoolState({ exists: false }), /spool is missing/],
])('status reports that %s', async (_, change, warning) => {
  await install();
  expect((await status()).warnings).toEqual([]);
  change();
  expect((await status()).warnings).toEqual([expect.stringMatching(warning)]);
});

test('status names the command that restores a renamed, deleted or archived line', async () => {
  await install();
  const capture = memoryCapture('claude-code');
  const log = newFollowedLog('claude-code', '/log.jsonl', '2026-01-24T10:00:00.000Z');
  const at = { turn: null, written: 0, length: 0 };
  const branches = [{ leaves: null, ref: 'refs/heads/teddy/20260124-gone' as RefName, at }];
  await capture.states.write(log.path, { ...log, session: '20260124-gone', branches, stopped: 'line-gone' });
  const warnings = async () => (await readCaptureStatus(project, setup, capture)).warnings;
  expect(await warnings()).toEqual([expect.stringContaining('`git branch -m <its new name> teddy/20260124-gone`')]);
  const { store, workspace } = project.repository;
  const { oid } = await workspace.head();
  const branch = 'refs/heads/teddy/20260124-gone' as RefName;
  await store.updateRefs([{ ref: branch, old: null, new: oid }], 'test');
  expect(await warnings()).toEqual([
    expect.stringMatching(/is back, or another session uses that name now: `teddy capture sweep`/),
  ]);
  await store.updateRefs([{ ref: branch, old: oid, new: null }], 'test');
  const keep = (ref: string) => store.updateRefs([{ ref: ref as RefName, old: null, new: oid }], 'test');
  await keep('refs/teddy/keep/deleted/20260124T100000Z/heads/teddy/20260124-gone');
  expect(await warnings()).toEqual([expect.stringContaining('`teddy delete --restore 20260124-gone`')]);
  await keep('refs/teddy/archive/20260124-gone');
  expect(await warnings()).toEqual([expect.stringContaining('`teddy delete --restore 20260124-gone`')]);
  await keep('refs/teddy/archive/2026-01/20260124-gone');
  expect(await warnings()).toEqual([expect.stringContaining('`teddy archive --restore 20260124-gone`')]);
});

test('an agent that called after its newest log, or is paused, is not suspected', async () => {
  await install();
  codexLog = { at: 4_000_000_000, cwd: '/project' };
  spoolState({ lastCalls: new Map([['codex', 4_000_000_000]]) });
  expect((await status()).warnings).toEqual([]);
  spoolState({ lastCalls: new Map(), paused: true });
  expect((await status()).warnings).toEqual([]);
});

test('an agent is suspected a minute after its last call, but not in a turn that a hook has announced', async () => {
  await install();
  const at = 4_000_000_000;
  codexLog = { at, cwd: '/project' };
  const silent = async (capture = captureOf()) =>
    (await findSilentAgents(project, agents, capture)).map(({ lastCall }) => lastCall);
  spoolState({ lastCalls: new Map([['codex', at - 61]]) });
  expect(await silent()).toEqual([at - 61]);
  expect((await status()).warnings[0]).toContain('but its hooks have not called teddy since 2096-10-02 07:05 UTC');
  const open = captureOf();
  await open.states.write('/rollout-1.jsonl', { ...newFollowedLog('codex', '/rollout-1.jsonl', ''), isWhole: false });
  expect(await silent(open)).toEqual([]);
  await open.states.write('/rollout-1.jsonl', { ...newFollowedLog('codex', '/rollout-1.jsonl', ''), isWhole: true });
  expect(await silent(open)).toEqual([at - 61]);
  const resumed = captureOf();
  const { find } = resumed.logs;
  resumed.logs.find = async function* (roots, sinceMs) {
    for await (const log of find(roots, sinceMs)) {
      yield { ...log, stat: { ...log.stat, mtimeMs: 1000 * (at + 9) } };
      yield log;
    }
  };
  expect((await findSilentAgents(project, agents, resumed)).map(({ workedAt }) => workedAt)).toEqual([at + 9]);
  spoolState({ drainer: 7 });
  expect(await silent()).toEqual([]);
  spoolState({ drainer: null, lastCalls: new Map([['codex', at - 60]]) });
  expect(await silent()).toEqual([]);
});

test('an agent that has worked elsewhere is not suspected', async () => {
  await install();
  codexLog = { at: 4_000_000_000, cwd: '/other' };
  expect((await status()).warnings).toEqual([]);
});

describe('news of agents', () => {
  let now: number;
  beforeEach(() => {
    now = project.clock.now().getTime();
    project.clock.now = () => new Date(now);
  });
  /** Takes the news an hour after the last time. */
  const take = async (capture: MemoryCapture, withSilent = true) => {
    now += 3_600_000;
    return takeNews(project, setup, capture, { withSilent });
  };

  test('silent hooks are told once for each call that they last made, and left to a command that shows them', async () => {
    await install();
    const at = 4_000_000_000;
    codexLog = { at, cwd: '/project' };
    const capture = captureOf();
    spoolState({ lastCalls: new Map([['codex', at - 61]]) });
    expect(await take(capture, false)).toEqual([]);
    expect(await takeNews(project, setup, capture, { withSilent: true })).toEqual([]);
    expect(await take(capture)).toEqual([expect.stringMatching(/^Codex 0.169.0 has worked here.*: `teddy doctor`\.$/)]);
    expect(await take(capture)).toEqual([]);
    spoolState({ lastCalls: new Map([['codex', at - 62]]) });
    expect(await take(capture)).toHaveLength(1);
  });

  test('a version is told once by its first two numbers, and one that writes strange lines by all', async () => {
    const capture = captureOf();
    const meet = (agent: AgentName, agentVersion: string | null, unknown = 0) =>
      capture.states.write('/log', { ...newFollowedLog(agent, '/log', ''), agentVersion, unknown });
    const told = async (...log: Parameters<typeof meet>) => {
      await meet(...log);
      return (await take(capture)).map((sentence) => sentence.split('. ')[0]);
    };
    expect(await told('codex', '0.169.0', 1)).toEqual([]);
    expect(await told('codex', '0.99.0', 1)).toEqual([]);
    expect(await told('codex', '0.169.7')).toEqual([]);
    expect(await told('codex', null, 1)).toEqual([]);
    expect(await told('antigravity', '9.0.0', 1)).toEqual([]);
    expect(await told('codex', '0.170.1')).toEqual([
      'Codex 0.170.1 is newer than 0.169.0, the version teddy was tried with',
    ]);
    expect(await told('codex', '0.170.2')).toEqual([]);
    const strange = (version: string) => [`Codex ${version} writes lines that teddy, tried with 0.169.0, cannot read`];
    expect(await told('codex', '0.170.2', 1)).toEqual(strange('0.170.2'));
    expect(await told('codex', '0.170.2', 2)).toEqual([]);
    expect(await told('codex', '0.170.3', 1)).toEqual(strange('0.170.3'));
    expect(await told('codex', '0.169.1', 1)).toEqual(strange('0.169.1'));
  });
});

test('the doctor reports nothing if nothing is captured, and otherwise names the faults', async () => {
  const examine = async () => (await examineRepository(project, { fix: true, agents: setup })).findings;
  script = 'broken';
  expect(await examine()).toEqual([]);
  await install();
  expect(await examine()).toEqual([]);
  const silent = { fix: false, agents: setup, findSilent: async () => ['Codex has worked here'] };
  expect((await examineRepository(project, silent)).findings).toMatchObject([
    { kind: 'capture', meaning: 'Codex has worked here.', todo: expect.stringContaining('`teddy capture sweep`') },
  ]);
  script = 'broken';
  spoolState({ waiting: [{ agent: 'codex', bytes: 1, oldest: 1 }] });
  expect(await examine()).toMatchObject([
    { kind: 'capture', outcome: 'left', todo: 'Run `teddy capture sweep`.' },
    { kind: 'capture', outcome: 'left', todo: 'Run `teddy capture install`.' },
  ]);
});

describe('as a part of teddy init', () => {
  const part = () => capturePart(project, setup, project.setup);
  const apply = async (isRemoval = false, accepts = (step: Step) => step.isExtra !== true) => {
    const told: string[] = [];
    await carryOutParts(await planParts([part()], isRemoval), {
      decide: async (_, step) => accepts(step),
      tell: (_, sentence) => told.push(sentence),
      onDone: () => undefined,
      onFailed: ({ code }) => told.push(code),
    });
    return told;
  };

  test('it captures the agents that are found, and takes away what it has added', async () => {
    expect(await part().look()).toMatchObject({ state: 'missing' });
    agents = agents.map((agent) => ({ ...agent, trusted: agent.name === 'codex' ? false : null }));
    expect(await apply()).toEqual([
      expect.stringMatching(/^Codex runs the hooks only after you trust them/),
      'Go on working as before: `teddy list` shows what is captured.',
    ]);
    expect(agents.map(({ hooks }) => hooks)).toEqual(['installed', 'installed', 'missing']);
    expect(await part().look()).toEqual({ state: 'set-up', why: null });
    expect(await part().planSetUp()).toEqual([]);
    await apply(true);
    expect(agents.map(({ hooks }) => hooks)).toEqual(['missing', 'missing', 'missing']);
    expect([await project.settings.get('capture'), script]).toEqual([undefined, 'missing']);
    expect(await part().planRemoval()).toEqual([]);
  });

  test('hooks that were there before stay, because other repositories may use them', async () => {
    await install('codex');
    await apply();
    const told = await apply(true);
    expect(told[0]).toContain('The hooks for Codex stay');
    expect(agents.map(({ hooks }) => hooks)).toEqual(['missing', 'installed', 'missing']);
    expect(await project.settings.get('capture')).toBeUndefined();
  });

  test('the gate needs a yes of its own', async () => {
    await install('codex');
    agents = agents.map((agent) => ({ ...agent, canGate: agent.name === 'claude-code', trusted: false }));
    const [gated, told]: [unknown[], string[]] = [[], []];
    const watched: AgentSetup = { ...setup, install: (name, gate) => (gated.push(gate), setup.install(name, gate)) };
    const [step] = await capturePart(project, watched, project.setup).planSetUp();
    const gate = typeof step === 'object' ? step.next : undefined;
    if (gate === undefined) throw new Error('There is no gate.');
    expect(gate).toMatchObject({ isExtra: true, does: 'Make plans in Claude Code wait until somebody approves them' });
    await gate.carryOut((sentence) => told.push(sentence));
    expect(gated).toEqual([true]);
    // Nothing changes for Codex, so there is nothing to trust.
    expect(told).toEqual([expect.stringContaining('Claude Code')]);
  });

  test('a file that is in the way is reported, the others are done, and doing it again completes it', async () => {
    blocked = 'claude-code';
    expect(await apply()).toEqual(['HOOK_IN_THE_WAY']);
    expect(agents.map(({ hooks }) => hooks)).toEqual(['missing', 'installed', 'missing']);
    blocked = null;
    await apply();
    expect(await part().planSetUp()).toEqual([]);
  });

  test('a half installation is damage, and no agent means no place for it', async () => {
    await apply();
    setHooks('codex', 'changed');
    expect(await part().look()).toEqual({ state: 'partly', why: 'Some hooks for Codex are missing or were changed.' });
    script = 'broken';
    expect((await part().look()).state).toBe('partly');
    await apply(true);
    agents = agents.map((agent) => ({ ...agent, found: false }));
    expect((await part().look()).state).toBe('not-applicable');
  });
});

test('sessions that teddy has not read are counted only if they began here', async () => {
  codexLog = { at: 5_000, cwd: project.repository.workspace.root };
  const capture = captureOf();
  capture.logs.topOf = async (directory) => directory;
  expect(await countUncaptured(project, capture, 0)).toBe(1);
  await capture.states.write('/rollout-1.jsonl', { version: 1 });
  expect(await countUncaptured(project, capture, 0)).toBe(0);
  codexLog = { at: 5_000, cwd: '/elsewhere' };
  expect(
    await countUncaptured(project, { ...captureOf(), logs: { ...captureOf().logs, topOf: async (at) => at } }, 0),
  ).toBe(0);
});
