import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listMemos, addMemo, removeMemo } from '../../src/workflow/context/change-memos.ts';
import { listProposed } from '../../src/workflow/line/proposed-memos.ts';
import { readLine, readVerdicts } from '../../src/view/view.ts';
import { listSessions } from '../../src/workflow/review/list-sessions.ts';
import { readStatus } from '../../src/workflow/review/read-status.ts';
import { giveVerdict } from '../../src/workflow/run/give-verdict.ts';
import { findOpenLine } from '../../src/workflow/line/find-open.ts';
import { verifySession } from '../../src/workflow/verify/session.ts';
import { memoryProject, type MemoryProject } from '../support/memory-repository.ts';
import { openMcp, type McpClient } from '../support/mcp-client.ts';
import { create, line, planOf, run, say, session, start } from '../support/turns.ts';

let project: MemoryProject;
let mcp: McpClient;

beforeEach(async () => {
  project = await memoryProject();
  mcp = await openMcp(project);
});
afterEach(async () => {
  expect(mcp.defects).toEqual([]);
  await mcp.close();
});

const markdown = '# Log in with a key\n\n1. Read the key.\n2. Compare it.\n';
const submit = async (more: object = {}) =>
  (await mcp.call('plan_submit', { plan: markdown, message: 'Let people log in', ...more })).answer;
const verdictOf = async (turn = '01', of = session, wait = 0) =>
  (await mcp.call('plan_verdict', { session: of, turn, waitSeconds: wait })).answer;

async function expectNoFault() {
  const { lines } = await verifySession(project, { target: session, all: false, fsck: false });
  expect(lines.flatMap(({ violations }) => violations)).toEqual([]);
  expect(lines).toHaveLength(1);
}

async function judge(verdict: 'approved' | 'rejected', selector: string, text?: string) {
  const comments = verdict === 'rejected' ? [{ line: 3, text: 'Which key?' }] : [];
  return giveVerdict(project, { selector, verdict, text, comments });
}

describe('plan_submit', () => {
  test('turns any Markdown into a plan on its own branch, and moves nothing else', async () => {
    const place = async () => [
      await project.repository.workspace.head(),
      await project.repository.workspace.status({ untracked: true }),
    ];
    const before = await place();
    const taken = await submit({ title: 'Add login' });
    expect(taken).toMatchObject({ session, line, turn: '01', kind: 'markdown', actions: 0, masked: 0 });
    expect(taken['planSha256']).toBe(project.hash(markdown));
    expect(await place()).toEqual(before);
    const state = await readLine(project.repository.store, await project.tipOf(line));
    expect(state.latest).toMatchObject({ turn: '01', status: 'open', report: null });
    expect(await project.readAt(state.tip, `.teddy/sessions/${session}/01/plan.md`)).toBe(markdown);
    expect(state.entry).toMatchObject({ kind: 'plan', title: 'Log in with a key', sha256: taken['planSha256'] });
    // The user's next message does not go there without being asked.
    await expect(findOpenLine(project)).rejects.toMatchObject({ code: 'NO_OPEN_SESSION' });
    await expectNoFault();
  });

  test("makes a plan in teddy's grammar wait for its execution", async () => {
    const plan = planOf([create('made.txt', 'new\n')]);
    const { answer, text } = await mcp.call('plan_submit', { plan, message: 'Add login' });
    expect(answer).toMatchObject({ session, turn: '01', kind: 'teddy', actions: 1, problems: [] });
    expect(answer['planSha256']).toBe(project.hash(plan));
    expect((await readLine(project.repository.store, await project.tipOf(line))).latest).toMatchObject({
      status: 'planned',
    });
    expect(text).toContain(`teddy show 01 -s ${line}`);
    expect(text).toContain(`teddy approve 01 -s ${line} --sha256 ${String(answer['planSha256']).slice(0, 12)}`);
    expect(text).toContain('Nothing was run.');
    expect(await project.read('made.txt')).toBe(null);
  });

  test("takes an invalid plan in teddy's grammar as Markdown, and gives the reason", async () => {
    const plan = planOf(['### CREATE\n- **File Path:** ../x\n\n```\nx\n```\n']);
    const taken = await submit({ plan });
    expect(taken).toMatchObject({ kind: 'markdown', actions: 0 });
    expect(taken['problems'].join()).toContain('../x');
  });

  test('continues a session in which no turn waits', async () => {
    await start(project);
    expect(await submit({ session })).toMatchObject({ session, turn: '01' });
    expect(await mcp.refuses('plan_submit', { plan: markdown, message: 'Again', session })).toMatch(
      /^TURN_OPEN: Turn 01 of[^]*teddy show 01 -s/,
    );
    await judge('rejected', session);
    expect(await submit({ session })).toMatchObject({ turn: '02' });
    const { text } = await mcp.call('plan_verdict', { session: line, turn: '02' });
    expect(text).toContain(`teddy approve 02 -s ${line}\n`);
    await judge('approved', session);
    await submit({ session, plan: planOf([create('a.txt')]) });
    expect(await mcp.refuses('plan_submit', { plan: markdown, message: 'Again', session })).toContain('PLAN_PENDING');
    await expectNoFault();
  });

  test('masks a secret before it is stored', async () => {
    project.secrets.set('sk-secret-123', 'key');
    const taken = await submit({
      plan: `# Use sk-secret-123\n`,
      message: 'Use sk-secret-123',
      title: 'Use sk-secret-123',
    });
    expect(taken).toMatchObject({ masked: 1, session: '20260124-plan' });
    const all = await project.repository.store.readFile(
      await project.tipOf(taken['line']),
      `.teddy/sessions/${taken['session']}/01/transcript.jsonl` as never,
    );
    expect(new TextDecoder().decode(all?.bytes)).toContain('[masked: key]');
    expect(new TextDecoder().decode(all?.bytes)).not.toContain('sk-secret');
  });

  test('refuses a plan that is empty, too long, or not text', async () => {
    expect(await mcp.refuses('plan_submit', { plan: ' \n', message: 'x' })).toContain('USAGE: The plan is empty');
    expect(await mcp.refuses('plan_submit', { plan: '# x', message: ' ' })).toContain('EMPTY_MESSAGE');
    expect(await mcp.refuses('plan_submit', { plan: 'a\0b', message: 'x' })).toContain('USAGE: plan');
    expect(await mcp.refuses('plan_submit', { plan: 'x'.repeat(2_000_001), message: 'x' })).toContain('USAGE: plan');
    expect(await mcp.refuses('plan_submit', { plan: '# x', message: 'x', session: '../..' })).toContain(
      'USAGE: session',
    );
    expect(await listSessions(project)).toEqual([]);
  });

  test('called several times simultaneously makes that many sessions', async () => {
    const taken = await Promise.all(Array.from({ length: 6 }, () => submit()));
    expect(new Set(taken.map((one) => one['session'])).size).toBe(6);
  });
});

