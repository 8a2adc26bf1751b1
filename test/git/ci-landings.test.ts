/**
 * The check of a change on real git: whose code a landing has, whether it was approved, and which code is outside any
 * session.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { judge } from '../../src/cli/render/checked-change.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Oid } from '../../src/names.ts';
import { checkChange, readBaseFile } from '../../src/workflow/ci/check-change.ts';
import type { CheckRequest } from '../../src/workflow/ci/ci.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { giveVerdict } from '../../src/workflow/run/give-verdict.ts';
import { undoTurn } from '../../src/workflow/turn/undo.ts';
import { copyScratchRepository, makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, edit, planOf, run, say, start } from '../support/turns.ts';

let repo: ScratchRepository;
let project: Project;
let session: string;
let line: string;

let first: ScratchRepository;
beforeAll(async () => {
  first = await makeScratchRepository({ 'README.md': 'one\ntwo\nthree\nfour\nfive\n' });
  const opened = await open(first.root);
  ({ session } = await start(opened));
  line = `teddy/${session}`;
  await say(opened, 'One', planOf([create('a.txt'), edit('README.md', 'one', 'ONE')]));
  await run(opened);
  await opened.repository.close();
  await first.git('branch', 'pr', 'main');
});
afterAll(() => first.close());
beforeEach(async () => {
  repo = await copyScratchRepository(first);
  project = await open(repo.root);
});
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

function open(cwd: string, env = process.env): Promise<Project> {
  return openProject({ cwd, env, notices: { info: () => undefined, warn: () => undefined } });
}

async function land(onto = 'pr', target = line): Promise<Oid> {
  const { commit } = await landSession(project, { target, onto });
  return commit as Oid;
}

async function check(head = 'pr', more: Partial<CheckRequest> = {}, on = project, strict = true, needsSession = false) {
  const signal = new AbortController().signal;
  const usual = { targets: [], runsCommands: false, signedBy: undefined, requireApproval: undefined, signal };
  const checked = await checkChange(on, { ...usual, range: { base: 'main', head }, ...more });
  const hasPolicy = checked.approval !== null;
  const { ok, text, hints } = judge(checked, { isStrict: strict, needsSession, hasPolicy });
  const [landing] = checked.landings;
  const faults = landing?.faults.map(({ path, message }) => `${path ?? ''}: ${message}`);
  return { ok, text, hints, faults, unproven: landing?.unproven, checked };
}

/** Another commit in place of a landing: its message and parent, and the current files with these changes. */
async function forge(landing: Oid, files: Record<string, string | null>): Promise<string> {
  await repo.git('switch', '--quiet', '--detach', landing);
  for (const [path, text] of Object.entries(files))
    if (text === null) await repo.git('rm', '--quiet', path);
    else await repo.write(path, text);
  await repo.git('add', '--all');
  const tree = await repo.git('write-tree');
  const message = await repo.git('log', '-1', '--format=%B', landing);
  const forged = await repo.git('commit-tree', tree, '-p', `${landing}^`, '-m', message);
  await repo.git('switch', '--quiet', '--force', line);
  return forged;
}

const good = { ok: true, text: 'All sessions hold up.', faults: [], unproven: [] };
const strange = 'The content in the landing comes neither from its session nor from the commit before it.';

