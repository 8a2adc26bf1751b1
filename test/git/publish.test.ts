/** A line that HEAD is on moves: the ref, the index and `.teddy/` together, and nothing more. */
import { readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Publication, Repository, Workspace } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { publicationOf } from '../support/publication.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { startWait } from '../support/wait.ts';

interface Stage {
  repo: ScratchRepository;
  repository: Repository;
  workspace: Workspace;
  publication: Publication;
}

let open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.toReversed()) await close();
  open = [];
});

async function setStage(
  prepare: (repo: ScratchRepository) => Promise<unknown> = async () => undefined,
  options: { objectFormat?: 'sha1' | 'sha256'; firstCommit?: boolean } = {},
): Promise<Stage> {
  const repo = await makeScratchRepository(
    { 'a.txt': 'a\n', 'gone.txt': 'g\n', 'mine.txt': 'm\n', '.teddy/sessions/x/01/old.md': 'old\n' },
    options,
  );
  open.push(() => repo.close());
  await prepare(repo);
  const repository = await openRepository({ cwd: repo.root, env: process.env });
  open.push(() => repository.close());
  if (!repository.workspace) throw new Error('There is no work tree.');
  return { repo, repository, workspace: repository.workspace, publication: await publicationOf(repository) };
}

const leftOvers = (repo: ScratchRepository) => readdir(join(repo.root, '.git/teddy')).catch(() => []);

async function expectPublished({ repo, workspace, publication }: Stage): Promise<void> {
  expect(await workspace.publish(publication)).toBe('done');
  expect(await repo.git('rev-parse', 'HEAD')).toBe(publication.new);
  expect(await repo.git('ls-files', '-s', '--', '.teddy', 'a.txt', 'gone.txt', 'new.txt')).toBe(
    await repo.git(
      'ls-tree',
      '-r',
      '--format=%(objectmode) %(objectname) 0%x09%(path)',
      'HEAD',
      '--',
      '.teddy',
      'a.txt',
      'gone.txt',
      'new.txt',
    ),
  );
  expect(await readFile(join(repo.root, '.teddy/sessions/x/02/plan.md'), 'utf8')).toBe('plan\n');
  await expect(stat(join(repo.root, '.teddy/sessions/x/01'))).rejects.toThrow('ENOENT');
  await expect(stat(join(repo.root, '.git/index.lock'))).rejects.toThrow('ENOENT');
  expect(await leftOvers(repo)).toEqual([]);
}

test('exactly the commit’s paths change in the index, and the user’s staged changes stay', async () => {
  const stage = await setStage(async (repo) => {
    await repo.write('mine.txt', 'staged by hand\n');
    await repo.write('added by hand.txt', 'x\n');
    await repo.git('add', 'mine.txt', 'added by hand.txt');
    await repo.write('mine.txt', 'and edited\n');
  });
  await expectPublished(stage);
  expect(await stage.repo.git('diff', '--cached', '--name-status')).toBe('A\tadded by hand.txt\nM\tmine.txt');
  expect(await stage.repo.read('mine.txt')).toBe('and edited\n');
  expect(await stage.repo.git('log', '-1', '-g', '--format=%gs', 'HEAD')).toBe('teddy: test');
});

test.each([
  ['SHA-256', async () => undefined, { objectFormat: 'sha256' as const }],
  ['an index of version 4', (repo: ScratchRepository) => repo.git('update-index', '--index-version', '4'), {}],
  ['a split index', (repo: ScratchRepository) => repo.git('update-index', '--split-index'), {}],
  ['an unborn branch', async () => undefined, { firstCommit: false }],
  ['a sparse index', (repo: ScratchRepository) => repo.git('sparse-checkout', 'set', '--sparse-index', '.teddy'), {}],
])('a repository with %s is published to like any other', async (_, prepare, options) => {
  const stage = await setStage(prepare, options);
  await expectPublished(stage);
  expect(await stage.repo.git('diff', '--cached', '--name-only')).toBe('');
});

