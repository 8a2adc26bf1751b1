/** Sessions side by side, each in a linked work tree of its own. */
import { execFile } from 'node:child_process';
import { mkdir, realpath, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { teddyPath } from '../support/run-teddy.ts';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import {
  createAction,
  createPlan,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;
let repo: ScratchRepository;

beforeEach(async () => {
  project = await openTeddyProject({
    answers: [createPlan('slow.txt', 'slow\n')],
    chunkSize: 8,
    chunkDelayMs: 60,
    files: {
      'README.md': '# Scratch\n',
      'src/app.ts': 'export const port = 8080;\n',
      '.gitignore': 'node_modules/\n.env\n',
    },
  });
  repo = project.repo;
});
afterEach(() => project.close());

interface Listed {
  sessions: { session: string; workTrees: { path: string }[] }[];
}
/** The sessions that are checked out in a work tree of their own. */
async function list(): Promise<{ session: string; path: string }[]> {
  const { sessions } = JSON.parse(await project.ok('session', 'list', '--json')) as Listed;
  return sessions.flatMap(({ session, workTrees }) => workTrees.map(({ path }) => ({ session, path })));
}

/** A session in a work tree of its own. */
async function begin(name: string): Promise<{ session: string; linked: ScratchRepository }> {
  const session = await project.begin(name, '--worktree');
  const { path = '' } = (await list()).find((one) => one.session === session) ?? {};
  return { session, linked: openScratchRepository(path) };
}

/** HEAD, index and files, which is all that is of one work tree. */
async function ownPart(tree: ScratchRepository) {
  const { head, index, workTree } = await tree.fingerprint();
  return { head, index, workTree };
}

test('a session in a work tree of its own leaves this one alone, and says where to go', async () => {
  await repo.write('README.md', 'edited\n');
  await repo.git('add', 'README.md');
  await repo.write('untracked.txt', 'mine\n');
  const before = await ownPart(repo);
  const made = await project.run(['session', 'new', 'try-it', '--worktree']);
  expect(made.exitCode).toBe(0);
  expect(await ownPart(repo)).toEqual(before);
  const directory = made.stdout.trim();
  expect(isAbsolute(directory)).toBe(true);
  const root = await realpath(join(directory, '../../..'));
  const branch = `teddy/${directory.split('/').at(-1)}`;
  expect(made.stderr).toContain(`Created the branch ${branch} and its work tree ${root}.\n`);
  expect(made.stderr).toContain(`Next: cd ${root} && teddy plan -m "what you want"\n`);
  expect(await openScratchRepository(root).git('status', '--short', '--branch')).toBe(`## ${branch}`);
  expect(await openScratchRepository(root).list('.teddy/sessions')).toEqual([branch.slice('teddy/'.length)]);
  await project.refuses('USAGE', 2, ['session', 'new', 'x', '--worktree', '--no-switch']);
});

test('a line that is meant from elsewhere is planned, executed and undone in its own work tree', async () => {
  const { session, linked } = await begin('try-it');
  await repo.write('README.md', 'not committed here\n');
  const secret = ['q7Xw93', 'kdZz0p', 'LmT4vB'].join('');
  await repo.write('.env', `API_TOKEN=${secret}\n`);
  await linked.write('README.md', `edited there: ${secret}\n`);
  await linked.write('src/app.ts', 'export const port = 8080;\nthere\n');
  const before = await ownPart(repo);
  const plan = planOf(
    editAction('src/app.ts', 'export const port = 8080;', 'export const port = 9090;'),
    executeAction('pwd > where.txt; git branch --show-current >> where.txt'),
  );
  await project.plan(plan, 'Do it', '-s', session);
  const log = await linked.read(`.teddy/sessions/${session}/01/_context.log`);
  expect(log).toContain('edited there: [masked');
  expect(log).not.toContain('not committed here');
  expect(await project.ok('session', 'execute', '--dry-run', '-s', session)).toContain('\n there\n');
  await project.ok('session', 'execute', '-s', session, '-y');
  expect(await ownPart(repo)).toEqual(before);
  expect(await linked.read('where.txt')).toBe(`${linked.root}\nteddy/${session}\n`);
  expect(await linked.read('src/app.ts')).toContain('9090');
  expect(await linked.git('status', '--short')).toBe('');
  await project.ok('session', 'undo', '-s', session);
  expect(await linked.read('src/app.ts')).toContain('8080');
  expect(await ownPart(repo)).toEqual(before);
});

test.each([
  ['in the work tree of the line', true],
  ['elsewhere', false],
])('what a landing prints archives the line, typed %s', async (_, isInside) => {
  const { session, linked } = await begin('try-it');
  const cwd = isInside ? linked.root : repo.root;
  await project.plan(createPlan('a.txt', 'a\n'), 'Do it', '-s', session);
  await project.ok('session', 'execute', '-s', session, '-y');
  const landed = await project.run(['session', 'land', '-s', session], { cwd });
  const [, next = ''] = /^Next, when you are done with it: (.*)$/m.exec(landed.stderr) ?? [];
  const leave = `teddy worktree remove teddy/${session} && teddy archive ${session}`;
  expect(next).toBe(isInside ? `cd ${repo.root} && ${leave}` : leave);
  const refused = await project.run(['session', 'archive', session], { cwd });
  expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('[LINE_CHECKED_OUT]') as string });
  if (isInside) expect(refused.stderr).toContain(`hint:  Let this work tree switch away from it first: \`${next}\`.\n`);
  const script = `teddy() { '${process.execPath}' '${teddyPath}' "$@"; }; ${next}`;
  await promisify(execFile)('sh', ['-c', script], { cwd });
  expect(await project.ok('session', 'list')).toBe('');
  expect(await list()).toEqual([]);
});