describe('a landing’s code', () => {
  test('is its session’s, even after the branch has moved, in a second landing, and when an undo lands', async () => {
    await land();
    expect(await check()).toMatchObject(good);
    await say(project, 'Two', planOf([create('b.txt')]));
    await run(project);
    await repo.git('switch', '--quiet', 'pr');
    await repo.commit({ 'README.md': 'ONE\ntwo\nthree\nfour\nFIVE\n' }, 'By hand');
    await repo.git('switch', '--quiet', line);
    await land();
    await undoTurn(project, { selector: line });
    await land();
    const { checked, text } = await check();
    expect(text).toBe('All sessions hold up. 1 commit without a session: not checked.');
    expect(checked.landings.map(({ faults, unproven }) => [...faults, ...unproven])).toEqual([[], [], []]);
  });

  test('has exactly its session’s changes: none more, none fewer, none different, none in .teddy', async () => {
    const landing = await land();
    const left = 'The landing leaves out the changes that its session made to it.';
    for (const [files, path, message = strange] of [
      [{ 'evil.txt': 'evil\n' }, 'evil.txt'],
      [{ 'a.txt': 'evil\n' }, 'a.txt'],
      [{ 'a.txt': null }, 'a.txt', left],
      [{ '.teddy/config.yaml': 'approvals: others\n' }, '.teddy/config.yaml'],
    ] as const)
      expect(await check(await forge(landing, files))).toMatchObject({
        ok: false,
        text: '1 landing is not what the session produces.',
        faults: [`${path}: ${message}`],
      });
  });

  test('is compared if a forge has squashed two landings into one commit, or rebased them', async () => {
    await land();
    await say(project, 'Two', planOf([create('b.txt')]));
    await run(project);
    await land();
    const messages = await repo.git('log', '--reverse', '--format=%B', 'main..pr');
    const squash = await repo.git('commit-tree', 'pr^{tree}', '-p', 'main', '-m', `Squashed (#1)\n\n${messages}`);
    expect(await check(squash)).toMatchObject(good);
    await repo.git('switch', '--quiet', '--detach', 'main');
    await repo.commit({ 'other.txt': 'other\n' }, 'Meanwhile');
    await repo.git('branch', 'moved');
    await repo.git('cherry-pick', 'main..pr');
    const rebased = await repo.git('rev-parse', 'HEAD');
    await repo.git('switch', '--quiet', line);
    expect(await check(rebased, { range: { base: 'moved', head: rebased } })).toMatchObject(good);
  });

  test('is compared if it was cherry-picked to a branch that is behind the session’s base', async () => {
    await repo.git('switch', '--quiet', '--create', 'release', 'main');
    await repo.git('switch', '--quiet', 'main');
    await repo.commit({ 'other.txt': 'other\n' }, 'Meanwhile');
    await newSession(project, { name: 'later', switch: true });
    await say(project, 'Later', planOf([create('b.txt')]));
    await run(project);
    await land('main', 'later');
    await repo.git('switch', '--quiet', 'release');
    await repo.git('cherry-pick', 'main');
    const picked = await repo.git('rev-parse', 'HEAD');
    await repo.git('switch', '--quiet', line);
    expect(await check(picked, { range: { base: 'release~', head: picked } })).toMatchObject(good);
    // The second of two landings, without the first.
    await land();
    await say(project, 'Two', planOf([create('c.txt')]), { selector: line });
    await run(project, { selector: line });
    await land();
    await repo.git('switch', '--quiet', 'release');
    await repo.git('cherry-pick', 'pr');
    const second = await repo.git('rev-parse', 'HEAD');
    await repo.git('switch', '--quiet', line);
    expect(await check(second, { range: { base: picked, head: second } })).toMatchObject(good);
  });

  test('is not proven after a manual merge, and a file without a conflict is a fault', async () => {
    await repo.git('switch', '--quiet', 'pr');
    await repo.commit({ 'README.md': 'uno\ntwo\nthree\nfour\nfive\n' }, 'By hand');
    await repo.git('switch', '--quiet', line);
    await expect(land()).rejects.toMatchObject({ code: 'LAND_CONFLICT' });
    const tip = await repo.git('rev-parse', line);
    await repo.git('switch', '--quiet', 'pr');
    await repo.commit(
      { 'README.md': 'ONE, uno\ntwo\nthree\nfour\nfive\n', 'a.txt': 'a.txt\n' },
      `Do it\n\nTeddy-Landed-From: ${session}@${tip}`,
    );
    const solved = (await repo.git('rev-parse', 'pr')) as Oid;
    const byHand = { faults: [], unproven: ['a person has merged README.md'] };
    expect(await check()).toMatchObject({
      ...byHand,
      ok: false,
      text: 'Nothing differs, but not everything is proven. 1 commit without a session: not checked.',
    });
    expect(await check('pr', {}, project, false)).toMatchObject({
      ok: true,
      text: 'Nothing differs. --no-strict let the unproven parts pass. 1 commit without a session: not checked.',
    });
    expect(await check(await forge(solved, { 'evil.txt': 'evil\n' }), {}, project, false)).toMatchObject({
      ...byHand,
      ok: false,
      faults: [`evil.txt: ${strange}`],
    });
  });

  test('belongs to the session that the landing names', async () => {
    const landing = await land();
    const tip = await repo.git('rev-parse', line);
    const message = await repo.git('log', '-1', '--format=%B', landing);
    const named = message.replace(`${session}@`, '20260124-another@');
    const forged = await repo.git('commit-tree', `${landing}^{tree}`, '-p', 'main', '-m', named);
    const { ok, faults } = await check(forged);
    expect(ok).toBe(false);
    expect(faults).toEqual([
      `: The landing names 20260124-another at ${tip.slice(0, 10)}, which is a commit of ${session}.`,
    ]);
  });
});

