/** The port `Workspace` for status, snapshots and publishing, kept by git itself and by the in-memory one. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Publication, Repository, Workspace } from '../../src/ports/git.ts';
import type { Oid, RefName, RepoPath } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

interface Backend {
  repository: Repository;
  workspace: Workspace;
  write(files: Record<string, string | null>): Promise<void>;
  stage(...paths: string[]): Promise<void>;
  close(): Promise<void>;
}

const first = { 'a.txt': 'a\n', 'dir/b.txt': 'b\n', 'dir/c.txt': 'c\n', '.gitignore': '*.log\n' };

async function openMemory(): Promise<Backend> {
  const project = await memoryProject(first);
  const { write, stage, repository } = project;
  return { repository, workspace: repository.workspace, write, stage, close: async () => undefined };
}

async function openGit(): Promise<Backend> {
  const scratch = await makeScratchRepository(first);
  const repository = await openRepository({ cwd: scratch.root, env: process.env });
  const { workspace } = repository;
  if (workspace === null) throw new Error('There is no work tree.');
  return {
    repository,
    workspace,
    async write(files) {
      for (const [name, text] of Object.entries(files)) {
        if (text === null) await rm(join(scratch.root, name), { force: true });
        else await scratch.write(name, text);
      }
    },
    stage: async (...paths) => void (await scratch.git('add', '-A', '--', ...paths)),
    async close() {
      await repository.close();
      await scratch.close();
    },
  };
}

describe.each([
  ['in memory', openMemory],
  ['in git', openGit],
])('a workspace %s', (_, open) => {
  let backend: Backend;
  afterEach(() => backend.close());

  const pathsOf = async (oid: Oid) =>
    (await backend.repository.store.listTree(oid)).map(({ path: name }) => name).toSorted();
  const textAt = async (oid: Oid, name: string) => {
    const found = await backend.repository.store.readFile(oid, path(name));
    return found && new TextDecoder().decode(found.bytes);
  };

  test('staged changes are reported against HEAD, with modes and blobs', async () => {
    backend = await open();
    await backend.write({ 'a.txt': 'edited\n', 'dir/b.txt': null, 'new.txt': 'n\n' });
    expect(await backend.workspace.stagedChanges(null)).toEqual([]);
    await backend.stage('a.txt', 'dir/b.txt', 'new.txt');
    await backend.write({ 'a.txt': 'again\n' });
    const staged = await backend.workspace.stagedChanges(null);
    expect(staged.map(({ path: name, change, oldMode, mode }) => [name, change, oldMode, mode])).toEqual([
      ['a.txt', 'modified', '100644', '100644'],
      ['dir/b.txt', 'deleted', '100644', null],
      ['new.txt', 'added', null, '100644'],
    ]);
    const read = async (oid: Oid) => new TextDecoder().decode(await backend.repository.store.readBlob(oid));
    const texts = staged.map(({ after }) => after && read(after));
    expect(await Promise.all(texts)).toEqual(['edited\n', null, 'n\n']);
  });

  test('status reports edits, staged and not, and untracked files without ignored ones', async () => {
    backend = await open();
    await backend.write({
      'a.txt': 'edited\n',
      'dir/b.txt': null,
      'new.txt': 'n\n',
      'own/x.txt': 'x\n',
      'x.log': 'l\n',
    });
    await backend.write({ 'dir/c.txt': 'staged\n' });
    await backend.stage('dir/c.txt', 'new.txt');
    const status = await backend.workspace.status({ untracked: true });
    const rows = status.edits.map(({ path: name, staged, unstaged }) => `${staged}${unstaged} ${name}`);
    expect(rows.toSorted()).toEqual(['.D dir/b.txt', '.M a.txt', 'A. new.txt', 'M. dir/c.txt']);
    expect(status.untracked).toEqual(['own/x.txt']);
    expect(status.unmerged).toEqual([]);
    expect((await backend.workspace.status({ untracked: false })).untracked).toEqual([]);
    expect(await backend.workspace.ignored(['x.log', 'own/x.txt'].map(path))).toEqual(['x.log']);
  });

  test('a snapshot contains staged changes and tracked edits, without exceptions, and leaves the index alone', async () => {
    backend = await open();
    await backend.write({
      'a.txt': 'edited\n',
      'dir/c.txt': 'left\n',
      'dir/b.txt': null,
      'new.txt': 'n\n',
      'u.txt': 'u\n',
    });
    await backend.stage('new.txt');
    const before = await backend.workspace.status({ untracked: true });
    const tree = await backend.workspace.snapshotTree([path('dir/c.txt')]);
    expect(await pathsOf(tree)).toEqual(['.gitignore', 'a.txt', 'dir/c.txt', 'new.txt']);
    expect(await textAt(tree, 'a.txt')).toBe('edited\n');
    expect(await textAt(tree, 'dir/c.txt')).toBe('c\n');
    expect(await backend.workspace.status({ untracked: true })).toEqual(before);
  });

  test('the tree of selected paths takes exactly these from the disk, including deleted ones', async () => {
    backend = await open();
    await backend.write({
      'a.txt': 'edited\n',
      'dir/b.txt': null,
      'dir/c.txt': 'not asked for\n',
      'deep/er/n.txt': 'n\n',
    });
    const head = (await backend.workspace.head()).oid as Oid;
    const { tree: base } = await backend.repository.store.readCommit(head);
    const tree = await backend.workspace.treeOfPaths(base, ['a.txt', 'dir/b.txt', 'deep/er/n.txt'].map(path));
    expect(await pathsOf(tree)).toEqual(['.gitignore', 'a.txt', 'deep/er/n.txt', 'dir/c.txt']);
    expect(await textAt(tree, 'a.txt')).toBe('edited\n');
    expect(await textAt(tree, 'dir/c.txt')).toBe('c\n');
  });

  test('two scans show which paths changed in between', async () => {
    backend = await open();
    await backend.write({ 'a.txt': 'edited\n' });
    const before = await backend.workspace.scan();
    expect([...before.keys()]).toEqual(['a.txt']);
    await backend.write({ 'dir/c.txt': 'more\n', 'new.txt': 'n\n', 'a.txt': 'edited more\n', 'x.log': 'l\n' });
    const after = await backend.workspace.scan();
    const changed = [...after.keys()].filter((name) => before.get(name) !== after.get(name));
    expect(changed.toSorted()).toEqual(['a.txt', 'dir/c.txt', 'new.txt']);
  });

  async function prepare(text: string): Promise<Publication> {
    const { store } = backend.repository;
    const { ref, oid } = await backend.workspace.head();
    const batch = store.batch();
    const blob = await batch.blob(text);
    const teddy = await batch.tree([{ mode: '100644', name: 'x.md', oid: blob }]);
    const { tree, author } = await store.readCommit(oid as Oid);
    const entries = await store.readTree(tree);
    const next = await batch.tree([...entries, { mode: '40000', name: '.teddy', oid: teddy }]);
    const parents = [oid as Oid];
    const commit = await batch.commit({ tree: next, parents, author, committer: author, message: 'x\n' });
    await batch.flush();
    const file: RepoPath = path('.teddy/x.md');
    return {
      ref: ref as RefName,
      old: oid,
      new: commit,
      reflog: 'test',
      index: [{ path: file, entry: { mode: '100644', oid: blob } }],
      files: [{ path: file, bytes: Buffer.from(text) }],
    };
  }

  test('publishing moves ref, index and files together, and edited files stay edited', async () => {
    backend = await open();
    await backend.write({ 'a.txt': 'edited\n' });
    const publication = await prepare('one\n');
    expect(await backend.workspace.publish(publication)).toBe('done');
    expect(await backend.workspace.head()).toEqual({ ref: 'refs/heads/main', oid: publication.new });
    expect(Buffer.from((await backend.workspace.readDisk(path('.teddy/x.md'))) ?? []).toString()).toBe('one\n');
    const { edits, untracked } = await backend.workspace.status({ untracked: true });
    expect(edits.map(({ path: name }) => name)).toEqual(['a.txt']);
    expect(untracked).toEqual([]);
  });

  test('publishing on a ref that has moved, or that HEAD is not on, changes nothing', async () => {
    backend = await open();
    const publication = await prepare('one\n');
    const other = { ...publication, ref: 'refs/heads/other' as RefName };
    expect(await backend.workspace.publish({ ...publication, old: publication.new })).toBe('moved');
    expect(await backend.workspace.publish(other)).toBe('moved');
    expect(await backend.workspace.head()).toEqual({ ref: 'refs/heads/main', oid: publication.old });
    expect(await backend.workspace.readDisk(path('.teddy/x.md'))).toBeNull();
    expect(await backend.workspace.status({ untracked: true })).toEqual({ edits: [], unmerged: [], untracked: [] });
  });

  test('switching keeps edits that are not in the way, and refuses if some are', async () => {
    backend = await open();
    const { store } = backend.repository;
    const publication = await prepare('one\n');
    await store.updateRefs([{ ref: 'refs/heads/line' as RefName, old: null, new: publication.new }], 'test');
    await backend.write({ 'a.txt': 'edited\n', '.teddy/x.md': 'in the way\n' });
    await expect(backend.workspace.switchTo('refs/heads/line' as RefName)).rejects.toMatchObject({
      code: 'FILES_IN_THE_WAY',
    });
    expect((await backend.workspace.head()).ref).toBe('refs/heads/main');
    const isOn = (name: string) => backend.workspace.isOn(`refs/heads/${name}` as RefName);
    expect([await isOn('main'), await isOn('line'), await isOn('mai')]).toEqual([true, false, false]);
    await backend.write({ '.teddy/x.md': 'one\n' });
    await backend.stage('.teddy/x.md');
    await backend.workspace.switchTo('refs/heads/line' as RefName);
    expect(await backend.workspace.head()).toEqual({ ref: 'refs/heads/line', oid: publication.new });
    expect([await isOn('main'), await isOn('line')]).toEqual([false, true]);
    const { edits } = await backend.workspace.status({ untracked: false });
    expect(edits.map(({ path: name }) => name)).toEqual(['a.txt']);
  });

  test('a lost session file can be rewritten', async () => {
    backend = await open();
    await backend.workspace.writeSessionFile(path('.teddy/deep/er.md'), Buffer.from('again\n'));
    expect(Buffer.from((await backend.workspace.readDisk(path('.teddy/deep/er.md'))) ?? []).toString()).toBe('again\n');
    expect(await backend.workspace.readDisk(path('.teddy/deep'))).toBeNull();
    expect(await backend.workspace.operationInProgress('refs/heads/main' as RefName)).toBeNull();
  });

  test('unstaging sets the index to HEAD for exactly these paths, and leaves the files alone', async () => {
    backend = await open();
    await backend.write({ 'a.txt': 'edited\n', 'dir/b.txt': null, 'dir/c.txt': 'more\n', 'new [x].txt': 'n\n' });
    await backend.stage('a.txt', 'dir/b.txt', 'dir/c.txt', 'new [x].txt');
    await backend.workspace.unstage(['a.txt', 'dir/b.txt', 'new [x].txt', 'none.txt'].map(path));
    await backend.workspace.unstage([]);
    const { edits, untracked } = await backend.workspace.status({ untracked: true });
    const rows = edits.map(({ path: name, staged, unstaged }) => `${staged}${unstaged} ${name}`);
    expect(rows.toSorted()).toEqual(['.D dir/b.txt', '.M a.txt', 'M. dir/c.txt']);
    expect(untracked).toEqual(['new [x].txt']);
  });

  test('a scan begins with git’s letters, and untracked directories are listed at the outermost level', async () => {
    backend = await open();
    await backend.write({ 'a.txt': 'edited\n', 'own/deep/x.txt': 'x\n', 'dir/new.txt': 'n\n' });
    await backend.stage('a.txt');
    const scan = await backend.workspace.scan();
    const letters = [...scan].map(([name, print]) => `${print.split(' ')[0]} ${name}`);
    expect(letters.toSorted()).toEqual(['?? dir/new.txt', '?? own/deep/x.txt', 'M. a.txt']);
    const directories = await backend.workspace.untrackedDirectories();
    expect(directories).toContain('own');
    expect(directories).not.toContain('dir');
  });
});
