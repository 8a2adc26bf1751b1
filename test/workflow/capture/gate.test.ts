/**
 * An agent that waits at the gate with its plan: who can let it continue, who can't, and what the line records if
 * nobody has decided.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { shortRef, type Oid, type RefName } from '../../../src/names.ts';
import {
  awaitVerdict,
  closeGate,
  closeLostGates,
  findChange,
  findWaitingPlan,
  openGate,
  readGateCall,
  toGateAnswer,
  type GateCall,
  type WaitingPlan,
} from '../../../src/workflow/capture/gate.ts';
import { advance, openFollower } from '../../../src/workflow/capture/follow-log.ts';
import { readVerdicts } from '../../../src/view/view.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { claudePlans, firstPlan, qwenPlans, secondPlan } from '../../support/agent-plan-fixtures.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { storyOf } from '../../support/turns.ts';

const path = '/home/ada/.claude/projects/-home-ada-shop/s1.jsonl';
const lines = claudePlans('2.1.330');
const callAt = lines.findIndex((line) => JSON.stringify(line).includes('"toolu_2"'));
const call: GateCall = { agent: 'claude-code', callId: 'toolu_2', path, pid: 7 };

let project: MemoryProject;
let capture: MemoryCapture;

beforeEach(async () => {
  project = await memoryProject();
  capture = memoryCapture('claude-code');
});

async function readLog(count: number): Promise<void> {
  capture.files.set(
    path,
    lines
      .slice(0, count)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
  await advance(await openFollower(project, capture, { agent: 'claude-code', path }, options));
}

const answer = (verdict: unknown, input: object) => toGateAnswer(call, verdict as never, { tool_input: input });

/** Looks this many times, and does something before every look but the first. */
const looks = (...steps: (() => Promise<unknown>)[]) => ({
  async pause() {
    const step = steps.shift();
    await step?.();
    return step !== undefined;
  },
});

async function waiting(): Promise<WaitingPlan> {
  await readLog(callAt + 1);
  const plan = await findWaitingPlan(project, capture, call, looks());
  if (plan === null) throw new Error('The plan is on the line.');
  return plan;
}

/** Drops this many commits from the line, or the whole session. */
async function setBack({ ref }: WaitingPlan, count = 2): Promise<void> {
  const { store } = project.repository;
  const commits: Oid[] = [];
  for await (const { oid } of store.firstParents((await store.resolve(ref)) as Oid)) commits.push(oid);
  const [old] = commits;
  const at = commits[Math.min(count, commits.length - 1)];
  if (old === undefined || at === undefined) throw new Error('The line exists');
  await store.updateRefs([{ ref, old, new: at }], 'set back');
}

const give = (plan: WaitingPlan, verdict: 'approved' | 'rejected', text?: string) =>
  giveVerdict(project, { selector: shortRef(plan.ref), turn: plan.turn, verdict, text });
const verdictsOn = async ({ ref, session, turn }: WaitingPlan) =>
  readVerdicts(project, { tip: (await project.repository.store.resolve(ref)) as Oid, session, turn });
const violations = async () =>
  (await verifySession(project, { all: true, fsck: false })).lines.flatMap((line) => line.violations);

test('a call is about a plan only if the agent itself submits one in it', () => {
  const payload = { tool_name: 'ExitPlanMode', tool_use_id: 'toolu_2', transcript_path: path };
  expect(readGateCall('claude-code', 7, payload)).toEqual(call);
  const input = { plan: firstPlan, planFilePath: '/plan.md' };
  const named = { ...call, plan: firstPlan, planFile: '/plan.md' };
  expect(readGateCall('claude-code', 7, { ...payload, tool_input: input })).toEqual(named);
  expect(readGateCall('claude-code', 7, { ...payload, tool_name: 'Bash' })).toBeNull();
  expect(readGateCall('claude-code', 7, { ...payload, agent_id: 'a1' })).toBeNull();
  expect(readGateCall('claude-code', 7, { ...payload, tool_use_id: 3 })).toBeNull();
  expect(readGateCall('claude-code', 7, {})).toBeNull();
});