describe('a landing’s approvals', () => {
  const others = { requireApproval: 'others' } as const;

  /** Somebody else, who did not write the message. */
  async function approve(turn: string): Promise<void> {
    const bob = { GIT_AUTHOR_EMAIL: 'bob@example.org', GIT_COMMITTER_EMAIL: 'bob@example.org' };
    const his = await open(repo.root, { ...process.env, ...bob });
    await giveVerdict(his, { selector: line, turn, verdict: 'approved' });
    await his.repository.close();
  }

  test('are required, may come later on the line, and are reported separately', async () => {
    await land();
    const missing = await check('pr', others);
    expect(missing).toMatchObject({ ok: false, text: '1 approval is missing.', faults: [] });
    expect(missing.hints).toEqual([
      `Somebody who did not write the message: \`teddy session approve 01 -s ${session}\`.`,
      `Then \`teddy session push -s ${session}\`.`,
    ]);
    await approve('01');
    expect(await check('pr', others)).toMatchObject(good);
  });

  test('are those that the base branch requires, whatever the change says', async () => {
    await repo.git('switch', '--quiet', 'main');
    await repo.commit({ '.teddy/config.yaml': 'approvals: others\n' }, 'Ask for approvals');
    await repo.git('branch', '--force', 'pr', 'main');
    await repo.git('switch', '--quiet', 'pr');
    await repo.commit({ '.teddy/config.yaml': 'approvals: 1\n' }, 'Ask for less');
    await repo.git('switch', '--quiet', line);
    await land();
    expect(await check()).toMatchObject({
      ok: false,
      text: '1 approval is missing. 1 commit without a session: not checked.',
      checked: { approval: { needed: 'others', isFromBase: true } },
    });
  });

  test('are not required again if the base branch has the turn already', async () => {
    await repo.git('branch', '--force', 'main', await land());
    await repo.git('branch', '--force', 'pr', 'main');
    await say(project, 'Two', planOf([create('b.txt')]));
    await run(project);
    await approve('02');
    await land();
    expect(await check('pr', others)).toMatchObject(good);
  });
});

