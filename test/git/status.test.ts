/** The differences from HEAD in git's own output, with names unchanged. */
import { chmod, copyFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { openRepository } from '../../src/git/repository.ts';
import type { Repository, Workspace } from '../../src/ports/git.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { path } from '../support/disk.ts';
import { gitBytes } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, planOf, run, say } from '../support/turns.ts';

let repo: ScratchRepository;
let repository: Repository;
let workspace: Workspace;

beforeAll(async () => {
  repo = await makeScratchRepository({
    'with  two spaces.txt': 'a\n',
    'ünï "q" 日本.txt': 'a\n',
    'line\nbreak.txt': 'a\n',
    'to-rename.txt': 'the same text in both places\n',
    'both.txt': 'a\n',
    'gone.txt': 'a\n',
    'script.sh': 'a\n',
    'kept.txt': 'a\n',
  });
  repository = await openRepository({ cwd: repo.root, env: process.env });
  if (!repository.workspace) throw new Error('There is no work tree.');
  workspace = repository.workspace;
});
afterAll(async () => {
  await repository.close();
  await repo.close();
});

test('every kind of edit has its letters, and names are returned exactly', async () => {
  await repo.write('with  two spaces.txt', 'b\n');
  await repo.write('ünï "q" 日本.txt', 'b\n');
  await repo.write('line\nbreak.txt', 'b\n');
  await rename(join(repo.root, 'to-rename.txt'), join(repo.root, 'renamed.txt'));
  await repo.git('add', '--', 'to-rename.txt', 'renamed.txt', 'line\nbreak.txt');
  await repo.write('both.txt', 'staged\n');
  await repo.git('add', 'both.txt');
  await repo.write('both.txt', 'and edited\n');
  await rm(join(repo.root, 'gone.txt'));
  await chmod(join(repo.root, 'script.sh'), 0o755);
  await repo.write('intended.txt', 'x\n');
  await repo.git('add', '--intent-to-add', 'intended.txt');
  await repo.write('new dir/untracked\nfile.txt', 'x\n');
  await repo.write('.gitignore', 'ignored.txt\n');
  await repo.write('ignored.txt', 'x\n');

  const { edits, unmerged, untracked } = await workspace.status({ untracked: true });
  expect(Object.fromEntries(edits.map((edit) => [edit.path, edit.staged + edit.unstaged]))).toEqual({
    'with  two spaces.txt': '.M',
    'ünï "q" 日本.txt': '.M',
    'line\nbreak.txt': 'M.',
    'to-rename.txt': 'D.',
    'renamed.txt': 'A.',
    'both.txt': 'MM',
    'gone.txt': '.D',
    'script.sh': '.M',
    'intended.txt': '.A',
  });
  expect(unmerged).toEqual([]);
  expect(untracked).toEqual(['.gitignore', 'new dir/untracked\nfile.txt']);
  expect((await workspace.status({ untracked: false })).untracked).toEqual([]);
  expect(await workspace.ignored([path('ignored.txt'), path('kept.txt'), path('x/y')])).toEqual(['ignored.txt']);
});

test('a path beyond a link does not hide an ignored one', async () => {
  await symlink('new dir', join(repo.root, 'link'));
  expect(await workspace.ignored([path('link/x'), path('ignored.txt')])).toEqual(['ignored.txt']);
  await rm(join(repo.root, 'link'));
});

test('thousands of paths beyond a link, which a plan may name, are queried in one go', async () => {
  const commands: string[] = [];
  await symlink('new dir', join(repo.root, 'link'));
  const traced = await openRepository({
    cwd: repo.root,
    env: process.env,
    trace: (line) => commands.push(line),
  });
  const paths = Array.from({ length: 3000 }, (_, at) => path(`link/${at}/x`));
  expect(await traced.workspace?.ignored([...paths, path('ignored.txt'), path('ignored.txt')])).toEqual([
    'ignored.txt',
  ]);
  expect(commands.filter((line) => line.includes('check-ignore'))).toHaveLength(1);
  await traced.close();
  await rm(join(repo.root, 'link'));
});

test('looking does not write: an index with outdated times stays unchanged', async () => {
  await utimes(join(repo.root, 'kept.txt'), 1769248800, 1769248800);
  const before = await repo.fingerprint();
  await workspace.status({ untracked: true });
  expect((await repo.fingerprint()).index).toBe(before.index);
});

test('two scans detect an edit of the same size, in the session directory as well', async () => {
  await repo.write('.teddy/sessions/x/01/plan.md', 'x\n');
  const before = await workspace.scan();
  expect([...before.keys()]).toContain('both.txt');
  expect([...before.keys()]).toContain('.teddy/sessions/x/01/plan.md');
  await repo.write('both.txt', 'not edited\n'.slice(0, 'and edited\n'.length));
  await repo.write('.teddy/sessions/x/01/plan.md', 'y\n');
  const after = await workspace.scan();
  const changed = [...after].filter(([name, print]) => before.get(name) !== print).map(([name]) => name);
  expect(changed.toSorted()).toEqual(['.teddy/sessions/x/01/plan.md', 'both.txt']);
  await rm(join(repo.root, '.teddy'), { recursive: true });
});

