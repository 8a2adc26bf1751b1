/** Another repository offers lines: honest ones are accepted, and forged ones stay out, beside them. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { TreeEntry } from '../../../src/ports/git.ts';
import { globalRef, type Oid, type RefName, type RepoPath } from '../../../src/names.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { checkIncoming, type CheckedIncoming, type IncomingRef } from '../../../src/workflow/sharing/check-incoming.ts';
import { readIncomingName } from '../../../src/workflow/sharing/check-incoming.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { listSteps, tamper, type Tampering } from '../../support/tampering.ts';
import { create, edit, line, session, start, turn } from '../../support/turns.ts';
import { expectLinear } from '../../support/growth.ts';

const ref = `refs/heads/${line}` as RefName;
const dir = `.teddy/sessions/${session}`;
let project: MemoryProject;
let main: Oid;
let tip: Oid;
let other: IncomingRef;
let globalTip: Oid;

beforeAll(async () => {
  project = await memoryProject({ 'README.md': '# Notes\n', 'src/a.ts': 'one\ntwo\n' });
  main = await project.tipOf('main');
  const beside = await newSession(project, { name: 'beside', switch: false });
  await start(project);
  await turn(project, 'Edit', edit('src/a.ts', 'one', 'uno'));
  await turn(project, 'Create', create('two.txt'));
  tip = await project.tipOf(line);
  other = { ref: beside.ref, tip: beside.commit, local: null };
  globalTip = await project.tipOf('teddy/global');
  await project.switchTo('main');
});

beforeEach(() => setRefs({}));

/** Exactly these branches beside `main`. */
async function setRefs(refs: Record<string, Oid>): Promise<void> {
  const { store } = project.repository;
  const here = (await store.listRefs('refs/heads/')).filter((one) => one.ref !== 'refs/heads/main');
  await store.updateRefs(
    here.map((one) => ({ ref: one.ref, old: one.oid, new: null })),
    'test',
  );
  await store.updateRefs(
    Object.entries(refs).map(([name, oid]) => ({ ref: name as RefName, old: null, new: oid })),
    'test',
  );
}

/** Checked together with an honest line, which has to be accepted; returns why the other one was refused. */
async function refusalOf(one: Partial<IncomingRef>): Promise<CheckedIncoming['refused'][number] | undefined> {
  const before = await project.repository.store.listRefs('refs/');
  const incoming = { ref, tip, local: null, ...one };
  const { accepted, refused } = await checkIncoming(project, [incoming, other]);
  expect(accepted).toEqual(refused.length === 0 ? [incoming.ref, other.ref] : [other.ref]);
  expect(await project.repository.store.listRefs('refs/')).toEqual(before);
  return refused[0];
}

async function commitTree(entries: TreeEntry[], parents: Oid[], message: string): Promise<Oid> {
  const batch = project.repository.store.batch();
  const tree = await batch.tree(entries);
  const commit = await batch.commit({ tree, parents, ...(await project.repository.store.ident()), message });
  await batch.flush();
  return commit;
}

async function blob(text: string): Promise<Oid> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(text);
  await batch.flush();
  return oid;
}

const bytes = (text: string) => new TextEncoder().encode(text);
async function tampered(kind: string, change: Partial<Tampering>): Promise<Oid> {
  const steps = await listSteps(project, tip);
  const at = steps.find(({ entry }) => entry?.kind === kind)?.oid as Oid;
  const path = `${dir}/01/plan.md` as RepoPath;
  return tamper(project, tip, at, [{ path, bytes: bytes('# Another\n'), ...change }]);
}

test('an honest line, new or ahead of the local one, and an honest teddy/global are accepted', async () => {
  expect(await refusalOf({})).toBeUndefined();
  expect(await refusalOf({ ref: `refs/teddy/archive/2026-01/${session}` as RefName })).toBeUndefined();
  expect(await refusalOf({ ref: globalRef, tip: globalTip })).toBeUndefined();
  const steps = await listSteps(project, tip);
  const half = steps[3]?.oid as Oid;
  await setRefs({ [ref]: half });
  expect(await refusalOf({ local: half })).toBeUndefined();
  const mine = await commitTree(
    (await project.repository.store.readDir(half, '' as RepoPath))?.entries ?? [],
    [half],
    'Mine\n',
  );
  await setRefs({ [ref]: mine });
  expect(await refusalOf({ local: mine })).toBeUndefined();
});

test('the paths in several commits are counted in parallel, since each count waits for git', async () => {
  const { store } = project.repository;
  let [now, most] = [0, 0];
  const readTree = async (oid: Oid) => {
    now += 1;
    most = Math.max(most, now);
    await new Promise(setImmediate);
    now -= 1;
    return store.readTree(oid);
  };
  const counting = { ...project, repository: { ...project.repository, store: { ...store, readTree } } };
  expect((await checkIncoming(counting, [{ ref, tip, local: null }])).accepted).toEqual([ref]);
  expect(most).toBeGreaterThan(4);
});

const keys = (count: number) => Array.from({ length: count }, (_, at) => `a${at}: &a${at} 'x'\n`).join('');
const said = '{"type":"note","id":"n","timestamp":"2026-01-24T10:00:00.000Z","text":"x"}';

