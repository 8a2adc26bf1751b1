/** The ports' contracts for merges, ancestry and fast-forwards, kept by git itself and by the in-memory repository. */
import { describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Repository, TreeEntry, Workspace } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

interface Backend {
  repository: Repository;
  workspace: Workspace;
  write(path: string, text: string): Promise<void>;
  close(): Promise<void>;
}

async function openMemory(): Promise<Backend> {
  const { repository, write } = await memoryProject({ 'a.txt': 'a\n' });
  const { workspace } = repository;
  return { repository, workspace, write: (path, text) => write({ [path]: text }), close: async () => undefined };
}

async function openGit(): Promise<Backend> {
  const scratch = await makeScratchRepository({ 'a.txt': 'a\n' });
  const repository = await openRepository({ cwd: scratch.root, env: process.env });
  if (repository.workspace === null) throw new Error('There is no work tree.');
  const close = async () => {
    await repository.close();
    await scratch.close();
  };
  const { workspace } = repository;
  return { repository, workspace, write: (path, text) => scratch.write(path, text), close };
}

const ada = 'Ada Example <ada@example.org> 1769248800 +0000';

describe.each([
  ['in memory', openMemory],
  ['in git', openGit],
])('a repository %s', (_, open) => {
  test('finds common ancestors, merges trees by file, and moves a branch only forward', async () => {
    const { repository, workspace, write, close } = await open();
    const { store } = repository;
    const commit = async (files: Record<string, string>, parents: Oid[], message = 'A commit\n') => {
      const batch = store.batch();
      const entries = await Promise.all(
        Object.entries(files).map(async ([name, text]): Promise<TreeEntry> => ({
          mode: '100644',
          name,
          oid: await batch.blob(text),
        })),
      );
      const tree = await batch.tree(entries);
      const oid = await batch.commit({ tree, parents, author: ada, committer: ada, message });
      await batch.flush();
      return { oid, tree };
    };
    const first = (await workspace.head()).oid as Oid;
    const base = { oid: first, tree: (await store.readCommit(first)).tree };
    const one = await commit({ 'a.txt': 'one\n' }, [first], 'One\n\nA-Word: x\n');
    const two = await commit({ 'a.txt': 'a\n', 'b.txt': 'b\n' }, [first]);
    const both = await commit({ 'a.txt': 'one\n', 'b.txt': 'b\n' }, [two.oid, one.oid]);
    const other = await commit({ 'a.txt': 'other\n' }, [one.oid]);
    const alone = await commit({ 'a.txt': 'alone\n' }, []);

    expect(await store.mergeBase(one.oid, [two.oid])).toBe(first);
    expect(await store.mergeBase(other.oid, [two.oid, one.oid])).toBe(one.oid);
    expect(await store.mergeBase(one.oid, [alone.oid])).toBeNull();
    expect(await store.findReachable('A-Word: ', both.oid, [])).toEqual([one.oid]);
    expect(await store.findReachable('A-Word: ', both.oid, [one.oid])).toEqual([]);

    expect(await store.mergeTrees(base.tree, one.tree, two.tree)).toEqual({ tree: both.tree, conflicts: [] });
    expect(await store.mergeTrees(base.tree, two.tree, two.tree)).toEqual({ tree: two.tree, conflicts: [] });
    expect(await store.mergeTrees(base.tree, one.tree, alone.tree)).toEqual({ tree: null, conflicts: ['a.txt'] });

    await workspace.fastForward(both.oid);
    expect(await workspace.head()).toEqual({ ref: 'refs/heads/main', oid: both.oid });
    expect(await workspace.status({ untracked: true })).toEqual({ edits: [], unmerged: [], untracked: [] });
    await expect(workspace.fastForward(other.oid)).rejects.toMatchObject({ code: 'REF_MOVED' });
    expect((await workspace.head()).oid).toBe(both.oid);

    const next = await commit({ 'a.txt': 'two\n', 'b.txt': 'b\n', 'c.txt': 'c\n' }, [both.oid]);
    await write('a.txt', 'two\n');
    await write('c.txt', 'of the user\n');
    await expect(workspace.fastForward(next.oid)).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
    await expect(workspace.rehearse(next.tree)).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
    await write('c.txt', 'c\n');
    await workspace.rehearse(next.tree);
    expect((await workspace.head()).oid).toBe(both.oid);
    await workspace.fastForward(next.oid);
    expect(await workspace.status({ untracked: true })).toEqual({ edits: [], unmerged: [], untracked: [] });
    await close();
  });
});
