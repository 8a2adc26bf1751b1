/** Other agents' plans on captured lines. */
import { describe, expect, test } from 'vitest';
import { renderTurn } from '../../../src/cli/render/turn.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { renderSessionPage } from '../../../src/page/render-page.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { shortRef, type RefName, type TurnName } from '../../../src/names.ts';
import {
  addUnits,
  advance,
  findPlace,
  openFollower,
  settle,
  type FollowOptions,
} from '../../../src/workflow/capture/follow-log.ts';
import { requirePlan } from '../../../src/workflow/line/pending-plan.ts';
import { readLine, readTurnState } from '../../../src/view/view.ts';
import { findPageSource, readPage } from '../../../src/workflow/page/read-page.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { claudePlans, codexPlans, firstPlan, secondPlan } from '../../support/agent-plan-fixtures.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, planOf, say, storyOf } from '../../support/turns.ts';

const path = '/home/ada/.claude/projects/-home-ada-shop/s1.jsonl';
const log = { agent: 'claude-code', path } as const;
const options: FollowOptions = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
const lines = claudePlans('2.1.330');
const toText = (some: readonly object[]) => some.map((line) => `${JSON.stringify(line)}\n`).join('');
const whole = toText(lines);
/** Older versions of teddy, which didn't read plans, stored the same records. */
const withoutPlans = whole.replaceAll('"ExitPlanMode"', '"OtherTool"');
const at = (text: string) => lines.findIndex((line) => JSON.stringify(line).includes(text));
const firstCall = at('"toolu_2"');
const secondCall = at('"toolu_4"');

const story = [
  'start',
  'message 01',
  'exchange 01',
  'plan 01',
  'exchange 01',
  'exchange 01',
  'plan 02',
  'exchange 02',
  'exchange 02',
  'reply 02',
];

async function open(project: MemoryProject, capture: MemoryCapture, text: string, file = path) {
  capture.files.set(file, text);
  return openFollower(project, capture, { ...log, path: file }, options);
}

async function captureAll(project: MemoryProject, capture: MemoryCapture, text: string, file = path) {
  const follower = await open(project, capture, text, file);
  await advance(follower);
  await settle(follower);
  return shortRef(follower.state.log.branches[0]?.ref as RefName);
}

async function storyAt(project: MemoryProject, line: string): Promise<string[]> {
  const all = await storyOf(project, await project.tipOf(line));
  return all.slice(all.indexOf('start'));
}

async function violationsOf(project: MemoryProject): Promise<string[]> {
  const { lines: verified } = await verifySession(project, {
    target: undefined,
    all: true,
    fsck: false,
    signal: new AbortController().signal,
  });
  expect(verified.length).toBeGreaterThan(0);
  return verified.flatMap(({ violations }) => violations.map(({ message }) => message));
}

async function plansAt(project: MemoryProject, line: string): Promise<string[]> {
  const { store } = project.repository;
  const found = (await store.listTree(await project.tipOf(line))).filter(({ path: file }) => file.endsWith('/plan.md'));
  return Promise.all(found.map(async ({ oid }) => new TextDecoder().decode(await store.readBlob(oid))));
}

async function entriesOf(project: MemoryProject, line: string) {
  const entries = [];
  for await (const { commit } of project.repository.store.firstParents(await project.tipOf(line)))
    entries.unshift(decodeEntry(commit.message));
  return entries.filter((entry) => entry !== null);
}

