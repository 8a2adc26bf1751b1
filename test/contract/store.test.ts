/** The contract of the port `Store`, kept by git itself and by the in-memory repository that the workflow tests use. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { ObjectBatch, Repository, Store, TreeEntry } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

interface Backend {
  repository: Repository;
  close(): Promise<void>;
}

async function openMemory(): Promise<Backend> {
  return { repository: (await memoryProject()).repository, close: async () => undefined };
}

async function openGit(): Promise<Backend> {
  const scratch = await makeScratchRepository({ 'README.md': '# Notes\n' });
  const repository = await openRepository({ cwd: scratch.root, env: process.env });
  return {
    repository,
    async close() {
      await repository.close();
      await scratch.close();
    },
  };
}

const ada = 'Ada Example <ada@example.org> 1769248800 -0330';
const absent = 'f'.repeat(40) as Oid;
const refOf = (name: string) => `refs/heads/${name}` as RefName;
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const collected: Value[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

describe.each([
  ['in memory', openMemory],
  ['in git', openGit],
])('a store %s', (_, open) => {
  let backend: Backend;
  let store: Store;
  let made: Awaited<ReturnType<typeof makeHistory>>;

  beforeAll(async () => {
    backend = await open();
    store = backend.repository.store;
    made = await makeHistory(store);
  });
  afterAll(() => backend.close());

  describe('a search in many trees', () => {
    const { signal } = new AbortController();
    const paths = ['*/plan.md', '*/transcript.jsonl', '*/output/*'];
    let trees: { first: Oid; second: Oid; blob: Oid; commit: Oid };
    const search = (
      texts: string[],
      asked: string[] = [trees.second, trees.first],
      more: { ignoresCase?: boolean } = {},
    ) => store.searchTrees(asked, { texts, ignoresCase: false, paths, signal, ...more });

    beforeAll(async () => {
      const batch = store.batch();
      const blob = async (text: string) => ({ mode: '100644' as const, oid: await batch.blob(text) });
      const plan = await blob('# ONE\n\nand -two\n');
      const output = await batch.tree([
        { name: '1.log', ...(await blob('three\0 lines\n')) },
        { name: '2', mode: '40000', oid: await batch.tree([{ name: '3.log', ...plan }]) },
      ]);
      const turn = await batch.tree([
        { name: 'other.md', ...(await blob('One two\n')) },
        { name: 'output', mode: '40000', oid: output },
        { name: 'plan.md', ...plan },
        { name: 'transcript.jsonl', ...(await blob('{"one":"\\u0000"}\n')) },
      ]);
      const dir = (name: string) => ({ mode: '40000' as const, name, oid: turn });
      const first = await batch.tree([dir('01'), dir('02')]);
      const second = await batch.tree([dir('01')]);
      const sessions = await batch.tree([{ mode: '40000', name: '20260124-ä', oid: first }]);
      const root = await batch.tree([{ mode: '40000', name: '.teddy', oid: sessions }]);
      const commit = await batch.commit({
        tree: root,
        parents: [],
        author: ada,
        committer: ada,
        message: 'Add them\n',
      });
      await batch.flush();
      trees = { first, second, blob: plan.oid, commit };
    });

    test('finds the files on the paths that contain one of the texts, tree by tree', async () => {
      expect(await search(['-two', 'nothing'])).toEqual([
        { tree: trees.second, path: '01/plan.md' },
        { tree: trees.first, path: '01/plan.md' },
        { tree: trees.first, path: '02/plan.md' },
      ]);
      expect(await search(['one', '-two'])).toHaveLength(6);
      expect(await search(['\\u'])).toHaveLength(3);
      expect(await search(['three'], [trees.second])).toEqual([{ tree: trees.second, path: '01/output/1.log' }]);
    });

    test('is case-sensitive by default, and takes a text literally', async () => {
      expect(await search(['and -Two'])).toEqual([]);
      expect(await search(['and -Two'], [trees.second], { ignoresCase: true })).toHaveLength(1);
      for (const text of ['--output=x', 'o.e', '-e', '$(x)']) expect(await search([text])).toEqual([]);
    });

    test('accepts a tree by a commit’s path, and a blob by itself', async () => {
      const named = `${trees.commit}:.teddy/20260124-ä`;
      expect(await search(['-two'], [named])).toEqual([
        { tree: named, path: '01/plan.md' },
        { tree: named, path: '02/plan.md' },
      ]);
      expect(await search(['-two'], [trees.blob])).toEqual([{ tree: trees.blob, path: '' }]);
    });

    test('skips missing ones', async () => {
      const asked = [`${trees.commit}:.teddy/none`, trees.second, `${trees.commit}:none/at/all`];
      expect(await search(['-two'], asked)).toEqual([{ tree: trees.second, path: '01/plan.md' }]);
      expect(await search(['-two'], asked.slice(0, 1))).toEqual([]);
      expect(await search(['-two'], [])).toEqual([]);
    });
  });

  test('blobs are returned byte for byte, with their size', async () => {
    const bytes = Uint8Array.from([0, 13, 10, 255, 128]);
    const batch = store.batch();
    const oid = await batch.blob(bytes);
    await batch.flush();
    expect(Buffer.from(await store.readBlob(oid)).equals(bytes)).toBe(true);
    expect(await store.readSize(oid)).toBe(5);
    expect(await store.readSize(absent)).toBeNull();
  });

  test('an id is known before the flush, and nothing can be read until then', async () => {
    const batch = store.batch();
    const oid = await batch.blob('not yet\n');
    expect(oid).toMatch(/^[0-9a-f]{40}$/);
    await expect(store.readBlob(oid)).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
    expect(await store.readSize(oid)).toBeNull();
    await batch.flush();
    expect(textOf(await store.readBlob(oid))).toBe('not yet\n');
  });

  test('ids are those by git', async () => {
    const batch = store.batch();
    expect(await batch.blob('hello\n')).toBe('ce013625030ba8dba906f756967f9e9ca394464a');
    expect(await batch.tree([])).toBe('4b825dc642cb6eb9a060e54bf8d69288fbee4904');
    expect(made.merge).toBe('83dacf945495b5910dc22f04c7209a1dccee4d50');
  });

  test('a tree has its entries in git’s order, where a directory sorts as if it ended in a slash', async () => {
    const { tree } = await store.readCommit(made.first);
    expect((await store.readTree(tree)).map(({ mode, name }) => `${mode} ${name}`)).toEqual([
      '100644 a.txt',
      '100755 dir.sh',
      '40000 dir',
    ]);
  });

  test('a commit keeps parents, identities and message', async () => {
    expect(await store.readCommit(made.merge)).toEqual({
      tree: (await store.readCommit(made.second)).tree,
      parents: [made.second, made.side],
      author: ada,
      committer: ada,
      message: 'merge\n\nOne: two\n',
    });
  });

  test('an object that is missing or of another type is a damaged session', async () => {
    const { tree } = await store.readCommit(made.first);
    for (const read of [
      () => store.readBlob(absent),
      () => store.readBlob(tree),
      () => store.readTree(made.first),
      () => store.readTree(absent),
      () => store.readCommit(tree),
      () => store.readCommit(absent),
    ]) {
      await expect(read()).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
    }
  });

  test('files and directories are read at the path of a commit or a tree', async () => {
    const { tree } = await store.readCommit(made.first);
    for (const treeish of [made.first, tree]) {
      expect(textOf((await store.readFile(treeish, path('dir/b.txt')))?.bytes ?? new Uint8Array())).toBe('b\n');
      expect((await store.readDir(treeish, path('dir')))?.entries).toMatchObject([
        { name: 'b.txt' },
        { name: 'c.txt' },
      ]);
      expect((await store.readDir(treeish, path('')))?.oid).toBe(tree);
      expect(await store.readFile(treeish, path('dir'))).toBeNull();
      expect(await store.readFile(treeish, path('dir/none'))).toBeNull();
      expect(await store.readFile(treeish, path('a.txt/below'))).toBeNull();
      expect(await store.readDir(treeish, path('a.txt'))).toBeNull();
      expect(await store.readDir(treeish, path('none'))).toBeNull();
    }
  });

  test('a whole tree is listed with modes, in git’s order', async () => {
    expect((await store.listTree(made.first)).map(({ mode, path: name }) => `${mode} ${name}`)).toEqual([
      '100644 a.txt',
      '100755 dir.sh',
      '100644 dir/b.txt',
      '100644 dir/c.txt',
    ]);
  });

  test('the wanted files below a directory come in git’s order, with their paths from there', async () => {
    const read = async (treeish: Oid, dir: string, isWanted: (path: string) => boolean = () => true) =>
      (await collect(store.readFilesBelow(treeish, path(dir), isWanted)))
        .flat()
        .map((file) => [file.path, textOf(file.bytes)]);
    const { tree } = await store.readCommit(made.first);
    const inDir = [
      ['b.txt', 'b\n'],
      ['c.txt', 'c\n'],
    ];
    for (const treeish of [made.first, tree]) {
      expect(await read(treeish, 'dir')).toEqual(inDir);
      expect(await read(treeish, 'dir', (name) => name.startsWith('c'))).toEqual([['c.txt', 'c\n']]);
      expect(await read(treeish, '', (name) => name.startsWith('dir'))).toEqual([
        ['dir.sh', 'run\n'],
        ...inDir.map(([name, text]) => [`dir/${name}`, text]),
      ]);
      expect(await read(treeish, 'dir', () => false)).toEqual([]);
      expect(await read(treeish, 'none')).toEqual([]);
      expect(await read(treeish, 'a.txt')).toEqual([]);
    }
  });

  test('two trees differ in added, modified and deleted files, including changes of only the mode', async () => {
    const changes = await store.diffTrees(made.first, made.second);
    expect(changes.map(({ change, path: name, mode }) => [change, name, mode])).toEqual([
      ['modified', 'a.txt', '100644'],
      ['modified', 'dir.sh', '100644'],
      ['deleted', 'dir/b.txt', null],
      ['added', 'new/deep.txt', '100644'],
    ]);
    expect(changes[0]).toMatchObject({ before: expect.stringMatching(/^[0-9a-f]{40}$/), after: made.secondA });
    expect(changes[2]).toMatchObject({ after: null });
    expect(changes[3]).toMatchObject({ before: null });
    expect(await store.diffTrees(made.first, made.first)).toEqual([]);
    expect((await store.diffTrees(null, made.first)).map(({ change }) => change)).toEqual(Array(4).fill('added'));
  });

  test('a revision is a ref, a short branch name, HEAD or an id, and names a commit', async () => {
    const { tree } = await store.readCommit(made.first);
    expect(await store.resolve('refs/heads/line')).toBe(made.merge);
    expect(await store.resolve('line')).toBe(made.merge);
    expect(await store.resolve('HEAD')).toBe(await store.resolve('refs/heads/main'));
    expect(await store.resolve(made.first)).toBe(made.first);
    expect(await store.resolve('refs/heads/none')).toBeNull();
    expect(await store.resolve('none')).toBeNull();
    expect(await store.resolve(absent)).toBeNull();
    expect(await store.resolve(tree)).toBeNull();
    expect(await store.resolve('--all')).toBeNull();
    expect(await store.resolve('')).toBeNull();
  });

  test('first parents lead back to the root, past the second parent of a merge', async () => {
    const walked = await collect(store.firstParents(made.merge));
    for (const { oid, author, committer } of await collect(store.firstParentsOf([made.merge]))) {
      const commit = await store.readCommit(oid);
      expect({ oid, author, committer }).toEqual({ oid, author: commit.author, committer: commit.committer });
    }
    expect(walked.map(({ oid }) => oid)).toEqual([made.merge, made.second, made.first]);
    expect(walked.map(({ commit }) => commit.message)).toEqual(['merge\n\nOne: two\n', 'second\n', 'first\n']);
  });

  test('a walk leaves out commits reachable from another one, even through a merge', async () => {
    const walk = async (from: Oid, ...not: Oid[]) =>
      (await collect(store.firstParents(from, not))).map(({ oid }) => oid);
    expect(await walk(made.merge, made.first)).toEqual([made.merge, made.second]);
    expect(await walk(made.merge, made.second)).toEqual([made.merge]);
    expect(await walk(made.side, made.merge)).toEqual([]);
    expect(await walk(made.second, made.side)).toEqual([made.second]);
    expect(await walk(made.merge, made.side, made.second)).toEqual([made.merge]);
  });

  test('a walk of changes reports each commit’s changes from its first parent, oldest first', async () => {
    const walk = async (from: Oid, ...not: Oid[]) =>
      (await collect(store.walkChanges(from, not))).map(({ oid, changes }) => [
        oid,
        ...changes.map(({ change, path: name, oldMode, mode }) => `${change} ${name} ${oldMode} ${mode}`),
      ]);
    const steps = await walk(made.merge);
    expect(steps.map(([oid]) => oid)).toEqual([made.first, made.second, made.merge]);
    expect(steps[0]).toHaveLength(5);
    expect(steps[1]).toEqual([
      made.second,
      'modified a.txt 100644 100644',
      'modified dir.sh 100755 100644',
      'deleted dir/b.txt 100644 null',
      'added new/deep.txt null 100644',
    ]);
    expect(await walk(made.merge, made.second)).toEqual([steps[2]]);
    expect(await walk(made.first, made.merge)).toEqual([]);
    const asked = [
      { oid: made.merge, parent: made.second },
      { oid: made.first, parent: null },
      { oid: made.side, parent: made.second },
    ];
    const told = await collect(store.changesOf(asked));
    expect(told.map(({ oid }) => oid)).toEqual(asked.map(({ oid }) => oid));
    expect(told[0]?.changes).toHaveLength((steps[2]?.length ?? 0) - 1);
    expect(told[1]?.changes).toHaveLength((steps[0]?.length ?? 0) - 1);
    expect(told[2]?.changes).toMatchObject(await store.diffTrees(made.second, made.side));
    const [, second] = await collect(store.walkChanges(made.merge, []));
    expect(second?.commit).toEqual(await store.readCommit(made.second));
    expect(second?.changes).toMatchObject(await store.diffTrees(made.first, made.second));
    for await (const { oid } of store.walkChanges(made.merge, [])) {
      expect(oid).toBe(made.first);
      break;
    }
  });

  test('a commit is an ancestor of itself and of its descendants, not the other way round', async () => {
    expect(await store.isAncestor(made.first, made.merge)).toBe(true);
    expect(await store.isAncestor(made.side, made.merge)).toBe(true);
    expect(await store.isAncestor(made.merge, made.merge)).toBe(true);
    expect(await store.isAncestor(made.merge, made.first)).toBe(false);
    expect(await store.isAncestor(made.side, made.second)).toBe(false);
  });

  test('refs are listed below a prefix that ends at a slash', async () => {
    await store.updateRefs(
      [
        { ref: refOf('list/b'), old: null, new: made.second },
        { ref: refOf('list/a'), old: null, new: made.first },
        { ref: refOf('listing'), old: null, new: made.first },
      ],
      'test',
    );
    const names = async (...prefixes: string[]) => (await store.listRefs(...prefixes)).map(({ ref }) => ref);
    expect(await names('refs/heads/list/')).toEqual(['refs/heads/list/a', 'refs/heads/list/b']);
    expect(await names('refs/heads/list')).toEqual(['refs/heads/list/a', 'refs/heads/list/b']);
    expect(await names('refs/heads/listing')).toEqual(['refs/heads/listing']);
    expect(await names('refs/heads/none/')).toEqual([]);
    expect(await names('refs/heads/listing', 'refs/heads/list/')).toEqual(
      ['list/a', 'list/b', 'listing'].map((name) => `refs/heads/${name}`),
    );
    expect(await store.listRefs('refs/heads/list/')).toEqual([
      { ref: 'refs/heads/list/a', oid: made.first },
      { ref: 'refs/heads/list/b', oid: made.second },
    ]);
  });

  test('a star in a prefix stands for any remote', async () => {
    await store.updateRefs(
      [
        { ref: 'refs/remotes/one/teddy/x' as RefName, old: null, new: made.first },
        { ref: 'refs/remotes/two/teddy/y' as RefName, old: null, new: made.second },
        { ref: 'refs/remotes/two/other/z' as RefName, old: null, new: made.second },
      ],
      'test',
    );
    const expected = ['refs/remotes/one/teddy/x', 'refs/remotes/two/teddy/y'];
    expect((await store.listRefs('refs/remotes/*/teddy/')).map(({ ref }) => ref)).toEqual(expected);
    expect((await store.listRefs('refs/remotes/*/teddy/y')).map(({ ref }) => ref)).toEqual([expected[1]]);
  });

  test('a ref is created only if it does not exist, and moved and deleted only from its old value', async () => {
    const ref = refOf('moves');
    const update = (old: Oid | null, next: Oid | null) => store.updateRefs([{ ref, old, new: next }], 'test');
    expect(await update(made.first, made.second)).toBe('moved');
    expect(await store.resolve(ref)).toBeNull();
    expect(await update(null, made.first)).toBe('done');
    expect(await update(null, made.second)).toBe('moved');
    expect(await update(made.second, made.merge)).toBe('moved');
    expect(await store.resolve(ref)).toBe(made.first);
    expect(await update(made.first, made.second)).toBe('done');
    expect(await update(made.first, null)).toBe('moved');
    expect(await update(made.second, null)).toBe('done');
    expect(await store.resolve(ref)).toBeNull();
  });

  test('two refs move either both or not at all', async () => {
    const [one, two] = [refOf('pair-1'), refOf('pair-2')];
    const create = [one, two].map((ref) => ({ ref, old: null, new: made.first }));
    expect(await store.updateRefs(create, 'test')).toBe('done');
    const half = [
      { ref: one, old: made.first, new: made.second },
      { ref: two, old: made.second, new: made.merge },
    ];
    expect(await store.updateRefs(half, 'test')).toBe('moved');
    expect([await store.resolve(one), await store.resolve(two)]).toEqual([made.first, made.first]);
  });

  test('of many simultaneous updates from one value, exactly one wins', async () => {
    const ref = refOf('race');
    await store.updateRefs([{ ref, old: null, new: made.first }], 'test');
    const outcomes = await Promise.all(
      [made.second, made.side, made.merge].map((oid) => store.updateRefs([{ ref, old: made.first, new: oid }], 'test')),
    );
    expect(outcomes.toSorted()).toEqual(['done', 'moved', 'moved']);
  });
});