describe('plan_verdict', () => {
  test('is waiting, rejected with comments, approved', async () => {
    await submit({ title: 'Add login' });
    expect(await verdictOf()).toMatchObject({ status: 'waiting', verdict: null, planSha256: project.hash(markdown) });
    await judge('rejected', session, 'Too vague.');
    const { answer, text } = await mcp.call('plan_verdict', { session, turn: '01' });
    expect(answer).toMatchObject({
      status: 'rejected',
      planSha256: project.hash(markdown),
      verdict: { text: 'Too vague.', comments: [{ line: 3, text: 'Which key?' }] },
    });
    expect(text).toContain('plan.md, line 3: Which key?');
    await submit({ session });
    await judge('approved', session);
    expect(await verdictOf('02')).toMatchObject({ status: 'approved', verdict: { text: null, comments: [] } });
    expect(await verdictOf('01')).toMatchObject({ status: 'rejected' });
  });

  test('waits for a verdict, reports that, and ends with the timeout, even if memory is collected', async () => {
    await submit({ title: 'Add login' });
    setFlagsFromString('--expose-gc');
    const collecting = setInterval(runInNewContext('gc') as () => void, 50);
    expect(await verdictOf('01', session, 1)).toMatchObject({ status: 'waiting' });
    clearInterval(collecting);
    const said: string[] = [];
    const waiting = mcp.client.callTool(
      { name: 'plan_verdict', arguments: { session, turn: '01', waitSeconds: 600 } },
      { onprogress: ({ message }) => said.push(message ?? '') },
    );
    await expect.poll(() => said).toEqual(['Turn 01 is waiting for a verdict.']);
    await judge('approved', session);
    expect((await waiting).structuredContent).toMatchObject({ status: 'approved' });
  });

  test('ends with the plan’s run, or a refusal, if nobody has left a verdict', async () => {
    const plan = planOf([create('made.txt', 'new\n')]);
    await mcp.call('plan_submit', { plan, message: 'Add login' });
    const waiting = mcp.client.callTool({ name: 'plan_verdict', arguments: { session, turn: '01', waitSeconds: 600 } });
    await project.switchTo(line);
    await run(project);
    const { structuredContent, content } = await waiting;
    expect(structuredContent).toMatchObject({ status: 'closed', outcome: 'SUCCESS', verdict: null });
    expect(JSON.stringify(content)).toContain('Turn 01 of 20260124-add-login: closed, SUCCESS');
    expect(await verdictOf('01', session, 600)).toMatchObject({ status: 'closed', outcome: 'SUCCESS' });
  });

  test('ends a cancelled call, and no longer looks at the branch', async () => {
    await submit({ title: 'Add login' });
    let looks = 0;
    const { store } = project.repository;
    const resolve = store.resolve.bind(store);
    store.resolve = (name) => {
      looks += 1;
      return resolve(name);
    };
    const stop = new AbortController();
    const waiting = mcp.client.callTool(
      { name: 'plan_verdict', arguments: { session, turn: '01', waitSeconds: 600 } },
      { signal: stop.signal },
    );
    const before = looks;
    await expect.poll(() => looks).toBeGreaterThan(before + 5);
    stop.abort();
    await expect(waiting).rejects.toThrow();
    await new Promise((done) => setTimeout(done, 50));
    const after = looks;
    await new Promise((done) => setTimeout(done, 50));
    expect(looks).toBe(after);
  });

  test('looks at a branch once for forty calls that wait for its plan', async () => {
    await submit({ title: 'Add login' });
    const waiting = Array.from({ length: 40 }, () => verdictOf('01', session, 600));
    const { store } = project.repository;
    const resolve = store.resolve.bind(store);
    let looks = 0;
    await new Promise((done) => setTimeout(done, 800));
    store.resolve = (name) => {
      looks += 1;
      return resolve(name);
    };
    await new Promise((done) => setTimeout(done, 100));
    expect(looks).toBeLessThan(50);
    await expect.poll(() => looks).toBeGreaterThan(0);
    await judge('approved', session);
    expect((await Promise.all(waiting)).every(({ status }) => status === 'approved')).toBe(true);
  });

  test('is none in a turn without a plan, and stops waiting when the line is deleted', async () => {
    await start(project);
    await say(project, 'Tell me', 'Words.');
    expect(await mcp.refuses('plan_verdict', { session, turn: '01' })).toContain('NO_PENDING_PLAN');
    const taken = await submit({ title: 'other' });
    const waiting = verdictOf('01', taken['session'], 600);
    await new Promise((done) => setTimeout(done, 100));
    const ref = `refs/heads/${taken['line']}` as never;
    await project.repository.store.updateRefs([{ ref, old: await project.tipOf(taken['line']), new: null }], 'gone');
    expect(await waiting).toMatchObject({ status: 'waiting' });
  });

  test('cannot be given by any tool', async () => {
    await submit({ title: 'Add login' });
    for (const { name } of (await mcp.client.listTools()).tools) {
      if (!name.startsWith('write_'))
        await mcp.client.callTool({ name, arguments: { session, turn: '01', verdict: 'approved' } });
    }
    const tip = await project.tipOf(line);
    expect(await readVerdicts(project, { tip, session: session as never, turn: '01' as never })).toEqual([]);
  });
});

