/** Trees with the user's edits, made with a separate index: the user's own stays unchanged, byte for byte. */
import { chmod, mkdir, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Repository, Workspace } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let repository: Repository;
let workspace: Workspace;
let head: Oid;

beforeEach(async () => {
  repo = await makeScratchRepository({
    'a.txt': 'one\n',
    'b.txt': 'two\n',
    'gone.txt': 'x\n',
    'dir/x.txt': 'x\n',
    'dir/y.txt': 'y\n',
    'run.sh': '#!/bin/sh\n',
  });
  repository = await openRepository({ cwd: repo.root, env: process.env });
  if (!repository.workspace) throw new Error('There is no work tree.');
  workspace = repository.workspace;
  head = (await repo.git('rev-parse', 'HEAD')) as Oid;
});
afterEach(async () => {
  await repository.close();
  expect(
    (await readdir(join(repo.root, '.git/teddy')).catch(() => [])).filter((name) => /snapshot/.test(name)),
  ).toEqual([]);
  await repo.close();
});

/** Lists the differences from HEAD as `letter path`, with the mode if it is new. */
async function changesOf(tree: Oid): Promise<string[]> {
  const changes = await repository.store.diffTrees(head, tree);
  return changes.map(
    ({ change, path: name, mode }) => `${change} ${name}${mode && mode !== '100644' ? ` ${mode}` : ''}`,
  );
}
const textOf = async (tree: Oid, name: string) =>
  Buffer.from((await repository.store.readFile(tree, path(name)))?.bytes ?? []).toString();

test('tracked edits and staged changes are included, untracked files and exceptions are not', async () => {
  await repo.write('a.txt', 'edited\n');
  await repo.write('b.txt', 'edited too\n');
  await repo.write('dir/*', 'a name like a pattern\n');
  await repo.git('add', '--', ':(literal)dir/*');
  await rm(join(repo.root, 'gone.txt'));
  await chmod(join(repo.root, 'run.sh'), 0o755);
  await repo.write('untracked.txt', 'x\n');
  await repo.write('dir/x.txt', 'in, though a pattern would take it out\n');
  const before = await repo.fingerprint();
  const tree = await workspace.snapshotTree([path('b.txt'), path('dir/*')]);
  expect(await changesOf(tree)).toEqual([
    'modified a.txt',
    'added dir/*',
    'modified dir/x.txt',
    'deleted gone.txt',
    'modified run.sh 100755',
  ]);
  expect(await textOf(tree, 'a.txt')).toBe('edited\n');
  expect(await repo.fingerprint()).toEqual(before);
});

test('an edit of the same size in the second of the last index write is found', async () => {
  // One tick of a coarse clock for everything: only the index's own time makes git look into the file.
  await repo.git('config', 'core.trustctime', 'false');
  const file = join(repo.root, 'a.txt');
  const index = join(repo.root, '.git/index');
  await repo.write('a.txt', 'old\n');
  await utimes(file, 1769248800, 1769248800);
  await repo.git('add', 'a.txt');
  await repo.write('a.txt', 'new\n');
  for (const path of [file, index]) await utimes(path, 1769248800, 1769248800);
  expect(await textOf(await workspace.snapshotTree([]), 'a.txt')).toBe('new\n');
});

test('line endings and filters are git’s', async () => {
  await repo.git('config', 'core.autocrlf', 'true');
  await repo.git('config', 'filter.upper.clean', 'tr a-z A-Z');
  await repo.commit({ '.gitattributes': '*.up filter=upper\n', 'x.up': 'x\n' });
  head = (await repo.git('rev-parse', 'HEAD')) as Oid;
  await repo.write('a.txt', 'windows\r\n');
  await repo.write('x.up', 'shout\n');
  const tree = await workspace.snapshotTree([]);
  expect([await textOf(tree, 'a.txt'), await textOf(tree, 'x.up')]).toEqual(['windows\n', 'SHOUT\n']);
  const same = await workspace.treeOfPaths(head, [path('a.txt'), path('x.up')]);
  expect(await changesOf(same)).toEqual(await changesOf(tree));
});

