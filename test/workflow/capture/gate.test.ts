/** An agent that waits at the gate with its plan: who lets it go on, who does not, and what the line says when nobody has decided. */
import { beforeEach, describe, expect, test } from 'vitest';
import { shortRef, type Oid, type RefName } from '../../../src/names.ts';
import {
  awaitVerdict,
  closeGate,
  closeLostGates,
  findWaitingPlan,
  openGate,
  readGateCall,
  toGateAnswer,
  type GateCall,
  type WaitingPlan,
} from '../../../src/workflow/capture/gate.ts';
import { openFollower } from '../../../src/workflow/capture/follow-log.ts';
import { readVerdicts } from '../../../src/workflow/line/read-verdicts.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { claudePlans, firstPlan } from '../../support/agent-plan-fixtures.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

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
  await (await openFollower(project, capture, { agent: 'claude-code', path }, options)).advance();
}

/** Looks so often, and does something before each look but the first. */
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

const give = (plan: WaitingPlan, verdict: 'approved' | 'rejected', text?: string) =>
  giveVerdict(project, { selector: shortRef(plan.ref), turn: plan.turn, verdict, text });
const verdictsOn = async ({ ref, session, turn }: WaitingPlan) =>
  readVerdicts(project, { tip: (await project.repository.store.resolve(ref)) as Oid, session, turn });
const violations = async () =>
  (await verifySession(project, { all: true, fsck: false })).lines.flatMap((line) => line.violations);

test('a call is about a plan only where the agent itself hands one in', () => {
  const payload = { tool_name: 'ExitPlanMode', tool_use_id: 'toolu_2', transcript_path: path };
  expect(readGateCall('claude-code', 7, payload)).toEqual(call);
  expect(readGateCall('claude-code', 7, { ...payload, tool_name: 'Bash' })).toBeNull();
  expect(readGateCall('claude-code', 7, { ...payload, agent_id: 'a1' })).toBeNull();
  expect(readGateCall('claude-code', 7, { ...payload, tool_use_id: 3 })).toBeNull();
  expect(readGateCall('claude-code', 7, {})).toBeNull();
});

test('the plan is waited for until it is on the line, and no longer than there is time', async () => {
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

describe('the agent', () => {
  test('goes on with a yes', async () => {
    const plan = await waiting();
    const verdict = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'approved')),
    );
    expect(verdict).toMatchObject({ verdict: 'approved', planSha256: plan.sha256 });
    expect(toGateAnswer(verdict as never, { plan: firstPlan })).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'allow',
        permissionDecisionReason: 'Ada Example approved this plan.',
        updatedInput: { plan: firstPlan },
      },
    });
    expect(await violations()).toEqual([]);
  });

  test('is told why with a no', async () => {
    const plan = await waiting();
    const verdict = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'rejected', 'Smaller steps.')),
    );
    const { hookSpecificOutput } = toGateAnswer(verdict as never, {});
    expect(hookSpecificOutput).toMatchObject({
      permissionDecision: 'deny',
      permissionDecisionReason: expect.stringMatching(/Ada Example rejected this plan.*\nSmaller steps\.$/) as string,
    });
  });

  test('waits on where the yes is not enough', async () => {
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

  test('asks by itself where the line has the plan no more', async () => {
    const plan = await waiting();
    const { store } = project.repository;
    const gone = async () => {
      const tip = (await store.resolve(plan.ref)) as Oid;
      await store.updateRefs([{ ref: plan.ref as RefName, old: tip, new: null }], 'gone');
    };
    expect(await awaitVerdict(project, plan, looks(gone))).toBeNull();
  });
});

describe('where nobody has decided', () => {
  test('the line says so, once, and a verdict may still come', async () => {
    const plan = await waiting();
    await openGate(capture, call, plan);
    expect(await awaitVerdict(project, plan, looks())).toBeNull();
    await closeGate(project, capture, call, plan, 'Nobody had decided.');
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'none', text: 'Nobody had decided.' }]);
    await closeLostGates(project, capture);
    expect(await verdictsOn(plan)).toHaveLength(1);
    await give(plan, 'approved');
    expect(await awaitVerdict(project, plan, looks())).toMatchObject({ verdict: 'approved' });
    expect(await violations()).toEqual([]);
  });

  test('a gate that was killed is noted by the next drain, one that waits is not', async () => {
    const plan = await waiting();
    await openGate(capture, call, plan);
    await closeLostGates(project, capture);
    expect(await verdictsOn(plan)).toEqual([]);
    capture.isAlive = async () => false;
    await closeLostGates(project, capture);
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'none' }]);
    await closeLostGates(project, capture);
    expect(await verdictsOn(plan)).toHaveLength(1);
  });

  test('nothing is noted where somebody has decided just then', async () => {
    const plan = await waiting();
    await openGate(capture, call, plan);
    await give(plan, 'rejected', 'No.');
    capture.isAlive = async () => false;
    await closeLostGates(project, capture);
    expect(await verdictsOn(plan)).toMatchObject([{ verdict: 'rejected' }]);
  });
});
