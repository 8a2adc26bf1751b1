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
import { advance, openFollower, settle } from '../../../src/workflow/capture/follow-log.ts';
import { awaitsVerdict, readLine, readVerdicts } from '../../../src/view/view.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { claudePlans, firstPlan, qwenPlans, secondPlan } from '../../support/agent-plan-fixtures.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { storyOf } from '../../support/turns.ts';

const path = '/home/ada/.claude/projects/-home-ada-shop/s1.jsonl';
const lines = claudePlans('2.1.330');
const callAt = lines.findIndex((line) => JSON.stringify(line).includes('"toolu_2"'));
const call: GateCall = { agent: 'claude-code', callId: 'toolu_2', path, pids: [7] };

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

test('a call is about a plan only if the agent itself submits one in it', async () => {
  const payload = { tool_name: 'ExitPlanMode', tool_use_id: 'toolu_2', transcript_path: path };
  expect(await readGateCall(capture, 'claude-code', [7], payload)).toEqual(call);
  const input = { plan: firstPlan, planFilePath: '/plan.md' };
  const named = { ...call, plan: firstPlan, planFile: '/plan.md' };
  expect(await readGateCall(capture, 'claude-code', [7], { ...payload, tool_input: input })).toEqual(named);
  expect(await readGateCall(capture, 'claude-code', [7], { ...payload, tool_name: 'Bash' })).toBeNull();
  expect(await readGateCall(capture, 'claude-code', [7], { ...payload, agent_id: 'a1' })).toBeNull();
  expect(await readGateCall(capture, 'claude-code', [7], { ...payload, tool_use_id: 3 })).toBeNull();
  expect(await readGateCall(capture, 'claude-code', [7], {})).toBeNull();
});

describe('Qwen Code, whose call has no ID', () => {
  const own = '/home/ada/.qwen/projects/-home-ada-shop/chats/q1.jsonl';
  const payload = (plan: unknown) => ({
    tool_name: 'exit_plan_mode',
    tool_input: { plan },
    transcript_path: own,
    permission_mode: 'plan',
  });
  const asked = async (plan: string) => (await readGateCall(capture, 'qwen', [7], payload(plan))) as GateCall;
  const log = qwenPlans();

  async function readOwnLog(count: number): Promise<void> {
    const text = log.slice(0, count).map((line) => `${JSON.stringify(line)}\n`);
    capture.files.set(own, text.join(''));
    const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
    await advance(await openFollower(project, capture, { agent: 'qwen', path: own }, options));
  }

  test('waits with the plan that has the call’s text, and hears the verdict in its own form', async () => {
    expect(await asked(firstPlan)).toEqual({ agent: 'qwen', pids: [7], callId: null, path: own, plan: firstPlan });
    expect(await readGateCall(capture, 'qwen', [7], payload(undefined))).toBeNull();
    expect(await readGateCall(capture, 'qwen', [7], { ...payload(firstPlan), tool_name: 'edit' })).toBeNull();
    await readOwnLog(2);
    expect(await findWaitingPlan(project, capture, await asked(secondPlan), looks())).toBeNull();
    const plan = await findWaitingPlan(project, capture, await asked(firstPlan), looks());
    if (plan === null) throw new Error('The plan is on the line.');
    const no = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'rejected', 'And the tests?')),
    );
    const call = await asked(firstPlan);
    const decided = (verdict: unknown) => toGateAnswer(call, verdict as never, payload(firstPlan));
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
    const plan = await findWaitingPlan(project, capture, await asked(firstPlan), looks());
    if (plan === null) throw new Error('The plan is on the line.');
    await give(plan, 'approved');
    expect(await findWaitingPlan(project, capture, await asked(firstPlan), looks())).toBeNull();
  });
});