test("a failing filter stops the snapshot with git's own message", async () => {
  await repo.commit({ '.gitattributes': '*.z filter=broken\n', 'x.z': 'x\n' });
  await repo.git('config', 'filter.broken.clean', 'false');
  await repo.git('config', 'filter.broken.required', 'true');
  await repo.write('x.z', 'y\n');
  const before = await repo.fingerprint();
  await expect(workspace.snapshotTree([])).rejects.toMatchObject({
    code: 'SNAPSHOT_FAILED',
    message: expect.stringMatching(/filter/) as string,
  });
  expect(await repo.fingerprint()).toEqual(before);
  await repo.git('config', '--remove-section', 'filter.broken');
});

test('files outside a sparse checkout, or marked to be skipped, stay in the tree', async () => {
  await repo.git('sparse-checkout', 'set', '--no-cone', '/*', '!/dir/');
  await repo.git('update-index', '--skip-worktree', 'b.txt');
  await rm(join(repo.root, 'b.txt'));
  await repo.write('a.txt', 'edited\n');
  const tree = await workspace.snapshotTree([]);
  expect(await changesOf(tree)).toEqual(['modified a.txt']);
  const planned = await workspace.treeOfPaths(head, [path('a.txt'), path('new.txt')]);
  expect(await changesOf(planned)).toEqual(['modified a.txt']);
  await repo.write('dir/new.txt', 'made by a plan\n');
  expect(await changesOf(await workspace.treeOfPaths(head, [path('dir/new.txt')]))).toEqual(['added dir/new.txt']);
});

test('without an index nothing counts as deleted', async () => {
  await rm(join(repo.root, '.git/index'));
  await expect(workspace.snapshotTree([])).rejects.toMatchObject({
    code: 'SNAPSHOT_FAILED',
    hint: expect.stringMatching(/git reset/) as string,
  });
  await repo.git('reset', '--quiet');
});

