/** Linked work trees that teddy makes and removes, with real git and anything the user has set up around them. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readBootId } from '../../src/disk/process-identity.ts';
import { encodeSealed } from '../../src/disk/sealed-json.ts';
import { withWorkTreeNote } from '../../src/git/work-trees/half-made-work-trees.ts';
import { openRepository } from '../../src/git/repository.ts';
import type { LinkedWorkTree, Repository } from '../../src/ports/git.ts';
import type { RefName } from '../../src/names.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

const ref = 'refs/heads/teddy/20260124-add-login' as RefName;
let repo: ScratchRepository;

beforeEach(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'a\n', 'dir/b.txt': 'b\n', '.gitignore': 'made/\n*.env\n' });
  await repo.git('branch', 'teddy/20260124-add-login');
});
afterEach(() => repo.close());

async function use<Value>(work: (repository: Repository) => Promise<Value>, cwd = repo.root): Promise<Value> {
  const repository = await openRepository({ cwd, env: process.env });
  try {
    return await work(repository);
  } finally {
    await repository.close();
  }
}
const add = (cwd?: string) => use((repository) => repository.addWorkTree(ref), cwd);
const remove = (root: string) => use((repository) => repository.removeWorkTree(root));
const list = (cwd?: string) => use((repository) => repository.linkedWorkTrees(), cwd);
const find = async (root: string) => (await list()).find((tree) => tree.root === root) as LinkedWorkTree;
const places = () => repo.list('.git/teddy/worktrees');

test('the list is git’s current one, however long the repository is open', async () => {
  await use(async (repository) => {
    const expectCurrent = async (...refs: (string | null)[]) => {
      const trees = await repository.workTrees();
      expect(trees).toEqual(await use((other) => other.workTrees()));
      expect(trees.map((tree) => tree.ref)).toEqual(refs.map((name) => name && `refs/heads/${name}`));
    };
    await expectCurrent('main');
    await expectCurrent('main');
    await repo.git('switch', '--quiet', 'teddy/20260124-add-login');
    await expectCurrent('teddy/20260124-add-login');
    await repo.git('switch', '--quiet', 'main');
    const beside = `${await realpath(repo.root)} beside`;
    await repo.git('worktree', 'add', '--quiet', beside, 'teddy/20260124-add-login');
    await expectCurrent('main', 'teddy/20260124-add-login');
    await repo.git('-C', beside, 'switch', '--quiet', '--detach');
    await expectCurrent('main', null);
    await repo.git('-C', beside, 'switch', '--quiet', '-c', 'other');
    await expectCurrent('main', 'other');
    await repo.git('branch', '--move', 'other', 'renamed');
    await expectCurrent('main', 'renamed');
    // A name that stands for another branch.
    await repo.git('symbolic-ref', 'refs/heads/alias', 'refs/heads/main');
    await repo.git('symbolic-ref', 'HEAD', 'refs/heads/alias');
    await expectCurrent('main', 'renamed');
    await repo.git('branch', 'third');
    await repo.git('symbolic-ref', 'refs/heads/alias', 'refs/heads/third');
    await expectCurrent('third', 'renamed');
    await rm(beside, { recursive: true });
    await expectCurrent('third');
  });
});

describe('a new work tree', () => {
  test('has the branch and all its files, and the one beside it stays unchanged', async () => {
    await repo.write('a.txt', 'edited\n');
    await repo.write('new.txt', 'new\n');
    await repo.git('add', 'new.txt');
    const before = await repo.fingerprint();
    const root = await add();
    expect(await repo.fingerprint()).toEqual(before);
    expect(root).toBe(join(repo.root, '.git/teddy/worktrees/20260124-add-login'));
    const linked = openScratchRepository(root);
    expect(await linked.git('status', '--short', '--branch')).toBe('## teddy/20260124-add-login');
    expect(await linked.read('dir/b.txt')).toBe('b\n');
    expect(await find(root)).toMatchObject({ ref, madeFor: ref, isGone: false, isUnfinished: false, lock: null });
  });

  test('is recognized as teddy’s from the work tree itself, and after git has moved it', async () => {
    const root = await add();
    expect(await list(root)).toMatchObject([{ root, madeFor: ref }]);
    const moved = `${repo.root} moved ü`;
    await repo.git('worktree', 'move', root, moved);
    expect(await list()).toMatchObject([{ root: await realpath(moved), madeFor: ref }]);
    await remove(moved);
  });

  test('can be made from a linked work tree, in a bare repository and below a path with spaces, umlauts and links', async () => {
    const bare = `${repo.root} bäre.git`;
    await repo.git('clone', '--quiet', '--bare', repo.root, bare);
    const root = await add(bare);
    expect(root).toBe(join(bare, 'teddy/worktrees/20260124-add-login'));
    expect(await openScratchRepository(root).read('a.txt')).toBe('a\n');
    await symlink(bare, `${bare}.link`);
    expect(await list(`${bare}.link`)).toMatchObject([{ root, madeFor: ref }]);
    await repo.git(`--git-dir=${bare}`, 'branch', 'other');
    const other = await use((repository) => repository.addWorkTree('refs/heads/other' as RefName), root);
    expect(other).toBe(join(bare, 'teddy/worktrees/other'));
    await Promise.all([bare, `${bare}.link`].map((path) => rm(path, { recursive: true })));
  });

  test.each([
    ['versuch/ü-1', 'versuch-ü-1'],
    ['teddy/20260124-add-login--01-branch-01', '20260124-add-login--01-branch-01'],
    ['x@y', 'x-y'],
  ])('for the branch %s is called %s', async (branch, name) => {
    await repo.git('branch', branch);
    const root = await use((repository) => repository.addWorkTree(`refs/heads/${branch}` as RefName));
    expect(root).toBe(join(repo.root, '.git/teddy/worktrees', name));
    await remove(root);
  });

  test('gets another place if the first is taken, and existing files stay', async () => {
    await repo.write('.git/teddy/worktrees/20260124-add-login/mine.txt', 'mine\n');
    expect(await add()).toBe(join(repo.root, '.git/teddy/worktrees/20260124-add-login-2'));
    expect(await repo.read('.git/teddy/worktrees/20260124-add-login/mine.txt')).toBe('mine\n');
  });

  test('for a branch that is checked out is refused, and leaves nothing behind', async () => {
    await repo.git('switch', '--quiet', 'teddy/20260124-add-login');
    const before = await repo.fingerprint();
    await expect(add()).rejects.toMatchObject({
      code: 'LINE_CHECKED_OUT',
      message: expect.stringContaining(repo.root) as string,
    });
    expect(await repo.fingerprint()).toEqual(before);
    expect(await places()).toEqual([]);
    expect(await list()).toEqual([]);
  });

  test('is made at most once if two processes make it at the same time', async () => {
    await repo.commit({ '.gitattributes': '*.txt filter=slow\n' }, 'Filter');
    await repo.git('branch', '--force', 'teddy/20260124-add-login');
    // Ensures that each has begun before the first is done.
    await repo.git('config', 'filter.slow.smudge', 'sleep 0.5; cat');
    const results = await Promise.allSettled([add(), add(), add()]);
    const made = results.filter(({ status }) => status === 'fulfilled');
    expect(made.length).toBeLessThanOrEqual(1);
    expect(await list()).toHaveLength(made.length);
    expect(await places()).toHaveLength(made.length);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'LINE_CHECKED_OUT' });
    }
  });

  test('waits for one that another git is still making', async () => {
    const other = join(repo.root, '.git/worktrees/other');
    await repo.git('worktree', 'add', '--quiet', '--detach', join(repo.root, '.git/other'));
    // git leaves it like this between making the file and filling it.
    await writeFile(join(other, 'commondir'), '');
    const filled = sleep(300).then(() => writeFile(join(other, 'commondir'), '../..\n'));
    expect(await add()).toBe(join(repo.root, '.git/teddy/worktrees/20260124-add-login'));
    await filled;
  });

  test('that is removed again takes nothing from one that another git has just begun', async () => {
    await repo.git('switch', '--quiet', 'teddy/20260124-add-login');
    const other = join(repo.root, '.git/worktrees/20260124-add-login7');
    await mkdir(other, { recursive: true });
    // git leaves it like this between the lock and the name.
    await writeFile(join(other, 'locked'), 'initializing');
    const named = sleep(500).then(() => writeFile(join(other, 'gitdir'), join(repo.root, 'other/.git\n')));
    await expect(add()).rejects.toMatchObject({ code: 'LINE_CHECKED_OUT' });
    await named;
    expect(await readdir(other)).toEqual(['gitdir', 'locked']);
    await rm(other, { recursive: true });
  });

  test('that git cannot fill is removed again', async () => {
    await repo.commit({ '.gitattributes': '*.txt filter=broken\n' }, 'Filter');
    await repo.git('branch', '--force', 'teddy/20260124-add-login');
    await repo.git('config', 'filter.broken.smudge', 'false');
    await repo.git('config', 'filter.broken.required', 'true');
    await expect(add()).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringMatching(/smudge filter broken failed/) as string,
    });
    expect(await places()).toEqual([]);
    expect(await list()).toEqual([]);
  });

  test('runs no hooks, whatever the user has set', async () => {
    await repo.write('hooks/post-checkout', '#!/bin/sh\ntouch "$(git rev-parse --git-common-dir)/ran"\nexit 1\n');
    await chmod(join(repo.root, 'hooks/post-checkout'), 0o755);
    await repo.git('config', 'core.hooksPath', join(repo.root, 'hooks'));
    await add();
    await expect(readFile(join(repo.root, '.git/ran'))).rejects.toThrow('ENOENT');
  });

  test('has its own settings, a sparse checkout and submodules as git provides for any', async () => {
    const sub = await makeScratchRepository();
    await repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', sub.root, 'sub');
    await repo.git('commit', '--quiet', '-m', 'Submodule');
    await repo.git('config', 'submodule.recurse', 'true');
    await repo.git('branch', '--force', 'teddy/20260124-add-login');
    await repo.git('sparse-checkout', 'set', '--no-cone', '/a.txt', '/.gitmodules', '/sub');
    expect(await repo.git('config', 'extensions.worktreeConfig')).toBe('true');
    const root = await add();
    const linked = openScratchRepository(root);
    expect(await linked.list('')).toEqual(['.git', '.gitmodules', 'a.txt', 'sub']);
    expect(await linked.list('sub')).toEqual([]);
    expect(await linked.git('status', '--short')).toBe('');
    await remove(root);
    await sub.close();
  });

  test('that a crash left unfinished is on no branch, is reported, and is in nobody’s way', async () => {
    const root = join(repo.root, '.git/teddy/worktrees/20260124-add-login');
    // A kill between the first and the last step leaves this.
    await repo.git('worktree', 'add', '--quiet', '--detach', '--no-checkout', root, ref);
    await repo.write('.git/worktrees/20260124-add-login/teddy/made-for', `${ref}\n`);
    await writeFile(join(root, 'a.txt'), '');
    expect(await find(root)).toMatchObject({ ref: null, madeFor: ref, isUnfinished: true });
    const second = await add();
    expect(second).toBe(`${root}-2`);
    expect(await find(second)).toMatchObject({ ref, isUnfinished: false });
    await expect(remove(root)).rejects.toMatchObject({ code: 'WORK_TREE_IN_USE' });
  });
});

describe('a work tree’s place', () => {
  test('is not made if it cannot be recorded', async () => {
    await repo.write('.git/teddy/journal', '');
    await expect(add()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(await places()).toEqual([]);
  });

  test('is left intact if its note cannot be removed', async () => {
    const commonDir = join(repo.root, '.git');
    const root = await withWorkTreeNote(commonDir, join(commonDir, 'teddy/worktrees/whole'), async (place) => {
      await repo.git('worktree', 'add', '--quiet', '--detach', place);
      const [note = ''] = await repo.list('.git/teddy/journal');
      await rm(join(commonDir, 'teddy/journal', note));
      await repo.write(`.git/teddy/journal/${note}/in-the-way`, '');
      return place;
    });
    expect(await places()).toEqual(['whole']);
    const [note = ''] = await repo.list('.git/teddy/journal');
    await rm(join(commonDir, 'teddy/journal', note), { recursive: true });
    expect((await find(root)).isGone).toBe(false);
  });

  test('is removed with a killed command’s note, and stays if another command makes a work tree there by now', async () => {
    const other = spawn('sleep', ['60']);
    try {
      const common = { version: 1, bootId: await readBootId(), startTime: null, isSettling: false, staged: null };
      const note = (id: number, pid: number | undefined, name: string) => {
        const place = join(repo.root, '.git/teddy/worktrees', name);
        const nonce = String(id).repeat(32);
        const text = encodeSealed({ ...common, pid, nonce, facts: { place } });
        return repo.write(`.git/teddy/journal/worktree-${String(id).repeat(16)}.json`, text);
      };
      for (const name of ['left', 'taken'])
        await mkdir(join(repo.root, '.git/teddy/worktrees', name), { recursive: true });
      await note(1, 0, 'left');
      await note(2, 0, 'taken');
      await note(3, other.pid, 'taken');
      await use(async ({ workspace }) => workspace?.repair());
      expect(await places()).toEqual(['taken']);
      expect(await repo.list('.git/teddy/journal')).toEqual([`worktree-${'3'.repeat(16)}.json`]);
    } finally {
      other.kill('SIGKILL');
    }
  });
});

describe('a work tree whose command was killed in the checkout', () => {
  const root = () => join(repo.root, '.git/teddy/worktrees/left');
  const record = '.git/worktrees/left';

  beforeEach(async () => {
    await repo.git('worktree', 'add', '--quiet', '--detach', '--no-checkout', root(), ref);
    await repo.write(`${record}/teddy/made-for`, `${ref}\n`);
    await repo.write(`${record}/index.lock`, '');
    await mkdir(join(root(), 'dir'));
    await writeFile(join(root(), 'dir/b.txt'), 'b');
    const common = { version: 1, pid: 0, bootId: '', startTime: null, isSettling: false, staged: null };
    const text = encodeSealed({ ...common, nonce: '1'.repeat(32), facts: { place: root() } });
    await repo.write(`.git/teddy/journal/worktree-${'1'.repeat(16)}.json`, text);
  });

  test('is removed with everything that git has written for it', async () => {
    expect(await use(async ({ workspace }) => workspace?.repair())).toEqual([]);
    expect([await places(), await list(), await repo.list('.git/teddy/journal')]).toEqual([[], [], []]);
  });

  test('is removed if git had not yet written its commit', async () => {
    await rm(join(root(), 'dir'), { recursive: true });
    await repo.write(`${record}/HEAD`, `${'0'.repeat(40)}\n`);
    expect(await use(async ({ workspace }) => workspace?.repair())).toEqual([]);
    expect([await places(), await list(), await repo.list('.git/teddy/journal')]).toEqual([[], [], []]);
  });

  test('stays if all of it exists, without its note', async () => {
    await rm(join(repo.root, record, 'index.lock'));
    await repo.git('-C', root(), 'switch', '--quiet', '--force', 'teddy/20260124-add-login');
    expect(await use(async ({ workspace }) => workspace?.repair())).toEqual([]);
    expect([await places(), await repo.list('.git/teddy/journal')]).toEqual([['left'], []]);
    expect(await find(root())).toMatchObject({ ref, isUnfinished: false });
  });

  test.each([true, false])(
    'is removed if git only had to move its HEAD, with its lock or without',
    async (isLocked) => {
      await rm(join(repo.root, record, 'index.lock'));
      await repo.git('-C', root(), 'reset', '--quiet', '--hard');
      if (isLocked) await repo.write(`${record}/HEAD.lock`, '');
      expect(await use(async ({ workspace }) => workspace?.repair())).toEqual([]);
      expect([await places(), await list(), await repo.list('.git/teddy/journal')]).toEqual([[], [], []]);
    },
  );

  test('stays while it has a user’s file, which each command reports, and the note goes once that is settled', async () => {
    await writeFile(join(root(), 'dir/mine.txt'), 'mine\n');
    for (let times = 0; times < 2; times += 1)
      expect(await use(async ({ workspace }) => workspace?.repair())).toEqual([
        `${root()} was never finished, and contains files that its commit does not have. Move them away; the next command removes the rest.`,
      ]);
    expect(await readFile(join(root(), 'dir/mine.txt'), 'utf8')).toBe('mine\n');
    await rm(join(root(), 'dir/mine.txt'));
    expect(await use(async ({ workspace }) => workspace?.repair())).toEqual([]);
    expect([await places(), await list(), await repo.list('.git/teddy/journal')]).toEqual([[], [], []]);
  });
});

describe('the record of a work tree', () => {
  test('names missing, locked and detached ones, those without a commit, and those made by somebody else', async () => {
    const at = (name: string) => `${repo.root}-${name}`;
    await repo.git('worktree', 'add', '--quiet', '-b', 'gone', at('gone'));
    await rm(at('gone'), { recursive: true });
    await repo.git('worktree', 'add', '--quiet', '--detach', at('detached'));
    await repo.git('worktree', 'lock', '--reason', 'on a stick', at('detached'));
    const root = await add();
    await repo.git('worktree', 'lock', root);
    await repo.git('update-ref', '-d', ref);
    const oid = await repo.git('rev-parse', 'HEAD');
    const common = { madeFor: null, isUnfinished: false };
    expect((await list()).toSorted((a, b) => (a.root < b.root ? 1 : -1))).toEqual([
      { root, ref, oid: null, isGone: false, lock: '', madeFor: ref, isUnfinished: false },
      { root: at('gone'), ref: 'refs/heads/gone', oid, isGone: true, lock: null, ...common },
      { root: at('detached'), ref: null, oid, isGone: false, lock: 'on a stick', ...common },
    ]);
    await rm(at('detached'), { recursive: true });
  });
});

describe('removing a work tree', () => {
  test('keeps the branch, and removes ignored files', async () => {
    const root = await add();
    await mkdir(join(root, 'made'));
    await writeFile(join(root, 'made/x.js'), 'x');
    await writeFile(join(root, 'x.env'), 'x');
    expect(await use((repository) => repository.ignoredFilesOf(root))).toEqual(['made/', 'x.env']);
    const before = await repo.fingerprint();
    await remove(root);
    expect(await repo.fingerprint()).toEqual(before);
    expect(await places()).toEqual([]);
    expect(await list()).toEqual([]);
  });

  test.each([
    ['an edit', 'a.txt'],
    ['an untracked file', 'new.txt'],
  ])('is refused if there is %s, even if git is set to show no untracked files', async (_, name) => {
    const root = await add();
    await repo.git('config', 'status.showUntrackedFiles', 'no');
    await writeFile(join(root, name), 'mine\n');
    await expect(remove(root)).rejects.toMatchObject({
      code: 'WORK_TREE_IN_USE',
      message: expect.stringMatching(/modified or untracked/) as string,
    });
    expect(await readFile(join(root, name), 'utf8')).toBe('mine\n');
  });

  test('is refused if HEAD is on a commit outside every branch', async () => {
    const root = await add();
    const linked = openScratchRepository(root);
    await linked.git('switch', '--quiet', '--detach');
    const oid = await linked.commit({ 'a.txt': 'lost\n' });
    await expect(remove(root)).rejects.toMatchObject({
      code: 'UNCOMMITTED_EDITS',
      hint: expect.stringContaining(`git branch <name> ${oid.slice(0, 10)}`) as string,
    });
    await repo.git('tag', 'kept', oid);
    await remove(root);
  });

  test('removes only the record of a missing one', async () => {
    const root = await add();
    await repo.git('worktree', 'add', '--quiet', '-b', 'other', `${repo.root}-other`);
    for (const path of [root, `${repo.root}-other`]) await rm(path, { recursive: true });
    await remove(root);
    expect((await list()).map((tree) => tree.ref)).toEqual(['refs/heads/other']);
  });

  test('is refused for a locked one', async () => {
    const root = await add();
    await repo.git('worktree', 'lock', root);
    await expect(remove(root)).rejects.toMatchObject({
      code: 'WORK_TREE_IN_USE',
      message: expect.stringMatching(/locked/) as string,
    });
    expect(await find(root)).toMatchObject({ isGone: false });
  });
});
