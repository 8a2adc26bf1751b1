/** Pulls on real git into work trees with lines checked out. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { pullSessions } from '../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../src/workflow/sharing/push-sessions.ts';
import { syncSessions } from '../../src/workflow/sharing/sync-sessions.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, planOf, run, say } from '../support/turns.ts';

const request = { all: true, signal: new AbortController().signal };
const notices = { info: () => undefined, warn: () => undefined };
const names = ['clean', 'dirty', 'elsewhere'];

let dir: string;
let ada: Project;
let bea: Project;
let here: ScratchRepository;
const branches: Record<string, string> = {};

beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-pull-')));
  const source = await makeScratchRepository();
  await source.commit({ 'a.txt': 'a\n' });
  gitText(dir, ['clone', '--quiet', '--bare', source.root, 'shared.git']);
  await source.close();
  [ada, bea] = [await openClone('ada'), await openClone('bea')];
  here = openScratchRepository(join(dir, 'bea'));
  for (const name of names) branches[name] = `teddy/${(await newSession(ada, { name, switch: false })).session}`;
  await syncSessions(ada, request);
  await pullSessions(bea, request);
  for (const name of ['clean', 'dirty'])
    gitText(here.root, ['worktree', 'add', '--quiet', join(dir, name), branches[name] ?? '']);
});
afterAll(async () => {
  await Promise.all([ada.repository.close(), bea.repository.close()]);
  await here.fsck();
  await rm(dir, { recursive: true, force: true });
});

async function openClone(name: string): Promise<Project> {
  gitText(dir, ['clone', '--quiet', 'shared.git', name]);
  const root = join(dir, name);
  gitText(root, ['config', 'user.name', 'Ada Example']);
  gitText(root, ['config', 'user.email', 'ada@example.org']);
  return openProject({ cwd: root, env: process.env, notices });
}

/** Ada continues a line, and pushes it. */
async function goOn(name: string, path: string): Promise<string> {
  gitText(join(dir, 'ada'), ['switch', '--quiet', branches[name] ?? '']);
  await say(ada, `Make ${path}`, planOf([create(path)]));
  await run(ada);
  await pushSessions(ada, request);
  return gitText(join(dir, 'ada'), ['rev-parse', 'HEAD']);
}

const tipOf = (name: string) => here.git('rev-parse', branches[name] ?? '');

test('a line is fast-forwarded in its linked work tree; an edited one stays, and the others are fetched', async () => {
  const tips: Record<string, string> = {};
  for (const name of names) tips[name] = await goOn(name, `${name}.txt`);
  const [clean, dirty] = ['clean', 'dirty'].map((name) => openScratchRepository(join(dir, name)));
  await dirty?.write('README.md', 'edited\n');
  const before = await tipOf('dirty');
  const { lines } = await pullSessions(bea, request);
  const problems = lines.flatMap(({ problem }) => problem ?? []);
  expect(problems).toMatchObject([{ code: 'UNCOMMITTED_EDITS', exitCode: 3 }]);
  expect(problems[0]?.message).toContain(join(dir, 'dirty'));
  expect([await tipOf('clean'), await tipOf('elsewhere')]).toEqual([tips['clean'], tips['elsewhere']]);
  expect(await clean?.read('clean.txt')).toBe('clean.txt\n');
  expect(await clean?.git('status', '--porcelain')).toBe('');
  expect(await tipOf('dirty')).toBe(before);
  expect(await dirty?.git('status', '--porcelain')).toBe(' M README.md');
});

test('a fast-forward that was interrupted after writing its files is finished by the next pull', async () => {
  const clean = openScratchRepository(join(dir, 'clean'));
  const tip = await goOn('clean', 'more.txt');
  await clean.git('fetch', '--quiet', 'origin', branches['clean'] ?? '');
  await clean.git('read-tree', '-m', '-u', 'HEAD', tip);
  expect(await clean.git('status', '--porcelain')).not.toBe('');
  const { lines } = await pullSessions(bea, { ...request, selector: undefined });
  expect(lines.find(({ ref }) => ref === `refs/heads/${branches['clean']}`)).toMatchObject({
    did: ['taken'],
    problem: null,
  });
  expect(await tipOf('clean')).toBe(tip);
  expect(await clean.git('status', '--porcelain')).toBe('');
});

/** A clone with these options, and a project in it. */
async function inClone(name: string, options: string[], work: (project: Project, root: string) => Promise<void>) {
  const root = join(dir, name);
  gitText(dir, ['clone', '--quiet', ...options, `file://${join(dir, 'shared.git')}`, name]);
  gitText(root, ['config', 'user.name', 'Ada Example']);
  gitText(root, ['config', 'user.email', 'ada@example.org']);
  const project = await openProject({ cwd: root, env: process.env, notices });
  try {
    expect(await project.repository.store.cutCommits()).not.toEqual(new Set());
    await work(project, root);
  } finally {
    await project.repository.close();
  }
}

test('a shallow clone fetches lines, and pushes additions to them', () =>
  inClone('shallow', ['--depth', '1'], async (shallow, root) => {
    const { lines } = await pullSessions(shallow, request);
    expect(lines.map(({ problem }) => problem)).toEqual(lines.map(() => null));
    gitText(root, ['switch', '--quiet', branches['elsewhere'] ?? '']);
    await say(shallow, 'Make s.txt', planOf([create('s.txt')]));
    await run(shallow);
    expect((await pushSessions(shallow, request)).lines.filter(({ did }) => did.includes('pushed'))).toHaveLength(1);
  }));

test('a line that a shallow clone cuts off stays out, until the clone has the full history as the hint suggests', () =>
  inClone('cut', ['--depth', '1', '--no-single-branch'], async (shallow, root) => {
    const { lines } = await pullSessions(shallow, request);
    const kept = lines.flatMap(({ problem }) => problem ?? []);
    const cut = { code: 'SHALLOW_CLONE', hint: expect.stringContaining('`git fetch --unshallow`') };
    expect(kept[0]).toMatchObject(cut);
    await expect(say(shallow, 'Go on', null, { selector: branches['clean'] })).rejects.toMatchObject(cut);
    gitText(root, ['fetch', '--quiet', '--unshallow']);
    const again = await pullSessions(shallow, request);
    expect(again.lines.map(({ problem }) => problem)).toEqual(again.lines.map(() => null));
    expect(again.lines.filter(({ did }) => did.includes('made'))).toHaveLength(kept.length);
  }));