test('two plans run at the same time in two work trees, and neither sees the other’s files', async () => {
  const one = await begin('one');
  const two = await begin('two');
  const before = await ownPart(repo);
  const meet = (mine: string, other: string) =>
    executeAction(
      `touch ${repo.root}/.git/at-${mine}; for i in $(seq 200); do test -e ${repo.root}/.git/at-${other} && break; sleep 0.05; done; test -e ${repo.root}/.git/at-${other}; ls > seen.txt`,
    );
  for (const [{ session }, mine, other] of [
    [one, 'one', 'two'],
    [two, 'two', 'one'],
  ] as const) {
    await project.plan(planOf(createAction(`${mine}.txt`, `${mine}\n`), meet(mine, other)), 'Do it', '-s', session);
  }
  const runs = await Promise.all(
    [one, two].map(({ linked }) => project.run(['session', 'execute', '-y'], { cwd: linked.root })),
  );
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(await one.linked.read('seen.txt')).toBe('README.md\none.txt\nseen.txt\nsrc\n');
  expect(await two.linked.read('seen.txt')).toBe('README.md\nseen.txt\nsrc\ntwo.txt\n');
  for (const { linked } of [one, two]) expect(await linked.git('status', '--short')).toBe('');
  expect(await ownPart(repo)).toEqual(before);
  const shown = await project.run(['session', 'list', '--all'], { cwd: one.linked.root });
  expect(shown.stdout).toMatch(new RegExp(`^\\* ${one.session} [^/]*$`, 'm'));
  expect(shown.stdout).toMatch(new RegExp(`^ {2}${two.session} .*  in ${two.linked.root}$`, 'm'));
  for (const cwd of [repo.root, one.linked.root]) {
    const { stdout } = await project.run(['session', 'list'], { cwd });
    // The newest is first, and either of the two may have ended last.
    expect(stdout.match(/\d{8}-(?:one|two)(?= )/g)?.toSorted()).toEqual([one.session, two.session]);
  }
});