describe('Qwen Code, whose call has no ID', () => {
  const own = '/home/ada/.qwen/projects/-home-ada-shop/chats/q1.jsonl';
  const payload = (plan: unknown) => ({
    tool_name: 'exit_plan_mode',
    tool_input: { plan },
    transcript_path: own,
    permission_mode: 'plan',
  });
  const asked = (plan: string) => readGateCall('qwen', 7, payload(plan)) as GateCall;
  const log = qwenPlans();

  async function readOwnLog(count: number): Promise<void> {
    const text = log.slice(0, count).map((line) => `${JSON.stringify(line)}\n`);
    capture.files.set(own, text.join(''));
    const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
    await advance(await openFollower(project, capture, { agent: 'qwen', path: own }, options));
  }

  test('waits with the plan that has the call’s text, and hears the verdict in its own form', async () => {
    expect(asked(firstPlan)).toEqual({ agent: 'qwen', pid: 7, callId: null, path: own, plan: firstPlan });
    expect(readGateCall('qwen', 7, payload(undefined))).toBeNull();
    expect(readGateCall('qwen', 7, { ...payload(firstPlan), tool_name: 'edit' })).toBeNull();
    await readOwnLog(2);
    expect(await findWaitingPlan(project, capture, asked(secondPlan), looks())).toBeNull();
    const plan = await findWaitingPlan(project, capture, asked(firstPlan), looks());
    if (plan === null) throw new Error('The plan is on the line.');
    const no = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'rejected', 'And the tests?')),
    );
    const decided = (verdict: unknown) => toGateAnswer(asked(firstPlan), verdict as never, payload(firstPlan));
    expect(decided(no)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PermissionRequest',
        decision: { behavior: 'deny', message: expect.stringMatching(/rejected this plan\..*And the tests\?/s) },
      },
    });
    expect(decided({ ...no, verdict: 'approved' })).toMatchObject({
      hookSpecificOutput: { decision: { behavior: 'allow' } },
    });
  });

  test('is not answered by the verdict on an earlier plan with the same text', async () => {
    await readOwnLog(2);
    const plan = await findWaitingPlan(project, capture, asked(firstPlan), looks());
    if (plan === null) throw new Error('The plan is on the line.');
    await give(plan, 'approved');
    expect(await findWaitingPlan(project, capture, asked(firstPlan), looks())).toBeNull();
  });
});

test('the gate waits for the plan until it is on the line, but only within the time limit', async () => {
  await readLog(callAt);
  expect(
    await findWaitingPlan(
      project,
      capture,
      call,
      looks(async () => undefined),
    ),
  ).toBeNull();
  const found = await findWaitingPlan(
    project,
    capture,
    call,
    looks(() => readLog(callAt + 1)),
  );
  expect(found).toMatchObject({ turn: '01', sha256: project.hash(Buffer.from(firstPlan)) });
});

test('nobody is asked about a plan whose text differs between the agent and the line', async () => {
  const has = async (plan: string) => (await findWaitingPlan(project, capture, { ...call, plan }, looks())) !== null;
  await readLog(callAt + 1);
  expect(await has(firstPlan.trim())).toBe(true);
  expect(await has(`${firstPlan}2. Send all of it away.\n`)).toBe(false);
});

describe('the agent', () => {
  test('continues after a yes', async () => {
    const plan = await waiting();
    const verdict = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'approved')),
    );
    expect(verdict).toMatchObject({ verdict: 'approved', planSha256: plan.sha256 });
    expect(answer(verdict, { plan: firstPlan })).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'allow',
        permissionDecisionReason: 'Ada Example approved this plan.',
        updatedInput: { plan: firstPlan },
      },
    });
    expect(await violations()).toEqual([]);
  });

  test('gets the reason for a no', async () => {
    const plan = await waiting();
    const verdict = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'rejected', 'Smaller steps.')),
    );
    expect(answer(verdict, {})).toMatchObject({
      hookSpecificOutput: {
        permissionDecision: 'deny',
        permissionDecisionReason: expect.stringMatching(/Ada Example rejected this plan.*\nSmaller steps\.$/) as string,
      },
    });
  });

  test('gets comments alone as the reason for a no', async () => {
    const plan = await waiting();
    const remark = () =>
      giveVerdict(project, {
        selector: shortRef(plan.ref),
        turn: plan.turn,
        verdict: 'rejected',
        comments: [{ line: 1, text: 'Which shop?' }],
      });
    expect(answer(await awaitVerdict(project, plan, looks(remark)), {})).toMatchObject({
      hookSpecificOutput: {
        permissionDecisionReason:
          'Ada Example rejected this plan. Plan again, with this in mind:\nplan.md, line 1: Which shop?',
      },
    });
  });

  test('keeps waiting if the yes is not enough', async () => {
    project.configuration.set('teddy.approvals', 'others');
    const plan = await waiting();
    const byOther = async () => {
      project.identity.text = 'Bob <bob@example.org> 1769248800 +0000';
      await give(plan, 'approved');
    };
    const own = () => give(plan, 'approved');
    expect(await awaitVerdict(project, plan, looks(own))).toBeNull();
    expect(await awaitVerdict(project, plan, looks(own, byOther))).toMatchObject({ author: { name: 'Bob' } });
  });

  test.each([
    ['its file has a different plan now', { planFile: '/plan.md' }, `${firstPlan}3. Send all of it away.\n`],
    ['its file and the text in the call now differ', { plan: firstPlan, planFile: '/plan.md' }, '# Other\n'],
    ['its file is gone', { planFile: '/plan.md' }, null],
    ['its call names neither a text nor a file', {}, firstPlan],
  ])('asks the user itself, which the line records, if %s after a yes', async (_, named, now) => {
    const plan = await waiting();
    const gate = await openGate(project, plan);
    const { verdict: yes } = await give(plan, 'approved');
    if (now !== null) capture.files.set('/plan.md', now);
    const reason = await findChange(project, capture, { ...call, ...named }, plan, yes);
    expect(reason).toMatch(/^It was approved, but /);
    await closeGate(project, gate, plan, { reason, isJudged: true });
    expect((await verdictsOn(plan)).map(({ verdict, text }) => [verdict, text])).toEqual([
      ['approved', null],
      ['none', reason],
    ]);
    expect(await violations()).toEqual([]);
  });

  test.each([
    ['text', { plan: `${firstPlan}\n` }],
    ['file', { planFile: '/plan.md' }],
    ['text, from a file that no longer exists', { plan: firstPlan, planFile: '/gone.md' }],
  ])('continues with the %s that was shown', async (_, named) => {
    const plan = await waiting();
    const { verdict: yes } = await give(plan, 'approved');
    capture.files.set('/plan.md', firstPlan);
    expect(await findChange(project, capture, { ...call, ...named }, plan, yes)).toBeNull();
  });

  test('asks the user itself if the plan is no longer on the line', async () => {
    const plan = await waiting();
    const { store } = project.repository;
    const gone = async () => {
      const tip = (await store.resolve(plan.ref)) as Oid;
      await store.updateRefs([{ ref: plan.ref as RefName, old: tip, new: null }], 'gone');
    };
    expect(await awaitVerdict(project, plan, looks(gone))).toBeNull();
  });

  test('asks the user itself if the line was reset to before the plan', async () => {
    const plan = await waiting();
    const gate = await openGate(project, plan);
    let count = 0;
    const pause = async () => {
      count += 1;
      if (count === 1) await setBack(plan);
      return count < 5;
    };
    expect(await awaitVerdict(project, plan, { pause })).toBeNull();
    expect(count).toBe(1);
    await closeGate(project, gate, plan, { reason: 'Nobody had decided.' });
    expect(await storyOf(project, (await project.repository.store.resolve(plan.ref)) as Oid)).not.toContain('plan 01');
    expect(project.noted).toEqual([]);
  });
});

