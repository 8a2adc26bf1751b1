/** Ref transactions: compare-and-swap, all or nothing, without others' locks or hooks. */
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Repository, RefUpdate } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { startWait } from '../support/wait.ts';

let repo: ScratchRepository;
let repository: Repository;
let first: Oid;
let second: Oid;

const refOf = (name: string) => `refs/heads/${name}` as RefName;
const update = (updates: RefUpdate[], reflog = 'teddy: test') => repository.store.updateRefs(updates, reflog);
const tipOf = (name: string) => repository.store.resolve(refOf(name));

beforeAll(async () => {
  repo = await makeScratchRepository();
  first = (await repo.git('rev-parse', 'HEAD')) as Oid;
  second = (await repo.commit({ 'b.txt': 'b\n' })) as Oid;
  repository = await openRepository({ cwd: repo.root, env: process.env });
});
afterAll(async () => {
  await repository.close();
  await repo.close();
});

test('a ref is made, moved and deleted, each only from the value that was read', async () => {
  const ref = refOf('teddy/a');
  expect(await update([{ ref, old: first, new: second }])).toBe('moved');
  expect(await update([{ ref, old: null, new: first }], 'teddy: made  here')).toBe('done');
  expect(await update([{ ref, old: null, new: second }])).toBe('moved');
  expect(await update([{ ref, old: first, new: second }], 'teddy: turn 01')).toBe('done');
  expect(await update([{ ref, old: first, new: second }])).toBe('moved');
  expect((await repo.git('reflog', 'show', '--format=%gs', ref)).split('\n')).toEqual([
    'teddy: turn 01',
    'teddy: made here',
  ]);
  expect(await update([{ ref, old: first, new: null }])).toBe('moved');
  expect(await tipOf('teddy/a')).toBe(second);
  expect(await update([{ ref, old: second, new: null }])).toBe('done');
  expect(await tipOf('teddy/a')).toBeNull();
});

test('two refs move either both or not at all', async () => {
  expect(
    await update([
      { ref: refOf('two/a'), old: null, new: first },
      { ref: refOf('two/b'), old: first, new: second },
    ]),
  ).toBe('moved');
  expect(await tipOf('two/a')).toBeNull();
  expect(
    await update([
      { ref: refOf('two/a'), old: null, new: first },
      { ref: refOf('two/b'), old: null, new: second },
    ]),
  ).toBe('done');
  expect([await tipOf('two/a'), await tipOf('two/b')]).toEqual([first, second]);
});

test('of many simultaneous moves of the same ref, one succeeds', async () => {
  await update([{ ref: refOf('race'), old: null, new: first }]);
  const oids: Oid[] = [];
  for (let at = 0; at < 4; at += 1)
    oids.push((await repo.git('commit-tree', `${first}^{tree}`, '-p', first, '-m', `racer ${at}`)) as Oid);
  const outcomes = await Promise.all(oids.map((oid) => update([{ ref: refOf('race'), old: first, new: oid }])));
  expect(outcomes.toSorted()).toEqual(['done', 'moved', 'moved', 'moved']);
  expect(await tipOf('race')).toBe(oids[outcomes.indexOf('done')]);
});

test('packed refs are moved and deleted like loose ones', async () => {
  await update([{ ref: refOf('packed'), old: null, new: first }]);
  await repo.git('pack-refs', '--all');
  expect(await update([{ ref: refOf('packed'), old: null, new: second }])).toBe('moved');
  expect(await update([{ ref: refOf('packed'), old: first, new: second }])).toBe('done');
  await repo.git('pack-refs', '--all');
  expect(await update([{ ref: refOf('packed'), old: second, new: null }])).toBe('done');
  expect(await tipOf('packed')).toBeNull();
});