describe('Codex, which asks at the end of a turn', () => {
  const own = '/home/ada/.codex/sessions/2026/01/24/rollout-2026-01-24T10-00-00-c1.jsonl';
  const payload = (turn: string) => ({ hook_event_name: 'Stop', transcript_path: own, turn_id: turn });
  const asked = (turn: string) => readGateCall(capture, 'codex', [7], payload(turn));
  const event = (type: string, more: object = {}) => ({ type: 'event_msg', payload: { type, ...more } });
  const completed = (turn: string, item: object) => event('item_completed', { turn_id: turn, item });
  const message = (id: string, role: string, text: string) => {
    const content = [{ type: role === 'user' ? 'input_text' : 'output_text', text }];
    return { type: 'response_item', payload: { type: 'message', id, role, content } };
  };
  /** Codex gives all plans of a turn the same ID. */
  const plans = (turn: string, text: string) => [
    completed(turn, { type: 'Plan', id: `${turn}-plan`, text }),
    message(`${turn}-${text.length}`, 'assistant', `Here it is.\n<proposed_plan>\n${text}</proposed_plan>\n`),
  ];
  const first = [
    { type: 'session_meta', payload: { id: 'c1', cwd: '/home/ada/shop', cli_version: '0.169.0' } },
    event('task_started'),
    message('u1', 'user', 'Add a login route, please.'),
    ...plans('t1', firstPlan),
  ];
  const asksAgain = [
    message('h1', 'user', '<hook_prompt hook_run_id="stop:0">Ada rejected this plan.</hook_prompt>'),
    completed('t1', { type: 'HookPrompt', id: 'h1', fragments: [] }),
  ];
  const second = [...first, ...asksAgain, ...plans('t1', secondPlan)];

  async function readOwnLog(some: readonly object[]): Promise<void> {
    capture.files.set(own, some.map((one) => `${JSON.stringify(one)}\n`).join(''));
    const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
    const follower = await openFollower(project, capture, { agent: 'codex', path: own }, options);
    await advance(follower);
    await settle(follower);
  }

  test('waits if the turn ends with a plan that it has not been sent back from', async () => {
    const log = (some: readonly object[]) => readOwnLog(some).then(() => asked('t1'));
    const call = { agent: 'codex', pids: [7], callId: null, path: own };
    expect(await log(first.slice(0, 3))).toBeNull();
    expect(await log(first)).toEqual({ ...call, plan: firstPlan });
    expect(await asked('t2')).toBeNull();
    expect(await log([...first, ...asksAgain])).toBeNull();
    expect(await log(second)).toEqual({ ...call, plan: secondPlan });
    expect(await log([...second, event('task_started')])).toBeNull();
  });

  test('plans again in the same turn after a rejection, and asks the user itself after an approval', async () => {
    await readOwnLog(first);
    const firstCall = (await asked('t1')) as GateCall;
    const plan = await findWaitingPlan(project, capture, firstCall, looks());
    if (plan === null) throw new Error('The plan is on the line.');
    const { store } = project.repository;
    const awaits = async () => awaitsVerdict(await readLine(store, (await store.resolve(plan.ref)) as Oid));
    expect(await awaits()).toBe(true);
    const rejects = () => give(plan, 'rejected', 'And the tests?');
    const no = await awaitVerdict(project, plan, looks(rejects));
    const decided = (verdict: unknown) => toGateAnswer(firstCall, verdict as never, payload('t1'));
    expect(decided(no)).toEqual({ decision: 'block', reason: expect.stringMatching(/rejected.*And the tests\?/s) });
    expect(decided({ ...no, verdict: 'approved', text: null })).toEqual({
      systemMessage: 'Ada Example approved this plan.',
    });
    expect(await awaits()).toBe(false);
    await readOwnLog(second);
    const again = await findWaitingPlan(project, capture, (await asked('t1')) as GateCall, looks());
    expect(again).toMatchObject({ turn: '02', sha256: project.hash(Buffer.from(secondPlan)) });
    expect(await awaits()).toBe(true);
    expect(await storyOf(project, (await store.resolve(plan.ref)) as Oid)).toEqual([
      "'First commit'",
      'start',
      'message 01',
      'plan 01',
      'reply 01',
      'approval 01',
      'plan 02',
      'reply 02',
    ]);
    expect(await violations()).toEqual([]);
  });
});