test('a tree of paths has exactly those, as they are on disk now', async () => {
  await repo.write('a.txt', 'not asked for\n');
  await repo.write('b.txt', 'asked for\n');
  await repo.write('line\nbreak.txt', 'n\n');
  await repo.write('empty.txt', '');
  await writeFile(join(repo.root, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  await symlink('nowhere', join(repo.root, 'link'));
  await rm(join(repo.root, 'gone.txt'));
  const before = await repo.fingerprint();
  const wanted = ['b.txt', 'line\nbreak.txt', 'empty.txt', 'tool', 'link', 'gone.txt', 'never/was.txt'].map(path);
  const tree = await workspace.treeOfPaths(head, wanted);
  expect(await changesOf(tree)).toEqual([
    'modified b.txt',
    'added empty.txt',
    'deleted gone.txt',
    'added line\nbreak.txt',
    'added link 120000',
    'added tool 100755',
  ]);
  expect(await textOf(tree, 'link')).toBe('nowhere');
  expect(await repo.fingerprint()).toEqual(before);
});

test.each(['a file', 'a link'])(
  'a directory that became %s, and a file that became a directory, are included',
  async (kind) => {
    await rm(join(repo.root, 'dir'), { recursive: true });
    await repo.write('elsewhere/x.txt', 'x\n');
    await (kind === 'a file'
      ? writeFile(join(repo.root, 'dir'), 'file\n')
      : symlink('elsewhere', join(repo.root, 'dir')));
    await rm(join(repo.root, 'a.txt'));
    await mkdir(join(repo.root, 'a.txt'));
    await repo.write('a.txt/inside.txt', 'x\n');
    const paths = ['dir', 'dir/x.txt', 'dir/y.txt', 'a.txt', 'a.txt/inside.txt'].map(path);
    const expected = [
      'deleted a.txt',
      'added a.txt/inside.txt',
      `added dir${kind === 'a link' ? ' 120000' : ''}`,
      'deleted dir/x.txt',
      'deleted dir/y.txt',
    ];
    expect(await changesOf(await workspace.treeOfPaths(head, paths))).toEqual(expected);
    expect(await changesOf(await workspace.treeOfPaths(head, paths.toReversed()))).toEqual(expected);
  },
);

test('a base other than HEAD is used unchanged', async () => {
  const batch = repository.store.batch();
  const base = await batch.tree([{ mode: '100644', name: 'only.txt', oid: await batch.blob('x') }]);
  await batch.flush();
  const tree = await workspace.treeOfPaths(base, [path('a.txt')]);
  expect((await repository.store.listTree(tree)).map((file) => file.path)).toEqual(['a.txt', 'only.txt']);
  expect(await readFile(join(repo.root, 'a.txt'), 'utf8')).toBe('one\n');
});

test('a file that vanishes while git reads the others counts as deleted before', async () => {
  await repo.git('config', 'filter.eater.clean', `cat; rm -f '${join(repo.root, 'z.txt')}'`);
  await repo.commit({ '.gitattributes': 'm.txt filter=eater\n' });
  head = (await repo.git('rev-parse', 'HEAD')) as Oid;
  await repo.write('m.txt', 'm\n');
  await repo.write('z.txt', 'z\n');
  expect(await changesOf(await workspace.treeOfPaths(head, ['m.txt', 'z.txt'].map(path)))).toEqual(['added m.txt']);
  await rm(join(repo.root, 'm.txt'));
  await repo.git('config', '--remove-section', 'filter.eater');
});

test('sizes are those of the bytes to be read: a link its own, a directory none', async () => {
  await repo.write('five.txt', '12345');
  await symlink('nowhere', join(repo.root, 'link'));
  const sizes = ['five.txt', 'link', 'dir', 'never/was.txt'].map((name) => workspace.sizeOnDisk(path(name)));
  expect(await Promise.all(sizes)).toEqual([5, 7, null, null]);
});

test('a file’s age is the age of its first byte here, whatever its times say', async () => {
  const before = Date.now() - 1000;
  await repo.write('old.txt', '12345');
  await utimes(join(repo.root, 'old.txt'), 1, 1);
  expect((await workspace.bornOnDisk(path('old.txt')))?.getTime()).toBeGreaterThan(before);
  expect(await workspace.bornOnDisk(path('never/was.txt'))).toBeNull();
});

test.each<[string, string[]]>([
  ['plainly', []],
  ['with Windows line ends', ['core.autocrlf=true']],
  ['without modes and links', ['core.fileMode=false', 'core.symlinks=false']],
  ['with another index format', ['index.version=4', 'core.splitIndex=true', 'index.threads=2']],
])('a tree of paths equals git’s tree of everything, %s', async (_, settings) => {
  await repo.commit({ 'kept.txt': 'as\r\non Windows\r\n', 'deep/.gitattributes': '*.up filter=upper\n' });
  await repo.git('update-index', '--chmod=+x', 'run.sh');
  await repo.git('commit', '--quiet', '--amend', '--no-edit');
  head = (await repo.git('rev-parse', 'HEAD')) as Oid;
  await repo.git('config', 'filter.upper.clean', 'tr a-z A-Z');
  for (const setting of settings) await repo.git('config', ...(setting.split('=') as [string, string]));
  // The attributes are only in the tree; the user's index differs for some paths.
  await rm(join(repo.root, 'deep/.gitattributes'));
  await repo.git('update-index', '--assume-unchanged', 'b.txt');
  await repo.git('rm', '--quiet', '--cached', 'gone.txt', 'kept.txt');
  const names = ['a.txt', 'b.txt', 'kept.txt', 'new.txt', 'deep/x.up', 'deep/er/y.up'];
  for (const name of names) await repo.write(name, `${name}\r\nedited\r\n`);
  const many = Array.from({ length: 400 }, (_unused, at) => `many/a directory with a long name/${at}.txt`);
  for (const name of many) await repo.write(name, `${name}\n`);
  const all = [...names, 'run.sh', 'gone.txt', 'dir/never.txt', ...many];

  for (const wanted of [names, all, ['dir/never.txt']]) {
    const reference = join(repo.root, '.git/reference');
    const git = (args: string[], input = '') => gitText(repo.root, args, { input, env: { GIT_INDEX_FILE: reference } });
    git(['read-tree', head]);
    const input = wanted.map((name) => `${name}\0`).join('');
    git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], input);
    const expected = git(['write-tree']);
    expect(await workspace.treeOfPaths(head, wanted.map(path))).toBe(expected);
    expect(await workspace.treeOfPaths(expected as Oid, wanted.map(path))).toBe(expected);
    await rm(reference);
  }
});
