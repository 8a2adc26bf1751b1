/** Many commits written together equal those written one after another, in git and in memory. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { LineCommit, Store } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { editTree } from '../../src/session/paths/edit-tree.ts';
import { path } from '../support/disk.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

interface Backend {
  store: Store;
  close(): Promise<void>;
}

const files = { 'a.txt': 'a\n', 'dir/b.txt': 'b\n', 'dir.sh': 'run\n', 'dir0/c.txt': 'c\n' };

async function openMemory(): Promise<Backend> {
  return { store: (await memoryProject(files)).repository.store, close: async () => undefined };
}

async function openGit(objectFormat: 'sha1' | 'sha256'): Promise<Backend> {
  const scratch = await makeScratchRepository(files, { objectFormat });
  const repository = await openRepository({ cwd: scratch.root, env: process.env });
  const close = async () => {
    await repository.close();
    await scratch.close();
  };
  return { store: repository.store, close };
}

const ident = 'Ada Example <ada@example.org> 1769248800 -0330';

/** A file that grows, in one directory after another, with names that git sorts differently from a plain list. */
function makeCommits(): LineCommit[] {
  const encoder = new TextEncoder();
  const turns = Array.from({ length: 12 }, (_, at) => String(at + 1).padStart(2, '0'));
  return ['dir/sub', ...turns.map((turn) => `dir/turns/${turn}`)].flatMap((dir) =>
    Array.from({ length: 9 }, (_, at) => ({
      author: ident,
      committer: ident,
      message: `${dir} ${at}\n\nGrüße: ${at}\n`,
      files: [{ path: path(`${dir}/log`), bytes: encoder.encode(`${dir} é\n`.repeat((at + 1) * 40)) }],
    })),
  );
}

async function writeOneByOne(store: Store, parent: Oid, commits: LineCommit[]): Promise<Oid> {
  let tip = parent;
  for (const { files, ...commit } of commits) {
    const batch = store.batch();
    const edits = await Promise.all(
      files.map(async ({ path, bytes }) => ({
        path,
        entry: { mode: '100644' as const, oid: await batch.blob(bytes) },
      })),
    );
    const tree = await editTree(store, batch, (await store.readCommit(tip)).tree, edits);
    tip = await batch.commit({ ...commit, tree, parents: [tip] });
    await batch.flush();
  }
  return tip;
}

async function* inTurn<Value>(values: Value[]): AsyncIterable<Value> {
  yield* values;
}

describe.each([
  ['in memory', openMemory],
  ['in git', () => openGit('sha1')],
  ['in git with SHA-256', () => openGit('sha256')],
])('a line %s', (_, open) => {
  let backend: Backend;
  let store: Store;
  let head: Oid;

  beforeAll(async () => {
    backend = await open();
    store = backend.store;
    head = (await store.resolve('HEAD')) as Oid;
  });
  afterAll(() => backend.close());

  test('has the ids that the same commits have one by one, and can be read back', async () => {
    const commits = makeCommits();
    const tip = await store.writeLine(head, inTurn(commits));
    expect((await store.readCommit(tip)).message).toBe(commits.at(-1)?.message);
    await store.updateRefs([{ ref: 'refs/heads/many' as RefName, old: null, new: tip }], 'test');
    const last = await store.readFile(tip, path('dir/turns/12/log'));
    expect(Uint8Array.from(last?.bytes ?? [])).toEqual(commits.at(-1)?.files[0]?.bytes);
    expect(await store.readFile(tip, path('dir/b.txt'))).not.toBeNull();
    expect(await writeOneByOne(store, head, commits)).toBe(tip);
  });

  test('without a commit is its parent', async () => {
    expect(await store.writeLine(head, inTurn<LineCommit>([]))).toBe(head);
  });

  test('fails like its commits', async () => {
    async function* failing(): AsyncIterable<LineCommit> {
      yield* makeCommits();
      throw new Error('no more');
    }
    await expect(store.writeLine(head, failing())).rejects.toThrow('no more');
  });

  test('commits are found by a text in their message, along first parents of the given refs', async () => {
    const [one] = makeCommits();
    if (one === undefined) throw new Error('There is none.');
    const tip = await store.writeLine(head, inTurn([{ ...one, message: 'x\n\nFind: a.b\n' }]));
    await store.updateRefs([{ ref: 'refs/heads/found/one' as RefName, old: null, new: tip }], 'test');
    expect(await store.findCommits('Find: a.b', 'refs/heads/found/')).toEqual([tip]);
    expect(await store.findCommits('Find: a.b', 'refs/remotes/*/found/')).toEqual([]);
    expect(await store.findCommits('Find: .*', 'refs/heads/found/')).toEqual([]);
  });
});