test('a submodule is marked as one, even if its owner has set it to be ignored', async () => {
  const inner = await makeScratchRepository({ 'inner.txt': 'a\n' });
  await repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'sub');
  await repo.git('commit', '--quiet', '-m', 'Add a submodule');
  await repo.git('config', 'submodule.sub.ignore', 'all');
  await writeFile(join(repo.root, 'sub/inner.txt'), 'b\n');
  const { edits } = await workspace.status({ untracked: false });
  expect(edits.find((edit) => edit.path === 'sub')).toEqual({
    path: 'sub',
    staged: '.',
    unstaged: 'M',
    submodule: true,
  });
  expect([...(await workspace.scan()).keys()]).not.toContain('sub');
  const other = await makeScratchRepository({ 'inner.txt': 'c\n' });
  const before = await repo.git('rev-parse', 'HEAD^{tree}');
  gitBytes(repo.root, ['update-index', '--cacheinfo', `160000,${await other.git('rev-parse', 'HEAD')},sub`]);
  const after = await repo.git('write-tree');
  const changes = await repository.store.diffTrees(before as never, after as never);
  expect(changes.map((change) => [change.path, change.change, change.mode])).toEqual([['sub', 'modified', '160000']]);
  await repo.git('reset', '--quiet', '--hard');
  await Promise.all([inner.close(), other.close()]);
});

test('unmerged paths are recognized, with spaces in their names', async () => {
  await repo.commit({ 'a conflict.txt': 'base\n' });
  await repo.git('switch', '--quiet', '-c', 'side');
  await repo.commit({ 'a conflict.txt': 'side\n' });
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'a conflict.txt': 'main\n' });
  expect(await repo.gitSucceeds('merge', '--quiet', 'side')).toBe(false);
  expect(await workspace.operationInProgress(null)).toBe('merge');
  expect((await workspace.status({ untracked: false })).unmerged).toEqual(['a conflict.txt']);
  await repo.git('merge', '--abort');
  expect(await workspace.operationInProgress(null)).toBeNull();
});

test('an edited file whose name is not UTF-8 only blocks a snapshot, which names it', async () => {
  const scratch = await makeScratchRepository();
  const name = Buffer.concat([Buffer.from(`${scratch.root}/caf`), Buffer.from([0xe9])]);
  await writeFile(name, 'a\n');
  await scratch.write('real \uFFFD.txt', 'a\n');
  await scratch.git('add', '--all');
  await scratch.git('commit', '--quiet', '-m', 'Odd names');
  await writeFile(name, 'b\n');
  await scratch.write('real \uFFFD.txt', 'b\n');
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: scratch.root, env: process.env, notices });
  const status = await project.repository.workspace?.status({ untracked: false });
  expect(status?.edits.map((edit) => [edit.path, edit.quotedName])).toEqual([
    ['caf\uFFFD', '"caf\\351"'],
    ['real \uFFFD.txt', undefined],
  ]);
  const { session } = await newSession(project, { name: 'odd', switch: true });
  const before = await scratch.git('rev-parse', 'HEAD');
  await expect(say(project, 'One', planOf([create('one.txt')]))).rejects.toMatchObject({
    code: 'SNAPSHOT_FAILED',
    message: expect.stringContaining('"caf\\351"'),
    hint: expect.stringContaining('Commit'),
  });
  expect(await scratch.git('rev-parse', `teddy/${session}`)).toBe(before);
  await scratch.git('commit', '--quiet', '--all', '-m', 'Mine');
  await say(project, 'One', planOf([create('one.txt')]));
  await run(project);
  expect(await scratch.git('status', '--porcelain')).toBe('');
  await project.repository.close();
  await scratch.close();
});

test('while the index is written nothing counts as half staged: the scan is repeated afterwards', async () => {
  const scratch = await makeScratchRepository({ 'a.txt': 'a\n' });
  const opened = await openRepository({ cwd: scratch.root, env: process.env });
  const at = (name: string) => join(scratch.root, '.git', name);
  // A branch has moved, and its index is ready beside the old one.
  await copyFile(at('index'), at('old-index'));
  await scratch.commit({ 'a.txt': 'b\n' });
  await rename(at('index'), at('new-index'));
  await rename(at('old-index'), at('index'));
  const edits = async () => (await opened.workspace?.status({ untracked: false }))?.edits;
  expect(await edits()).toMatchObject([{ path: 'a.txt', staged: 'M', unstaged: 'M' }]);
  await writeFile(at('index.lock'), '');
  const looking = edits();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await rename(at('new-index'), at('index'));
  await rm(at('index.lock'));
  expect(await looking).toEqual([]);
  await opened.close();
  await scratch.close();
});

test('the status of one path covers only that path, even with characters that are special to git', async () => {
  const scratch = await makeScratchRepository({ 'dir/a*.txt': 'one\n', 'dir/ab.txt': 'one\n' });
  for (const text of ['two\n', 'three\n']) {
    for (const name of ['dir/a*.txt', 'dir/ab.txt']) await scratch.write(name, text);
    if (text === 'two\n') await scratch.git('add', '.');
  }
  const opened = await openRepository({ cwd: join(scratch.root, 'dir'), env: process.env });
  const status = await opened.workspace?.status({ untracked: false, path: path('dir/a*.txt') });
  expect(status?.edits).toMatchObject([{ path: 'dir/a*.txt', staged: 'M', unstaged: 'M' }]);
  await opened.close();
  await scratch.close();
});