describe('Copilot CLI, which writes its plan to a file of the session', () => {
  const folder = '/home/ada/.copilot/session-state/c1';
  const [own, planFile] = [`${folder}/events.jsonl`, `${folder}/plan.md`];
  const payload = { sessionId: 'c1', toolName: 'exit_plan_mode', toolArgs: { summary: '- A route' } };
  const asked = async () => (await readGateCall(capture, 'copilot', [7], payload)) as GateCall;
  let last: string | null = null;
  const add = (type: string, data: object) => {
    const one = {
      type,
      data,
      id: `e${capture.files.get(own)?.length ?? 0}`,
      parentId: last,
      timestamp: '2026-01-24T10:00:00.000Z',
    };
    last = one.id;
    capture.files.set(own, `${capture.files.get(own) ?? ''}${JSON.stringify(one)}\n`);
  };
  const calls = (toolCallId: string, name: string, input: object) => {
    const toolRequests = [{ toolCallId, name, arguments: input }];
    add('assistant.message', { messageId: `m-${toolCallId}`, content: '', toolRequests });
  };
  const writes = (toolCallId: string, name: string, input: object, success = true) => {
    calls(toolCallId, name, { path: planFile, ...input });
    add('tool.execution_complete', { toolCallId, success });
  };
  const submits = async (toolCallId: string) => {
    calls(toolCallId, 'exit_plan_mode', payload.toolArgs);
    const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
    await advance(await openFollower(project, capture, { agent: 'copilot', path: own }, options));
    return findWaitingPlan(project, capture, await asked(), looks());
  };

  beforeEach(() => {
    last = null;
    add('session.start', { sessionId: 'c1', copilotVersion: '1.0.102', context: { cwd: '/home/ada/shop' } });
    add('user.message', { content: 'Add a login route, please.' });
  });

  test('waits with what the model has written to that file', async () => {
    writes('call_1', 'create', { file_text: firstPlan });
    capture.files.set(planFile, firstPlan);
    const plan = await submits('call_2');
    expect(await asked()).toEqual({ agent: 'copilot', pids: [7], callId: null, path: own, planFile });
    expect(plan).toMatchObject({ turn: '01', sha256: project.hash(Buffer.from(firstPlan)) });
    if (plan === null) throw new Error('The plan is on the line.');
    const no = await awaitVerdict(
      project,
      plan,
      looks(() => give(plan, 'rejected', 'And the tests?')),
    );
    const decided = (verdict: unknown) => toGateAnswer({ ...call, agent: 'copilot' }, verdict as never, payload);
    expect(decided(no)).toEqual({
      permissionDecision: 'deny',
      permissionDecisionReason: expect.stringMatching(/rejected.*And the tests\?/s),
    });
    expect(decided({ ...no, verdict: 'approved' })).toMatchObject({ permissionDecision: 'allow' });
    add('tool.execution_complete', { toolCallId: 'call_2', success: false, error: { code: 'denied' } });
    // A call that has failed changes nothing.
    writes('call_3', 'create', { file_text: 'Another plan' }, false);
    writes('call_4', 'edit', { old_str: 'the route.', new_str: 'the tested route.' });
    const changed = firstPlan.replace('the route.', 'the tested route.');
    capture.files.set(planFile, changed);
    expect(await submits('call_5')).toMatchObject({ turn: '02', sha256: project.hash(Buffer.from(changed)) });
  });

  test('waits with the summary in its call if there is no such file', async () => {
    expect(await submits('call_1')).toMatchObject({ sha256: project.hash(Buffer.from('- A route')) });
    expect(await asked()).toEqual({ agent: 'copilot', pids: [7], callId: null, path: own, plan: '- A route' });
    expect(await readGateCall(capture, 'copilot', [7], { ...payload, toolName: 'bash' })).toBeNull();
    expect(await readGateCall(capture, 'copilot', [7], { ...payload, sessionId: 'c2' })).toBeNull();
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