describe('a line that is missing from the clone', () => {
  let outside: string;
  beforeEach(async () => {
    outside = await mkdtemp(join(tmpdir(), 'teddy-ci-'));
    await land();
  });
  afterEach(() => rm(outside, { recursive: true }));

  /** A clone with only the two branches, as after pushing them, whose origin has these refs. */
  async function inClone(refs: string[], use: (there: Project) => Promise<void>): Promise<void> {
    const [origin, clone] = [join(outside, 'origin.git'), join(outside, 'clone.git')];
    await repo.git('init', '--quiet', '--bare', origin);
    await repo.git('push', '--quiet', origin, 'main', 'pr');
    await repo.git('clone', '--quiet', '--bare', origin, clone);
    if (refs.length > 0) await repo.git('push', '--quiet', origin, ...refs);
    const there = await open(clone);
    const before = await there.repository.store.listRefs('refs/');
    try {
      await use(there);
      expect(await there.repository.store.listRefs('refs/')).toEqual(before);
    } finally {
      await there.repository.close();
    }
  }

  test('is fetched wherever it is open, archived, or renamed, and leaves no ref', async () => {
    const archive = await repo.git('for-each-ref', '--format=%(refname)', 'refs/teddy/archive');
    for (const ref of [`refs/heads/${line}`, archive, `refs/heads/${line}:refs/heads/own-name`]) {
      await inClone([ref], async (there) => expect(await check('pr', {}, there)).toMatchObject(good));
      await Promise.all(['origin.git', 'clone.git'].map((name) => rm(join(outside, name), { recursive: true })));
    }
  });

  test('is not proven if no remote has it, which fails unless that is allowed', async () => {
    await inClone([], async (there) => {
      const found = await check('pr', {}, there);
      const tip = (await repo.git('rev-parse', line)).slice(0, 10);
      expect(found).toMatchObject({ ok: false, text: 'Nothing differs, but not everything is proven.', faults: [] });
      expect(found.unproven).toEqual([
        `${session} has not been pushed as far as ${tip} (no remote has it). Push the session: \`teddy session push -s ${session}\``,
      ]);
      expect((await check('pr', {}, there, false)).ok).toBe(true);
      const unseen = { ok: false, text: '1 landing could not be checked against the requirements.' };
      expect(await check('pr', { requireApproval: 'anybody' }, there, false)).toMatchObject(unseen);
      expect(await check('pr', {}, there, false, true)).toMatchObject(unseen);
    });
  });
});

describe('code outside any session', () => {
  test('is counted: own commits, and merges that differ from git’s result, but no plain merge', async () => {
    await repo.git('switch', '--quiet', 'main');
    await repo.commit({ 'other.txt': 'other\n' }, 'Meanwhile');
    await repo.git('switch', '--quiet', 'pr');
    await repo.commit({ 'own.txt': 'own\n' }, 'By hand');
    await repo.git('merge', '--quiet', '--no-edit', 'main');
    const text = 'There is no teddy session in this change. 1 commit without a session: not checked.';
    expect(await check()).toMatchObject({ ok: true, text });
    const wanted = '1 commit without a session, but --require-session requires one.';
    expect(await check('pr', {}, project, true, true)).toMatchObject({ ok: false, text: wanted });
    await repo.write('evil.txt', 'evil\n');
    await repo.git('add', '--all');
    await repo.git('commit', '--quiet', '--amend', '--no-edit');
    expect((await check()).checked.unrecorded).toBe(2);
    await repo.git('switch', '--quiet', line);
  });

  test('is a squash with a session’s files: it is named, with the remedy', async () => {
    await repo.git('switch', '--quiet', 'pr');
    await repo.git('merge', '--quiet', '--squash', line);
    await repo.git('commit', '--quiet', '-m', 'Squashed');
    const squash = await repo.git('rev-parse', 'HEAD');
    await repo.commit({ 'own.txt': 'own\n' }, 'By hand');
    await repo.git('switch', '--quiet', line);
    const { ok, text, hints, checked } = await check();
    expect({ ok, squashes: checked.squashes }).toEqual({ ok: false, squashes: [{ commit: squash, session }] });
    expect(text).toMatch(/^Session files came without the commits that made them\./);
    expect(hints).toEqual([
      `Take ${squash.slice(0, 10)} and land the code without \`.teddy/\`: \`teddy session land ${session}\`.`,
    ]);
  });
});

test('keys are read from the base branch, and the change’s own file is ignored', async () => {
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'keys/allowed': 'of the base\n' }, 'Keys');
  await repo.git('switch', '--quiet', '--create', 'change');
  await repo.commit({ 'keys/allowed': 'of the change\n', 'keys/mine': 'mine\n' }, 'Other keys');
  expect(await readBaseFile(project, 'main', 'keys/allowed')).toBe('of the base\n');
  for (const path of ['keys/mine', '../keys', '/etc/hostname'])
    expect(await readBaseFile(project, 'main', path)).toBe(null);
  await repo.git('switch', '--quiet', line);
});