/** first <- second <- merge, with side (from first) as the second parent. `line` is at merge. */
async function makeHistory(store: Store) {
  const batch = store.batch();
  const file = async (name: string, text: string, mode: TreeEntry['mode'] = '100644'): Promise<TreeEntry> => ({
    mode,
    name,
    oid: await batch.blob(text),
  });
  const [b, c] = [await file('b.txt', 'b\n'), await file('c.txt', 'c\n')];
  const [a, script] = [await file('a.txt', 'a\n'), await file('dir.sh', 'run\n', '100755')];
  const dir = async (name: string, ...entries: TreeEntry[]): Promise<TreeEntry> => ({
    mode: '40000',
    name,
    oid: await batch.tree(entries),
  });
  const firstTree = await batch.tree([await dir('dir', b, c), script, a]);
  const secondA = await file('a.txt', 'changed\n');
  const plain: TreeEntry = { ...script, mode: '100644' };
  const secondTree = await batch.tree([
    await dir('new', await file('deep.txt', 'deep\n')),
    await dir('dir', c),
    plain,
    secondA,
  ]);
  const first = await commitOf(batch, firstTree, [], 'first\n');
  const second = await commitOf(batch, secondTree, [first], 'second\n');
  const side = await commitOf(batch, firstTree, [first], 'side\n');
  const merge = await commitOf(batch, secondTree, [second, side], 'merge\n\nOne: two\n');
  await batch.flush();
  await store.updateRefs([{ ref: refOf('line'), old: null, new: merge }], 'test');
  return { first, second, side, merge, secondA: secondA.oid };
}

function commitOf(batch: ObjectBatch, tree: Oid, parents: Oid[], message: string): Promise<Oid> {
  return batch.commit({ tree, parents, author: ada, committer: ada, message });
}
