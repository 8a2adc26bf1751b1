/** The check of a change where git has merged or picked, and in a clone that lacks a line. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { judge } from '../../src/cli/render/checked-change.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Oid } from '../../src/names.ts';
import { checkChange } from '../../src/workflow/ci/check-change.ts';
import type { CheckRequest } from '../../src/workflow/ci/ci.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
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

const good = { ok: true, text: 'All sessions hold up.', faults: [], unproven: [] };
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
        `${session} has not been pushed as far as ${tip} (no remote has it). Push the session: \`teddy push -s ${session}\``,
      ]);
      expect((await check('pr', {}, there, false)).ok).toBe(true);
      const unseen = { ok: false, text: '1 landing could not be checked against the requirements.' };
      expect(await check('pr', { requireApproval: 'anybody' }, there, false)).toMatchObject(unseen);
      expect(await check('pr', {}, there, false, true)).toMatchObject(unseen);
    });
  });
});