/** Each is a fault in its own line, named with the excess; `refusalOf` sees the other line accepted. */
test.each([
  ['anchors in a report', 'report', 'report.md', keys(16_000), /line 1: it has an anchor/],
  ['equal keys in a report', 'report', 'report.md', "a: 'x'\na: 'x'\n", /"a" appears twice/],
  ['a report with more parts than any', 'report', 'report.md', `a: [${'x, '.repeat(150_000)}]\n`, /250,000 parts/],
  ['anchors in the front matter of a log', 'message', '_context.log', `---\n${keys(16_000)}---\n`, /anchor/],
  ['a list of endless lines', 'message', 'turn.context', `${'x'.repeat(70_000)}\n`, /70,000 characters/],
  ['a list of more lines than any', 'message', 'turn.context', 'x\n'.repeat(1_000_001), /1,000,001 lines/],
  ['equal keys in a transcript', 'message', 'transcript.jsonl', said.replace('"id"', '"id":"m","id"'), /twice/],
  ['a transcript of more lines than any', 'message', 'transcript.jsonl', '\n'.repeat(1_000_001), /1,000,000 lines/],
] as const)('%s keep their line out, and no other one', async (_what, kind, name, text, expected) => {
  const hostile = await tampered(kind, { path: `${dir}/01/${name}` as RepoPath, bytes: bytes(text) });
  const refusal = await refusalOf({ tip: hostile });
  expect(refusal?.violations.map(({ message }) => message).join('\n')).toMatch(expected);
});

test('anchors in a line’s memos, and trailers without end, keep the line out, and no other one', async () => {
  const memos = await tampered('message', { path: '.teddy/memos.yaml' as RepoPath, bytes: bytes('- &a x\n') });
  expect((await refusalOf({ tip: memos }))?.violations[0]?.message).toMatch(/line 1: it has an anchor \(&a\)/);
  const message = (text: string) => `${text}${'Teddy-Model: x\n'.repeat(10_000)}`;
  const long = await tampered('plan', { message });
  expect((await refusalOf({ tip: long }))?.reason).toMatch(/Its trailers have 150,\d+ characters/);
});

test.each([
  ['a file in a turn that differs from its signature', 'plan', {}, /Teddy-Sha256/],
  ['a published file that a later entry rewrites', 'report', {}, /plan\.md/],
  [
    'a link below .teddy',
    'report',
    { path: `${dir}/01/report.md` as RepoPath, mode: '120000' as const },
    /symbolic link/,
  ],
  ['.teddy in another spelling', 'report', { path: '.Teddy/memos.yaml' as RepoPath }, /another spelling/],
  [
    'another session’s trailers',
    'report',
    {
      path: 'a.md' as RepoPath,
      message: (text: string) => text.replace(/^Teddy-Session: .*$/m, 'Teddy-Session: 20260124-beside'),
    },
    /20260124-beside/,
  ],
  [
    'an unknown kind of entry',
    'message',
    { path: 'a.md' as RepoPath, message: (text: string) => text.replace(/^Teddy-Entry: .*$/m, 'Teddy-Entry: report') },
    /.+/,
  ],
])('a line with %s is refused', async (_, kind, change, reason) => {
  const refusal = await refusalOf({ tip: await tampered(kind, change) });
  expect(refusal).toMatchObject({ ref, reason: expect.stringMatching(reason) });
  expect(refusal?.violations.length).toBeGreaterThan(0);
});

test.each([
  ['capitals', 'refs/heads/teddy/20260124-Add-login', /not a valid session name/],
  ['no session', 'refs/heads/teddy/add-login', /not a valid session name/],
  ['two dots', 'refs/heads/teddy/20260124-a..b', /not a valid session name/],
  ['another place', 'refs/heads/main', /not a valid session name/],
  ["another month than its session's", 'refs/teddy/archive/2026-02/20260124-add-login', /not a valid session name/],
  ['a folder of its own', 'refs/teddy/archive/2026-01/x/20260124-add-login', /not a valid session name/],
  ['no month before it', 'refs/teddy/archive/20260124-add-login', /not a valid session name/],
  ['a turn number that is too high', `${ref}--${'9'.repeat(30)}-branch-01`, /turn/],
  ['a name that is too long', `refs/heads/teddy/20260124-${'a'.repeat(200)}`, /too long/],
])('a ref whose name has %s is refused', async (_, name, reason) => {
  expect(await refusalOf({ ref: name as RefName })).toMatchObject({ reason: expect.stringMatching(reason) });
});

test('a ref that git could not store beside one of the user’s is refused', () => {
  for (const mine of [`${ref}/mine`, 'refs/heads/teddy/20260124-Add-Login', 'refs/heads/teddy', `${ref.toUpperCase()}`])
    expect(readIncomingName(ref, ['refs/heads/teddy-x', mine])).toBe(`${mine} is in the way`);
  expect(readIncomingName(ref, [ref, `${ref}-2`, 'refs/heads/main', `${ref}--01-branch-01`])).toEqual({
    session,
    isBranch: false,
  });
});