describe('worktree remove', () => {
  test('never takes changes with it, nor one that somebody stands in or has made; it says what git ignored', async () => {
    const { session, linked } = await begin('try-it');
    const refused = (code: string, name: string, cwd = repo.root) =>
      project.refuses(code, 3, ['worktree', 'remove', name], { cwd });
    await linked.write('mine.txt', 'mine\n');
    expect(await refused('UNCOMMITTED_EDITS', session)).toContain('1 uncommitted change');
    await linked.git('add', 'mine.txt');
    await linked.git('commit', '--quiet', '-m', 'Mine');
    await mkdir(join(linked.root, 'src/deep'));
    for (const name of [session, linked.root, '../..'])
      await refused('WORK_TREE_IN_USE', name, join(linked.root, 'src/deep'));
    const other = await project.begin('other', '--no-switch');
    const elsewhere = `${repo.root}-elsewhere`;
    await repo.git('worktree', 'add', '--quiet', elsewhere, `teddy/${other}`);
    expect(await refused('WORK_TREE_IN_USE', other)).toContain('git worktree remove');
    await linked.write('node_modules/x.js', 'x');
    const removed = await project.run(['worktree', 'remove', session]);
    expect(removed).toMatchObject({ exitCode: 0, stdout: `${linked.root}\n` });
    expect(removed.stderr).toContain('with the files that git ignores: node_modules/.');
    expect(await repo.git('show', `teddy/${session}:mine.txt`)).toBe('mine');
    await rm(elsewhere, { recursive: true });
    expect(await list()).toEqual([]);
  });

  test('--ended takes the lines that were merged, and keeps what has changes', async () => {
    const [merged, edited, going] = [await begin('merged'), await begin('edited'), await begin('going')];
    for (const { session } of [merged, edited])
      await repo.git('merge', '--quiet', '--no-ff', '--no-edit', `teddy/${session}`);
    await edited.linked.write('mine.txt', 'mine\n');
    const { exitCode, stdout } = await project.run(['worktree', 'remove', '--ended', '--json']);
    expect(exitCode).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'teddy.worktree-remove/1',
      removed: [{ path: merged.linked.root }],
      kept: [{ path: edited.linked.root }],
    });
    expect((await list()).map(({ session }) => session).toSorted()).toEqual([edited.session, going.session]);
  });
});

test('what switches another work tree names it, and says how to get that one back from here', async () => {
  const session = await project.begin('foo');
  for (const path of ['one.txt', 'two.txt']) {
    await project.plan(createPlan(path, `${path}\n`));
    await project.ok('session', 'execute', '-y');
  }
  const linked = join(repo.root, '.git', 'other tree');
  await repo.git('worktree', 'add', '--quiet', linked, 'main');
  const branchOf = (root: string) => openScratchRepository(root).git('symbolic-ref', '--short', 'HEAD');
  const back = async (stderr: string) => {
    const [, command = ''] = /^Back: (.*)$/m.exec(stderr) ?? [];
    expect(command).toBe(`git -C ${repo.root} switch teddy/${session}`);
    await promisify(execFile)('sh', ['-c', command], { cwd: linked });
    expect(await branchOf(repo.root)).toBe(`teddy/${session}`);
  };
  for (const [named, ...args] of [
    ['Using', 'rewind', '01'],
    ['Session', 'branch', '02', '-s', 'foo'],
  ]) {
    const { stderr, exitCode } = await project.run(['session', ...args], { cwd: linked });
    expect(exitCode).toBe(0);
    expect(stderr.split('\n')[0]).toContain(`${named} ${session}, in ${repo.root}`);
    expect(stderr).toContain(`Switched ${repo.root} to the new branch`);
    expect(await branchOf(linked)).toBe('main');
    await back(stderr);
  }
  await repo.write('two.txt', 'wip\n');
  const answer = createPlan('three.txt', 'three\n');
  const again = ['session', 'branch', '02', '-m', 'Again', '--from', '-'];
  await repo.git('restore', 'two.txt');
  const planned = await project.run(again, { cwd: linked, stdin: answer });
  await repo.git('restore', '.');
  await back(planned.stderr);
  const status = await project.run(['status'], { cwd: linked });
  expect(status.stdout).toMatch(/^A plan is waiting on teddy\/\S+--02-branch-\d\d\.$/m);
});