describe('the plans of a captured session', () => {
  test('are plan entries; the second one opens the next turn', async () => {
    const project = await memoryProject();
    const line = await captureAll(project, memoryCapture('claude-code'), whole);
    expect(await storyAt(project, line)).toEqual(story);
    expect(await plansAt(project, line)).toEqual([firstPlan, secondPlan]);
    expect(await violationsOf(project)).toEqual([]);
    const plans = (await entriesOf(project, line)).filter(({ kind }) => kind === 'plan');
    expect(plans).toMatchObject([
      { title: 'Add a login route', details: ['1. Add the route.'], sha256: project.hash(firstPlan) },
      { title: 'Add a login route', sha256: project.hash(secondPlan) },
    ]);
  });

  test('carry the model of a Codex session, which its log names before them', async () => {
    const project = await memoryProject();
    const file = '/home/ada/.codex/sessions/2026/01/24/rollout-1.jsonl';
    const capture = memoryCapture('codex');
    capture.files.set(file, toText(codexPlans()));
    const follower = await openFollower(project, capture, { agent: 'codex', path: file }, options);
    await advance(follower);
    await settle(follower);
    const line = shortRef(follower.state.log.branches[0]?.ref as RefName);
    const plans = (await entriesOf(project, line)).filter(({ kind }) => kind === 'plan');
    expect(plans.map(({ provider, model }) => [provider, model])).toEqual([
      ['openai', 'gpt-5'],
      ['openai', 'gpt-5'],
    ]);
    expect(await violationsOf(project)).toEqual([]);
  });

  test('are not plans that teddy could execute', async () => {
    const project = await memoryProject();
    const text = toText(lines.slice(0, secondCall + 1));
    const line = await captureAll(project, memoryCapture('claude-code'), text);
    const { store } = project.repository;
    const state = await readLine(store, await project.tipOf(line));
    expect(state.latest).toMatchObject({ turn: '02', status: 'open', parsed: null });
    expect(await readTurnState(store, state.entryOid, state.session, '01' as TurnName)).toMatchObject({
      status: 'open',
    });
    const ref = `refs/heads/${line}` as RefName;
    expect(() => requirePlan({ ref, state })).toThrow(
      expect.objectContaining({ code: 'NO_PENDING_PLAN', message: expect.stringContaining('made by another agent') }),
    );
  });

  test('appear once, in their own turns, wherever the log was cut', async () => {
    for (let cut = 0; cut <= lines.length; cut += 1) {
      const project = await memoryProject();
      const capture = memoryCapture('claude-code');
      const follower = await open(project, capture, toText(lines.slice(0, cut)));
      await advance(follower);
      const before = follower.state.log.session === null ? [] : await storyAt(project, (await refOf(project)) ?? '');
      const line = await captureAll(project, capture, whole);
      const after = await storyAt(project, line);
      expect(after, `cut at ${cut}`).toEqual(story);
      expect(after.slice(0, before.length), `cut at ${cut}`).toEqual(before);
      expect(await plansAt(project, line)).toEqual([firstPlan, secondPlan]);
    }
  });

  test('are kept when they are packed with many other entries', async () => {
    const project = await memoryProject();
    const last = lines.at(-1) as { uuid: string };
    const more = Array.from({ length: 12 }, (_, index) => ({
      ...last,
      type: 'user',
      uuid: `more-${index}`,
      parentUuid: index === 0 ? last.uuid : `more-${index - 1}`,
      message: { role: 'user', content: `More ${index}` },
    }));
    const line = await captureAll(project, memoryCapture('claude-code'), whole + toText(more));
    expect((await storyAt(project, line)).slice(0, story.length)).toEqual(story);
    expect(await plansAt(project, line)).toEqual([firstPlan, secondPlan]);
    expect(await violationsOf(project)).toEqual([]);
  });

  test('are masked, and the stored hash is that of the masked bytes', async () => {
    const project = await memoryProject();
    const secret = 'correct-horse';
    project.secrets.set(secret, 'password');
    const line = await captureAll(
      project,
      memoryCapture('claude-code'),
      whole.replaceAll('Test it.', `Use ${secret}.`),
    );
    const [, plan = ''] = await plansAt(project, line);
    expect(plan).not.toContain(secret);
    expect((await entriesOf(project, line)).findLast(({ kind }) => kind === 'plan')?.sha256).toBe(project.hash(plan));
    expect(await violationsOf(project)).toEqual([]);
  });
});

async function refOf(project: MemoryProject): Promise<string | undefined> {
  const [found] = await project.repository.store.listRefs('refs/heads/teddy/');
  return found && shortRef(found.ref);
}

describe('showing a turn with an agent’s plan', () => {
  const style: Pick<Terminal, 'style'> = { style: (_, text) => text };

  test('prints the plan before the calls on the terminal', async () => {
    const project = await memoryProject();
    const line = await captureAll(project, memoryCapture('claude-code'), whole);
    const shown = renderTurn(style as Terminal, await showTurn(project, { selector: line, turn: '01' }));
    expect(shown).toContain(
      '\nMessage\n  Add a login route, please.\n\nPlan\n  # Add a login route\n\n  1. Add the route.\n\n',
    );
    expect(shown.indexOf('\nPlan\n')).toBeLessThan(shown.indexOf('Tool call'));
    const second = await showTurn(project, { selector: line, turn: '02' });
    expect(second).toMatchObject({ plan: secondPlan, status: 'closed', agent: 'claude-code' });
    expect(renderTurn(style as Terminal, second)).toContain('\nPlan\n  # Add a login route\n');
  });

  test('renders the plan as Markdown on a page, without problems', async () => {
    const project = await memoryProject();
    const line = await captureAll(project, memoryCapture('claude-code'), whole);
    const page = await readPage(project, await findPageSource(project, line), { version: '1.2.3', checks: false });
    expect(page.turns.map(({ parts, plan }) => [parts[0]?.kind, parts[1]?.kind, plan?.parsed])).toEqual([
      ['message', 'call', null],
      ['plan', 'call', null],
    ]);
    const markup = renderSessionPage(page, project.hash);
    expect(markup).toContain('<a class="no" href="#t02">02</a> <span>Add a login route</span>');
    expect(markup).toContain('<li>Test it.</li>');
    expect(markup).not.toContain('class="reason"');
  });
});