test('a line from another session, without a session or a start, or that is not a commit is refused', async () => {
  expect(await refusalOf({ tip: other.tip })).toMatchObject({
    reason: `none of its commits is an entry of ${session}`,
  });
  expect(await refusalOf({ tip: main })).toMatchObject({ reason: `none of its commits is an entry of ${session}` });
  const { store } = project.repository;
  const { tree } = await store.readCommit(tip);
  expect(await refusalOf({ tip: tree })).toMatchObject({ reason: expect.stringMatching(/cannot be read/) });
  const root = (await store.readDir(tip, '' as RepoPath))?.entries ?? [];
  const headless = await commitTree(root, [main], (await store.readCommit(tip)).message);
  expect(await refusalOf({ tip: headless })).toMatchObject({ reason: 'it has no start' });
  // A local commit does not make it one either, if it is the code below the session.
  await setRefs({ [ref]: tip });
  expect(await refusalOf({ tip: headless, local: tip })).toMatchObject({ reason: 'it has no start' });
});

test('another session under the name of a local or earlier one is refused', async () => {
  const { store } = project.repository;
  const steps = await listSteps(project, tip);
  const first = steps[0]?.oid as Oid;
  const message = (await store.readCommit(first)).message.replace(
    /^Teddy-Entry-Id: .*$/m,
    'Teddy-Entry-Id: 019bf000-0000-7000-8000-00000000f00d',
  );
  const forged = await commitTree((await store.readDir(first, '' as RepoPath))?.entries ?? [], [main], message);
  const reason = 'it is a different session with the same name';
  const branch = `${ref}--01-branch-01` as RefName;
  const { accepted, refused } = await checkIncoming(project, [
    { ref: branch, tip: forged, local: null },
    { ref, tip, local: null },
  ]);
  expect({ accepted, refused }).toMatchObject({ accepted: [ref], refused: [{ ref: branch, reason }] });
  await setRefs({ [ref]: tip });
  expect(await refusalOf({ tip: forged, local: tip })).toMatchObject({ reason });
});

test('a link in place of .teddy/sessions in the code below the line is refused', async () => {
  const { store } = project.repository;
  const link = { mode: '120000' as const, name: 'elsewhere', oid: await blob('/etc') };
  const [own] = ((await store.readDir(tip, '' as RepoPath))?.entries ?? []).filter(({ name }) => name === '.teddy');
  const root = [...((await store.readDir(main, '' as RepoPath))?.entries ?? []), { ...(own as TreeEntry) }];
  const batch = store.batch();
  const sessions = await batch.tree([link]);
  const teddy = await batch.tree([{ mode: '40000', name: 'sessions', oid: sessions }]);
  await batch.flush();
  const base = await commitTree(
    root.map((entry) => (entry.name === '.teddy' ? { ...entry, oid: teddy } : entry)),
    [main],
    'Base\n',
  );
  await setRefs({ 'refs/heads/bad': base });
  await project.switchTo('bad');
  const made = await newSession(project, { name: 'on-bad', switch: false });
  await project.switchTo('main');
  await setRefs({});
  expect(await refusalOf({ ref: made.ref, tip: made.commit })).toMatchObject({
    violations: [{ rule: 'path', path: '.teddy/sessions/elsewhere' }],
  });
});

test('teddy/global with anything except its three kinds of small plain files is refused', async () => {
  const text = await blob('text\n');
  const file = (name: string, oid = text, mode: TreeEntry['mode'] = '100644') => ({ mode, name, oid });
  const cases: [TreeEntry[], RegExp][] = [
    [[file('run.sh')], /no such file/],
    [[file('memos.yaml', text, '120000')], /not a plain file/],
    [[file('memos.yaml', await blob('a: {b: c}\n'))], /cannot be read/],
    [[file('memos.yaml', await blob(`${'['.repeat(2000)}\n`))], /cannot be read/],
    [[file('global.context', await blob('x'.repeat(1024 * 1024 + 1)))], /at most/],
  ];
  for (const [entries, reason] of cases) {
    const commit = await commitTree(entries, [globalTip], 'global: bad\n');
    expect(await refusalOf({ ref: globalRef, tip: commit })).toMatchObject({ reason: expect.stringMatching(reason) });
  }
});

test('a secret in a line is only a notice, and four times as many names take four times as long', async () => {
  project.secrets.set('# Notes', 'token');
  const secret = await tampered('report', { path: 'c.md' as RepoPath, bytes: bytes('# Notes\n') });
  project.said.length = 0;
  const refusal = await refusalOf({ tip: secret });
  project.secrets.clear();
  expect(refusal?.violations.some(({ rule }) => rule === 'secret') ?? false).toBe(false);
  expect(project.said).toEqual(refusal === undefined ? [expect.stringMatching(/holds a secret/)] : []);
  const namesOf = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ ref: `refs/heads/teddy/x${at}` as RefName, tip, local: null }));
  await expectLinear(10_000, namesOf, async (many) =>
    expect((await checkIncoming(project, [...many, other])).refused).toHaveLength(many.length),
  );
});