describe('memos', () => {
  test('wait for the user as proposals, which no session sees', async () => {
    await addMemo(project, 'Use tabs');
    const { answer, text } = await mcp.call('memo_propose', { fact: "Use Ada's port" });
    expect(answer).toEqual({
      state: 'waits',
      fact: "Use Ada's port",
      accept: `teddy memo add -- 'Use Ada'\\''s port'`,
      refuse: `teddy memo remove -- 'Use Ada'\\''s port'`,
    });
    expect(text).toContain('waits for the user');
    await mcp.call('memo_propose', { fact: "Use Ada's port" });
    expect(await listMemos(project)).toEqual(['Use tabs']);
    expect((await mcp.call('memo_list')).answer).toMatchObject({ memos: ['Use tabs'], proposed: ["Use Ada's port"] });
    expect(await readStatus(project)).toMatchObject({ proposedMemos: 1 });
  });

  test('are accepted or dropped by the user', async () => {
    for (const fact of ['One', 'Two']) await mcp.call('memo_propose', { fact });
    await addMemo(project, 'One');
    expect(await listProposed(project)).toEqual(['Two']);
    await removeMemo(project, 'Two');
    expect(await listProposed(project)).toEqual([]);
    expect(await listMemos(project)).toEqual(['One']);
    expect((await mcp.call('memo_propose', { fact: 'One' })).answer).toMatchObject({ state: 'known' });
    await expect(removeMemo(project, 'Two')).rejects.toMatchObject({ code: 'UNKNOWN_MEMO' });
  });

  test('are all kept if they are proposed at the same time, up to fifty', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, at) => mcp.call('memo_propose', { fact: `Fact ${at}` })));
    expect(await listProposed(project)).toHaveLength(50);
    expect(await mcp.refuses('memo_propose', { fact: 'One more' })).toContain('50 memos are already proposed');
  });

  test('are refused if they are a secret, several lines or nothing', async () => {
    project.secrets.set('sk-secret-123', 'key');
    expect(await mcp.refuses('memo_propose', { fact: 'It is sk-secret-123' })).toContain('SECRET_FOUND');
    expect(await mcp.refuses('memo_propose', { fact: 'a\nb' })).toContain('USAGE: fact: must be one line');
    expect(await mcp.refuses('memo_propose', { fact: '  ' })).toContain('USAGE: The fact is empty');
    expect(await listProposed(project)).toEqual([]);
  });
});