test('a turn that begins with a plan may end without an answer', async () => {
  const project = await memoryProject();
  const call = lines[secondCall] as { uuid: string };
  const next = { ...(lines[0] as object), uuid: 'next', parentUuid: call.uuid };
  const line = await captureAll(
    project,
    memoryCapture('claude-code'),
    toText([...lines.slice(0, secondCall + 1), next]),
  );
  expect((await storyAt(project, line)).slice(-3)).toEqual(['plan 02', 'exchange 02', 'message 03']);
  expect(await violationsOf(project)).toEqual([]);
});

test('a turn with an agent’s plan takes no plan from teddy: the user’s next message opens a new turn', async () => {
  const project = await memoryProject();
  const text = toText(lines.slice(0, secondCall + 1));
  const line = await captureAll(project, memoryCapture('claude-code'), text);
  await project.switchTo(line);
  await expect(say(project, undefined, 'Hello.')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
  await say(project, 'Do it in one step.', planOf([create('a.txt')]));
  expect((await storyAt(project, line)).slice(-4)).toEqual(['plan 02', 'exchange 02', 'message 03', 'plan 03']);
  expect((await plansAt(project, line)).slice(0, 2)).toEqual([firstPlan, secondPlan]);
  expect(await violationsOf(project)).toEqual([]);
});

describe('a plan that arrives before its log contains it', () => {
  test('is on the line before the log mentions it, and is not added again', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    const add = async (upTo: number, callId: string, plan: string) => {
      const follower = await open(project, capture, toText(lines.slice(0, upTo)));
      await advance(follower);
      const timestamp = '2026-01-24T10:00:30.000Z';
      const record = { type: 'plan', id: `${callId}/plan`, timestamp, file: 'plan.md', tool_call_id: callId } as const;
      const unit = { kind: 'plan' as const, records: [record], plan, branch: 0 };
      expect(await addUnits(follower, [unit])).toBe(1);
      expect(await addUnits(follower, [unit])).toBe(0);
      return (await findPlace(follower))?.turn;
    };
    expect(await add(firstCall, 'toolu_2', firstPlan)).toBe('01');
    // The agent's earlier work arrives late.
    expect(await add(secondCall - 1, 'toolu_4', secondPlan)).toBe('02');
    const line = await captureAll(project, capture, whole);
    expect((await storyAt(project, line)).filter((entry) => entry.startsWith('plan'))).toEqual(['plan 01', 'plan 02']);
    expect(await plansAt(project, line)).toEqual([firstPlan, secondPlan]);
    expect((await storyAt(project, line)).toSorted()).toHaveLength(story.length);
    expect(await violationsOf(project)).toEqual([]);
  });
});

describe('a line from a version of teddy that did not read plans', () => {
  test('gets no plans for the entries it already has', async () => {
    const project = await memoryProject();
    const before = await captureAll(project, memoryCapture('claude-code'), withoutPlans);
    const old = await storyAt(project, before);
    // The notes of how far the log was read are missing.
    const line = await captureAll(project, memoryCapture('claude-code'), whole);
    expect(line).toBe(before);
    expect(await storyAt(project, line)).toEqual(old);
  });

  test('is forked after the entries that both have', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    await captureAll(project, capture, withoutPlans);
    const last = lines.at(-1) as { uuid: string };
    const added = {
      ...last,
      type: 'user',
      uuid: 'forked',
      parentUuid: last.uuid,
      message: { role: 'user', content: 'Or not?' },
    };
    const forked = toText([...lines, added].map((line) => ({ ...line, sessionId: 's2' })));
    const line = await captureAll(project, capture, forked, path.replace('s1', 's2'));
    expect((await storyAt(project, line)).slice(-3)).toEqual([
      'reply 01',
      'branch 02-branch-01',
      'message 02-branch-01',
    ]);
    expect(await violationsOf(project)).toEqual([]);
  });
});

test('a branch that forks in the middle of a planned turn repeats the turn without the plan', async () => {
  const project = await memoryProject();
  const at4 = lines[secondCall + 1] as { uuid: string };
  const other = {
    ...(lines.at(-1) as object),
    uuid: 'beside',
    parentUuid: at4.uuid,
    message: { id: 'msg_9', role: 'assistant', content: [{ type: 'text', text: 'Another way.' }] },
  };
  await captureAll(project, memoryCapture('claude-code'), whole + toText([other]));
  const refs = (await project.repository.store.listRefs('refs/heads/teddy/')).map(({ ref }) => shortRef(ref));
  const branch = refs.find((ref) => ref.includes('--')) ?? '';
  expect((await storyAt(project, branch)).slice(-3)).toEqual([
    'branch 02-branch-01',
    'exchange 02-branch-01',
    'reply 02-branch-01',
  ]);
  expect(await plansAt(project, branch)).toEqual([firstPlan]);
  const { entryOid, session } = await readLine(project.repository.store, await project.tipOf(branch));
  const { records } = await readTurnState(project.repository.store, entryOid, session, '02-branch-01' as TurnName);
  expect(records.map(({ type }) => type)).toEqual(['tool_use', 'tool_result', 'assistant']);
  expect(await violationsOf(project)).toEqual([]);
});
