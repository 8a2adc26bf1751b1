/** Approving and rejecting plans, and the effect of `teddy.approvals` and `verify --require-approval`. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { TeddyError } from '../../../src/errors.ts';
import type { ApprovalRecord } from '../../../src/conversation/records/record.ts';
import { decodeEntry, type Entry } from '../../../src/session/entries/entry.ts';
import type { Oid, RefName, SessionId, TurnName } from '../../../src/names.ts';
import type { Signature } from '../../../src/ports/git.ts';
import { append } from '../../../src/workflow/line/append.ts';
import { appendVerdict, type JudgedPlan } from '../../../src/workflow/line/append-verdict.ts';
import { readVerdicts } from '../../../src/view/view.ts';
import { findPlan, giveVerdict, type VerdictRequest } from '../../../src/workflow/run/give-verdict.ts';
import { rewindTurn } from '../../../src/workflow/turn/rewind.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { approver, create, line, planOf, run, say, session, storyOfLine, turn } from '../../support/turns.ts';

let project: MemoryProject;

beforeEach(async () => {
  project = await given.session();
});

const give = (request: Partial<VerdictRequest> = {}) => giveVerdict(project, { verdict: 'approved', ...request });
const reject = (text: string, more: Partial<VerdictRequest> = {}) => give({ verdict: 'rejected', text, ...more });
const plan = (message = 'Do it') => say(project, message, planOf([create('b.txt')]));
const tipOf = async (ref = `refs/heads/${line}`) => (await project.repository.store.resolve(ref)) as Oid;
const verdictsOf = async (name: string) =>
  readVerdicts(project, { tip: await tipOf(), session: session as SessionId, turn: name as TurnName });
const be = (name: string) =>
  (project.identity.text = `${name} Example <${name.toLowerCase()}@example.org> 1769248800 +0000`);
const violations = async (requireApproval?: 'anybody' | 'others') =>
  (await verifySession(project, { target: line, all: false, fsck: false, requireApproval })).lines.flatMap((one) =>
    one.violations.map(({ rule, turn: name, message }) => `${rule} ${name ?? ''}: ${message}`),
  );

const lineOf = async () => (await findPlan(project, { verdict: 'approved' })).line;
const judgedPlan = async (): Promise<JudgedPlan> => {
  const { turn: name, text } = await findPlan(project, { verdict: 'approved' });
  return { turn: name, plan: Buffer.from(text), title: 'Do it', status: 'planned' };
};

describe('a verdict', () => {
  test('is one entry in its author’s name, and applies to the plan in that turn', async () => {
    await plan();
    be('Bob');
    const { verdict, isNew, report } = await give({ text: 'Fine.', comments: [{ line: 3, text: ' Nice. ' }] });
    expect({ isNew, report }).toEqual({ isNew: true, report: null });
    const [only] = await verdictsOf('01');
    expect(only).toEqual(verdict);
    expect(only).toMatchObject({
      verdict: 'approved',
      turn: '01',
      text: 'Fine.',
      comments: [{ line: 3, text: 'Nice.' }],
      author: { name: 'Bob Example', email: 'bob@example.org' },
    });
    const { message } = await project.repository.store.readCommit(await tipOf());
    expect(decodeEntry(message)).toMatchObject({
      kind: 'approval',
      turn: '01',
      verdict: 'approved',
      sha256: only?.planSha256,
      title: 'approved Do it',
      details: ['Fine.', 'line 3: Nice.'],
    });
    expect(await violations()).toEqual([]);
  });

  test('by the same person is not repeated, and one by another person is added', async () => {
    await plan();
    expect((await give({ text: 'Fine.' })).isNew).toBe(true);
    expect((await give({ text: ' Fine. ' })).isNew).toBe(false);
    expect((await give()).isNew).toBe(true);
    be('Bob');
    expect((await give()).isNew).toBe(true);
    expect(await verdictsOf('01')).toHaveLength(3);
  });

  test('may come after the turn has ended, without affecting its code and what follows', async () => {
    await turn(project, 'Do it', create('b.txt'));
    await turn(project, 'More', create('c.txt'));
    const before = await project.repository.store.readCommit(await tipOf());
    await give({ turn: '01', text: 'After the fact.' });
    expect(await verdictsOf('01')).toHaveLength(1);
    expect(await verdictsOf('02')).toEqual([]);
    const store = project.repository.store;
    const after = await store.readCommit(await tipOf());
    const changed = await store.diffTrees(before.tree, after.tree);
    expect(changed.map(({ path }) => path)).toEqual([`.teddy/sessions/${session}/01/transcript.jsonl`]);
    // Turn 01 still ends with its report, before turn 02 has changed anything.
    const { commit } = await rewindTurn(project, { turn: '01' });
    const entry = decodeEntry((await store.readCommit(commit)).message);
    expect(entry).toMatchObject({ kind: 'report', turn: '01' });
    expect(await violations()).toEqual([]);
  });

  test('needs a plan, the plan as it was read, and lines that exist in the plan', async () => {
    await expect(give()).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
    await plan();
    const { text, sha256 } = await findPlan(project, { verdict: 'approved' });
    const lines = text.split('\n').length - 1;
    await expect(give({ sha256: '0'.repeat(64) })).rejects.toMatchObject({ code: 'PLAN_REPLACED' });
    await expect(give({ comments: [{ line: lines + 1, text: 'x' }] })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(give({ comments: [{ line: 0, text: 'x' }] })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(give({ comments: [{ line: 1, text: ' ' }] })).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    await expect(reject('  ')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    await expect(give({ turn: '07' })).rejects.toMatchObject({ code: 'UNKNOWN_TURN' });
    expect(await verdictsOf('01')).toEqual([]);
    await give({ sha256: sha256.slice(0, 8).toUpperCase(), comments: [{ line: lines, text: 'x' }] });
    expect(await verdictsOf('01')).toHaveLength(1);
  });

  test('is refused if the file that a person reads differs from the published plan', async () => {
    await plan();
    const path = `.teddy/sessions/${session}/01/plan.md`;
    await project.write({ [path]: '# Something else\n' });
    await expect(give()).rejects.toMatchObject({ code: 'PLAN_MODIFIED' });
  });

  test('masks a secret', async () => {
    await plan();
    const secret = 'the key of the door';
    project.secrets.set(secret, 'key');
    await reject(`Not with ${secret}`, { comments: [{ line: 1, text: secret }] });
    const [verdict] = await verdictsOf('01');
    expect(JSON.stringify(verdict)).not.toContain(secret);
    expect(await violations()).toEqual([]);
  });
});

describe('a rejection', () => {
  test('closes the turn with a report that gives the reason, and the next request shows it', async () => {
    await plan();
    const { report } = await reject('Not like that.', { comments: [{ line: 3, text: 'Wrong.' }] });
    expect(report?.run_summary).toMatchObject({
      status: 'ABORTED',
      error: 'Not like that.\nplan.md, line 3: Wrong.',
    });
    expect((await storyOfLine(project)).slice(-2)).toEqual(['approval 01', 'report 01']);
    await say(project, 'Again', planOf([create('c.txt')]));
    const log = await project.repository.store.readFile(
      await tipOf(),
      `.teddy/sessions/${session}/02/_context.log` as never,
    );
    expect(Buffer.from(log?.bytes ?? []).toString()).toContain('plan.md, line 3: Wrong.');
    expect(await violations()).toEqual([]);
  });

  test('needs no files: the line need not be checked out', async () => {
    await plan();
    await project.switchTo('main');
    await reject('Not like that.', { selector: session });
    expect((await storyOfLine(project)).slice(-2)).toEqual(['approval 01', 'report 01']);
    // Nothing was run, so there is no code to undo.
    await expect(reject('No', { selector: session })).rejects.toMatchObject({
      hint: expect.stringContaining('teddy plan') as string,
    });
    expect(await violations()).toEqual([]);
  });

  test('of a finished run changes nothing', async () => {
    await turn(project, 'Do it', create('b.txt'));
    await expect(reject('No', { turn: '01' })).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
    await expect(give()).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
  });

  test('waits while another process executes the plan', async () => {
    await plan();
    const claim = await project.journals.claim({
      session: session as SessionId,
      turn: '01' as TurnName,
      ref: `refs/heads/${line}` as RefName,
    });
    await expect(reject('No')).rejects.toMatchObject({ code: 'LOCKED' });
    await claim.release();
    expect((await reject('No')).report).not.toBeNull();
  });

  test('that a crash left without its report is finished by execute, which runs nothing', async () => {
    await plan();
    await appendVerdict(project, await lineOf(), await judgedPlan(), {
      verdict: 'rejected',
      text: 'No.',
      comments: [],
    });
    const { report } = await run(project);
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'No.' });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SKIPPED']);
  });
});

describe('teddy.approvals', () => {
  test('1: a flag needs an approval, and a yes at the prompt counts as one', async () => {
    project.configuration.set('teddy.approvals', '1');
    await plan();
    await expect(run(project)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
    await give();
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
    await plan('Again');
    expect((await run(project, { approver: approver() })).report.run_summary.status).toBe('SUCCESS');
    expect(await violations('anybody')).toEqual([]);
    expect(await violations('others')).toHaveLength(2);
  });

  test('others: neither the message’s author nor a yes at the prompt is enough', async () => {
    project.configuration.set('teddy.approvals', 'others');
    await plan();
    expect((await give()).isEnough).toBe(false);
    const refused = async () =>
      (await run(project, { approver: approver() }).catch((error: unknown) => error)) as TeddyError;
    expect(await refused()).toMatchObject({
      code: 'APPROVAL_MISSING',
      message: expect.stringContaining('(ada@example.org did)'),
    });
    expect((await refused()).hint).toMatch(/^Add a remote \(`git remote add origin <url>`\)\. Push the branch/);
    project.remotes.set('origin', { refs: new Map() } as never);
    expect((await refused()).hint).toMatch(/^Push the branch/);
    be('ADA');
    await give({ text: 'It is me.' });
    await expect(run(project)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
    be('Bob');
    expect((await give()).isEnough).toBe(true);
    be('Ada');
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
    expect(await violations('others')).toEqual([]);
  });

  test('others, with signatures: a name alone is not enough', async () => {
    project.configuration.set('teddy.approvals', 'others');
    await plan();
    be('Bob');
    await give();
    be('Ada');
    project.configuration.set('teddy.sign', 'true');
    await expect(run(project)).rejects.toMatchObject({
      code: 'APPROVAL_MISSING',
      message: expect.stringContaining('signature') as string,
    });
  });

  test('others: an address in another case is the same one, and an empty address does not count', async () => {
    project.configuration.set('teddy.approvals', 'others');
    await plan();
    for (const text of ['Bob <ADA@Example.ORG> 1769248800 +0000', 'Bob <> 1769248800 +0000']) {
      project.identity.text = text;
      await give({ text });
      be('Ada');
      await expect(run(project)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
    }
    expect(await verdictsOf('01')).toHaveLength(2);
  });

  test('others: a yes before a no no longer counts', async () => {
    project.configuration.set('teddy.approvals', 'others');
    await plan();
    be('Bob');
    await give();
    be('Carol');
    await appendVerdict(project, await lineOf(), await judgedPlan(), {
      verdict: 'rejected',
      text: 'No.',
      comments: [],
    });
    be('Ada');
    await give();
    await expect(run(project)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
    be('Carol');
    await give();
    be('Ada');
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
  });

  test.each<[string, Partial<Entry>, Partial<ApprovalRecord>]>([
    ['a record of a no', {}, { verdict: 'rejected' }],
    ['the sha256 of another plan', { sha256: 'a'.repeat(64) }, { plan_sha256: 'a'.repeat(64) }],
    ['a record for another plan', {}, { plan_sha256: 'a'.repeat(64) }],
  ])('an approval with %s does not count', async (_, inEntry, inRecord) => {
    project.configuration.set('teddy.approvals', '1');
    await plan();
    const { plan: bytes } = await judgedPlan();
    const [id, sha256] = [project.ids.entryId(), project.hash(bytes)];
    await append(project, await lineOf(), ({ entry: { created } }) => {
      const said = { id, timestamp: created, verdict: 'approved' as const, plan_sha256: sha256, comments: [] };
      const record: ApprovalRecord = { type: 'approval', ...said, ...inRecord };
      const trailers = { sha256, verdict: 'approved' as const, ...inEntry };
      const label = { title: 'x', details: [] };
      return [{ kind: 'approval', turn: '01' as TurnName, id, label, trailers, records: [record] }];
    });
    expect(await verdictsOf('01')).toEqual([]);
    await expect(run(project)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
    expect(await violations()).not.toEqual([]);
  });

  describe('others, with signatures', () => {
    const good = (name: string, key = name): Signature => ({
      state: 'good',
      keys: [key],
      signer: `${name}@example.org`,
    });
    let signatures: Map<Oid, Signature>;
    beforeEach(() => {
      signatures = new Map();
      project.configuration.set('teddy.approvals', 'others');
      project.configuration.set('teddy.sign', 'true');
      project.repository.store.checkSignatures = async () => signatures;
    });
    async function judge(message: Signature | null, name: string, approval: Signature | null): Promise<void> {
      await plan();
      const { parents } = await project.repository.store.readCommit(await tipOf());
      if (message !== null) signatures.set(parents[0] as Oid, message);
      be(name);
      const { verdict } = await give();
      if (approval !== null) signatures.set(verdict.commit, approval);
      be('Ada');
    }

    test('another person’s key is enough', async () => {
      await judge(good('ada'), 'Bob', good('bob'));
      expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
    });

    test.each<[string, Signature | null, Signature | null]>([
      ['the same key under another name', good('ada'), good('ada')],
      ['the same person’s other key', good('ada'), good('ada', 'second')],
      ['the same key in another person’s name', good('ada'), good('bob', 'ada')],
      ['no signature', good('ada'), null],
      ['a key that git does not trust', good('ada'), { ...good('eve'), state: 'unknown' }],
      ['an invalid signature', good('ada'), { ...good('bob'), state: 'bad' }],
      ['a signature without a key', good('ada'), { ...good('bob'), keys: [] }],
    ])('%s is not', async (_, message, approval) => {
      await judge(message, 'Bob', approval);
      await expect(run(project)).rejects.toMatchObject({
        code: 'APPROVAL_MISSING',
        message: expect.stringContaining('without a good signature from a key of their own') as string,
        hint: expect.stringContaining('teddy push') as string,
      });
    });

    test.each<[string, Signature | null, string]>([
      ['has none', null, 'plan --instead'],
      ['has an untrusted signature', { ...good('ada'), state: 'unknown' }, 'git log -1 --show-signature'],
      ['has an invalid signature', { ...good('ada'), state: 'bad' }, 'plan --instead'],
    ])('the message has to be attributable: this %s', async (_, message, wayOut) => {
      await judge(message, 'Bob', good('bob'));
      await expect(run(project)).rejects.toMatchObject({
        code: 'APPROVAL_MISSING',
        message: expect.stringContaining('the message has no good signature') as string,
        hint: expect.stringContaining(wayOut) as string,
      });
    });

    test('the same yes can be repeated with a signature', async () => {
      await judge(good('ada'), 'Bob', null);
      be('Bob');
      const { verdict, isNew } = await give();
      expect(isNew).toBe(true);
      signatures.set(verdict.commit, good('bob'));
      expect((await give()).isNew).toBe(false);
      be('Ada');
      expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
    });
  });

  test('a forged verdict in somebody else’s commit does not count', async () => {
    project.configuration.set('teddy.approvals', '1');
    await plan();
    const { store } = project.repository;
    const tip = await tipOf();
    const { tree, ...commit } = await store.readCommit(tip);
    const { sha256 } = decodeEntry(commit.message) ?? {};
    const batch = store.batch();
    const message = commit.message
      .replace('Teddy-Entry: plan', `Teddy-Entry: approval\nTeddy-Verdict: approved`)
      .replace(/Teddy-Entry-Id: \S+/, `Teddy-Entry-Id: ${project.ids.entryId()}`);
    const forged = await batch.commit({ tree, parents: [tip], ...(await store.ident()), message });
    await batch.flush();
    await store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: forged }], 'forged');
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await verdictsOf('01')).toEqual([]);
    expect(await violations()).toEqual([expect.stringContaining('has no record in the transcript')]);
    await expect(run(project)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
  });
});

test('a verdict on a turn that somebody has closed meanwhile is refused', async () => {
  await plan();
  const found = await lineOf();
  const judged = await judgedPlan();
  await run(project);
  const given = appendVerdict(project, found, judged, { verdict: 'approved', comments: [] });
  await expect(given).rejects.toMatchObject({
    code: 'REF_MOVED',
    hint: expect.stringContaining(`teddy show 01 -s ${line}`) as string,
  });
  expect(await verdictsOf('01')).toEqual([]);
});

test('verify demands an approval only for plans that were run', async () => {
  await plan();
  expect(await violations('anybody')).toEqual([]);
  await reject('No.');
  expect(await violations('anybody')).toEqual([]);
  await turn(project, 'Run it', create('b.txt'));
  expect(await violations('anybody')).toEqual(['approval 02: The plan was run without an approval.']);
  await give({ turn: '02', text: 'Seen in the pull request.' });
  expect(await violations('anybody')).toEqual([]);
  be('Bob');
  await give({ turn: '02' });
  expect(await violations('others')).toEqual([]);
});

describe('an agent', () => {
  const agent = { seen: 'Claude Code started this: CLAUDECODE is set.', pid: null };
  const execute = (by: 'user' | 'flag') => run(project, { approver: { ...approver(), by } });

  test('approves nothing, gets the reason, and may reject', async () => {
    await plan();
    project.agent.trace = agent;
    const refused = { code: 'AGENT_MAY_NOT_APPROVE', message: expect.stringContaining(agent.seen) as string };
    await expect(give()).rejects.toMatchObject(refused);
    await expect(findPlan(project, { verdict: 'approved' })).rejects.toMatchObject(refused);
    expect(await verdictsOf('01')).toEqual([]);
    expect((await reject('No.')).report).not.toBeNull();
  });

  test.each([
    ['1', 'user'],
    ['1', 'flag'],
    ['others', 'user'],
  ] as const)('cannot run a plan that needs an approval according to %s, by %s', async (needed, by) => {
    project.configuration.set('teddy.approvals', needed);
    await plan();
    project.agent.trace = agent;
    await expect(execute(by)).rejects.toMatchObject({ code: 'AGENT_MAY_NOT_APPROVE' });
    expect(await storyOfLine(project)).not.toContain('report 01');
  });

  test('runs a plan that a person has approved, or that needs no approval', async () => {
    await plan();
    project.agent.trace = agent;
    await execute('flag');
    await plan('More');
    project.configuration.set('teddy.approvals', '1');
    project.agent.trace = null;
    await give();
    project.agent.trace = agent;
    await execute('flag');
    expect(await storyOfLine(project)).toEqual(expect.arrayContaining(['report 01', 'report 02']));
  });

  test('approves if the user has allowed it', async () => {
    await plan();
    project.agent.trace = agent;
    project.configuration.set('teddy.agentsMayApprove', 'true');
    expect((await give()).isNew).toBe(true);
  });
});