test('a branch in the way is named, from either side, with the command that moves it', async () => {
  await repo.git('branch', 'wall');
  await repo.git('branch', 'house/room');
  await expect(update([{ ref: refOf('wall/x'), old: null, new: first }])).rejects.toMatchObject({
    code: 'BRANCH_IN_THE_WAY',
    message: 'refs/heads/wall is in the way of refs/heads/wall/x.',
    hint: 'Rename it: `git branch -m wall <other>`.',
  });
  await expect(update([{ ref: refOf('house'), old: null, new: first }])).rejects.toMatchObject({
    code: 'BRANCH_IN_THE_WAY',
    message: 'refs/heads/house/room is in the way of refs/heads/house.',
  });
});

test("somebody else's lock is waited for, then reported with its age, and stays", async () => {
  const lock = join(repo.root, '.git/refs/heads/locked.lock');
  await writeFile(lock, '');
  const waiting = update([{ ref: refOf('locked'), old: null, new: first }]);
  setTimeout(() => void rm(lock), 300);
  expect(await waiting).toBe('done');

  await writeFile(lock, '');
  const wait = startWait(1900);
  await expect(update([{ ref: refOf('locked'), old: first, new: second }])).rejects.toMatchObject({
    code: 'LOCKED',
    message: expect.stringMatching(/locked\.lock has been held by another process for \d+ s\.$/) as string,
  });
  expect(wait.isOver()).toBe(true);
  expect(await readFile(lock, 'utf8')).toBe('');
  expect(await tipOf('locked')).toBe(first);
  await rm(lock);
});

test('a commit that does not exist is reported as such, not as a lost race', async () => {
  await expect(update([{ ref: refOf('nothing'), old: null, new: 'a'.repeat(40) as Oid }])).rejects.toMatchObject({
    code: 'GIT_FAILED',
  });
});

test('the user’s hooks do not run, wherever they are configured', async () => {
  const hook = `#!/bin/sh\necho ran >> '${join(repo.root, 'hook-ran')}'\nexit 1\n`;
  for (const dir of ['.git/hooks', 'own-hooks']) {
    await mkdir(join(repo.root, dir), { recursive: true });
    for (const name of ['reference-transaction', 'post-checkout', 'post-index-change', 'pre-commit']) {
      await writeFile(join(repo.root, dir, name), hook);
      await chmod(join(repo.root, dir, name), 0o755);
    }
  }
  for (const hooksPath of ['own-hooks', join(repo.root, '.git/hooks')]) {
    await repo.git('config', 'core.hooksPath', hooksPath);
    const ref = refOf(`hooked-${hooksPath.length}`);
    expect(await update([{ ref, old: null, new: first }])).toBe('done');
    await repository.workspace?.snapshotTree([]);
  }
  await expect(readFile(join(repo.root, 'hook-ran'))).rejects.toThrow('ENOENT');
  await repo.git('config', '--unset', 'core.hooksPath');
  await rm(join(repo.root, '.git/hooks'), { recursive: true });
});

test('a prefix lists the refs below it, with a glob as well', async () => {
  await repo.git('update-ref', 'refs/remotes/origin/teddy/20260124-x', first);
  await repo.git('update-ref', 'refs/remotes/origin/teddy/20260124-x--02-branch-01', first);
  const names = (await repository.store.listRefs('refs/remotes/*/teddy/')).map(({ ref }) => ref);
  expect(names).toEqual(['refs/remotes/origin/teddy/20260124-x', 'refs/remotes/origin/teddy/20260124-x--02-branch-01']);
  const tips = await repository.store.listRefs('refs/heads/two/');
  expect(tips).toEqual([
    { ref: 'refs/heads/two/a', oid: first },
    { ref: 'refs/heads/two/b', oid: second },
  ]);
});

test('many refs are packed at once, and no note is left', async () => {
  const ref = refOf('to-be-packed');
  await update([{ ref, old: null, new: first }]);
  await repository.store.packRefs([ref]);
  expect(await readFile(join(repo.root, '.git', 'packed-refs'), 'utf8')).toContain(`${first} ${ref}\n`);
  expect(await repo.list('.git/refs/heads')).not.toContain('to-be-packed');
  expect(await tipOf('to-be-packed')).toBe(first);
  expect((await repo.list('.git/teddy')).filter((name) => name.startsWith('refs-'))).toEqual([]);
});