test('a linked work tree has its own index, and the main one keeps its own', async () => {
  const { repo } = await setStage();
  const root = `${repo.root} linked ü`;
  await repo.git('worktree', 'add', '--quiet', root, '-b', 'linked');
  open.push(() => rm(root, { recursive: true, force: true }));
  const repository = await openRepository({ cwd: repo.root, env: process.env });
  open.push(() => repository.close());
  const workspace = await repository.openWorkspace(root);
  expect(await workspace.head()).toEqual({ ref: 'refs/heads/linked', oid: await repo.git('rev-parse', 'HEAD') });
  const before = await repo.fingerprint();
  const publication = await publicationOf(repository, 'refs/heads/linked' as RefName);
  expect(await workspace.publish(publication)).toBe('done');
  expect(await workspace.head()).toEqual({ ref: 'refs/heads/linked', oid: publication.new });
  expect(await openScratchRepository(root).git('status', '--porcelain', '--', '.teddy')).toBe('');
  expect({ ...(await repo.fingerprint()), refs: [] }).toEqual({ ...before, refs: [] });
  await openScratchRepository(root).git('checkout', '--quiet', '--force', '--detach', 'main');
  expect(await workspace.head()).toEqual({ ref: null, oid: await repo.git('rev-parse', 'main') });
});

test('a foreign index lock is waited for; then nothing has changed, and no record is left', async () => {
  const { repo, workspace, publication } = await setStage();
  const lock = join(repo.root, '.git/index.lock');
  await writeFile(lock, 'foreign');
  const before = await repo.fingerprint();
  const wait = startWait(1900);
  await expect(workspace.publish(publication)).rejects.toMatchObject({
    code: 'LOCKED',
    message: expect.stringMatching(/index\.lock has been held by another process for \d+ s\.$/) as string,
  });
  expect(wait.isOver()).toBe(true);
  expect(await repo.fingerprint()).toEqual(before);
  expect(await readFile(lock, 'utf8')).toBe('foreign');
  expect(await leftOvers(repo)).toEqual([]);
  const waiting = workspace.publish(publication);
  setTimeout(() => void rm(lock), 200);
  expect(await waiting).toBe('done');
});

test('a HEAD that is elsewhere, or a ref that has moved, changes nothing', async () => {
  const { repo, workspace, publication } = await setStage();
  await repo.git('branch', 'other');
  await repo.git('symbolic-ref', 'HEAD', 'refs/heads/other');
  let before = await repo.fingerprint();
  expect(await workspace.publish(publication)).toBe('moved');
  expect(await repo.fingerprint()).toEqual(before);
  await repo.git('symbolic-ref', 'HEAD', 'refs/heads/main');
  await repo.git('commit', '--quiet', '--allow-empty', '-m', 'Faster');
  before = await repo.fingerprint();
  expect(await workspace.publish(publication)).toBe('moved');
  expect(await repo.fingerprint()).toEqual(before);
  expect(await leftOvers(repo)).toEqual([]);
  await expect(
    workspace.publish({
      ...publication,
      old: (await repo.git('rev-parse', 'HEAD')) as Oid,
      new: 'a'.repeat(40) as Oid,
    }),
  ).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await repo.fingerprint()).toEqual(before);
  expect(await leftOvers(repo)).toEqual([]);
});

test('a missing index, with nothing left to put in it, does not stop the publication halfway', async () => {
  const { repo, repository, workspace } = await setStage();
  await rm(join(repo.root, '.git/index'));
  const old = (await repo.git('rev-parse', 'HEAD')) as Oid;
  const commit = (await repo.git('commit-tree', `${old}^{tree}`, '-p', old, '-m', 'same')) as Oid;
  const index = [{ path: path('gone.txt'), entry: null }];
  const ref = 'refs/heads/main' as RefName;
  expect(await workspace.publish({ ref, old, new: commit, reflog: 'x', index, files: [] })).toBe('done');
  expect(await repository.store.resolve('HEAD')).toBe(commit);
  expect(await leftOvers(repo)).toEqual([]);
  await repo.git('reset', '--quiet');
});

test('a link in place of a session directory is refused before anything is published', async () => {
  const { repo, workspace, publication } = await setStage();
  const tip = await repo.git('rev-parse', 'HEAD');
  await rm(join(repo.root, '.teddy/sessions'), { recursive: true });
  await symlink('/tmp', join(repo.root, '.teddy/sessions'));
  await expect(workspace.publish(publication)).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
  expect(await repo.git('rev-parse', 'HEAD')).toBe(tip);
  expect(await workspace.repair()).toEqual([]);
  expect(await leftOvers(repo)).toEqual([]);
});