describe('a plan that nobody has decided on', () => {
  test('is recorded as such once, and can still get a verdict', async () => {
    const plan = await waiting();
    const gate = await openGate(project, plan);
    expect(await awaitVerdict(project, plan, looks())).toBeNull();
    await closeGate(project, gate, plan, { reason: 'Nobody had decided.' });
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'none', text: 'Nobody had decided.' }]);
    await closeLostGates(project);
    expect(await verdictsOn(plan)).toHaveLength(1);
    await give(plan, 'approved');
    expect(await awaitVerdict(project, plan, looks())).toMatchObject({ verdict: 'approved' });
    expect(await violations()).toEqual([]);
  });

  test('is recorded by the next drain if the gate was killed, but not while the gate waits', async () => {
    const plan = await waiting();
    const gate = await openGate(project, plan);
    await closeLostGates(project);
    expect(await verdictsOn(plan)).toEqual([]);
    await gate.leave();
    await closeLostGates(project);
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'none' }]);
    await closeLostGates(project);
    expect(await verdictsOn(plan)).toHaveLength(1);
  });

  test('does not keep others from being recorded if its gate cannot be', async () => {
    const plan = await waiting();
    project.configuration.set('teddy.approvals', 'sometimes');
    breakDisk(1);
    for (let at = 0; at < 2; at += 1) await (await openGate(project, plan)).leave();
    expect(await closeLostGates(project)).toEqual([expect.stringMatching(/^The plan of turn 01 .*broken/)]);
    expect(await closeLostGates(project)).toEqual([]);
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'none' }]);
  });

  test('is reported once if it cannot be recorded, and recorded as soon as it can be', async () => {
    const plan = await waiting();
    await (await openGate(project, plan)).leave();
    breakDisk(3);
    expect(await closeLostGates(project)).toEqual([expect.stringMatching(/broken/)]);
    for (let at = 0; at < 2; at += 1) expect(await closeLostGates(project)).toEqual([]);
    expect(project.noted).toHaveLength(1);
    expect(await closeLostGates(project)).toEqual([]);
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'none' }]);
    expect(project.noted).toEqual([]);
  });

  /** The next times that a ref is read. */
  function breakDisk(times: number): void {
    const { store } = project.repository;
    const resolve = store.resolve.bind(store);
    let left = times;
    store.resolve = async (ref) => {
      if (left === 0) return resolve(ref);
      left -= 1;
      throw new Error('The disk is broken.');
    };
  }

  test('is not recorded on a line that was reset to before the session', async () => {
    const plan = await waiting();
    await (await openGate(project, plan)).leave();
    await setBack(plan, Infinity);
    expect(await closeLostGates(project)).toEqual([]);
    expect(project.noted).toEqual([]);
  });

  test('is not recorded if somebody decides at that moment', async () => {
    const plan = await waiting();
    await (await openGate(project, plan)).leave();
    await give(plan, 'rejected', 'No.');
    await closeLostGates(project);
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'rejected' }]);
  });
});
