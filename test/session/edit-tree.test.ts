import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Oid, RepoPath } from '../../src/names.ts';
import { editTree, type TreeEdit } from '../../src/session/paths/edit-tree.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { runs } from '../support/runs.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const { store } = (await memoryProject(null)).repository;

async function treeOf(files: Map<string, string>): Promise<Oid> {
  const batch = store.batch();
  const edits = await Promise.all([...files].map(([path, text]) => toEdit(batch, path, text)));
  const oid = await editTree(store, batch, null, edits);
  await batch.flush();
  return oid;
}

async function toEdit(batch: ReturnType<typeof store.batch>, path: string, text: string | null): Promise<TreeEdit> {
  const entry = text === null ? null : { mode: '100644' as const, oid: await batch.blob(text) };
  return { path: path as RepoPath, entry };
}

async function applyEdits(base: Oid | null, edits: [string, string | null][]): Promise<Oid> {
  const batch = store.batch();
  const list = await Promise.all(edits.map(([path, text]) => toEdit(batch, path, text)));
  const oid = await editTree(store, batch, base, list);
  await batch.flush();
  return oid;
}

async function filesOf(tree: Oid): Promise<Record<string, string>> {
  const files = await store.listTree(tree);
  const texts = await Promise.all(files.map(async ({ oid }) => Buffer.from(await store.readBlob(oid)).toString()));
  return Object.fromEntries(files.map(({ path }, at) => [path, texts[at] ?? '']));
}

/**
 * The naive model: everything at, above or below a written path is removed; a removal takes everything at or below it.
 */
function applyNaively(files: Map<string, string>, edits: [string, string | null][]): Record<string, string> {
  const next = new Map(files);
  for (const [path, text] of edits) {
    for (const name of files.keys()) {
      const isAtOrBelow = name === path || name.startsWith(`${path}/`);
      if (isAtOrBelow || (text !== null && path.startsWith(`${name}/`))) next.delete(name);
    }
    if (text !== null) next.set(path, text);
  }
  return Object.fromEntries([...next].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** No path is above another. */
function isPrefixFree(paths: string[]): boolean {
  return paths.every((path, at) => paths.every((other, to) => at === to || !`${other}/`.startsWith(`${path}/`)));
}

const part = fc.constantFrom('a', 'b', 'c.txt', 'a.b');
const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const text = fc.constantFrom('1', '2', '3');
const filesOrNone = fc
  .array(fc.tuple(path, text), { maxLength: 8 })
  .map((files) => new Map(files))
  .filter((files) => isPrefixFree([...files.keys()]));
const edits = fc
  .array(fc.tuple(path, fc.option(text)), { maxLength: 5 })
  .filter((list) => isPrefixFree(list.map(([name]) => name)));

describe('editing a tree', () => {
  slowTest('gives the same as a flat list of files, whatever is in the way', async () => {
    await fc.assert(
      fc.asyncProperty(filesOrNone, edits, async (files, list) => {
        const edited = await applyEdits(await treeOf(files), list);
        expect(await filesOf(edited)).toEqual(applyNaively(files, list));
      }),
      runs(100),
    );
  });

  test('leaves everything else with the same ids, including directories', async () => {
    const base = await treeOf(
      new Map([
        ['a/x', '1'],
        ['b/y', '2'],
        ['c', '3'],
      ]),
    );
    const edited = await applyEdits(base, [['a/x', '9']]);
    const [before, after] = await Promise.all([store.readTree(base), store.readTree(edited)]);
    expect(after.slice(1)).toEqual(before.slice(1));
    expect(after[0]).not.toEqual(before[0]);
  });

  test('that removes the last file of a directory removes the directory, up to the empty tree', async () => {
    const base = await treeOf(
      new Map([
        ['a/b/c', '1'],
        ['d', '2'],
      ]),
    );
    expect((await store.readTree(await applyEdits(base, [['a/b/c', null]]))).map(({ name }) => name)).toEqual(['d']);
    const empty = await applyEdits(base, [
      ['a', null],
      ['d', null],
    ]);
    expect(empty).toBe('4b825dc642cb6eb9a060e54bf8d69288fbee4904');
  });

  test('puts a whole directory at a path, with later edits below it on top', async () => {
    const teddy = await treeOf(
      new Map([
        ['x', '1'],
        ['y', '2'],
      ]),
    );
    const base = await treeOf(
      new Map([
        ['.teddy/old', '0'],
        ['a', '1'],
      ]),
    );
    const batch = store.batch();
    const over = await toEdit(batch, '.teddy/x', '9');
    const whole: TreeEdit = { path: '.teddy' as RepoPath, entry: { mode: '40000', oid: teddy } };
    for (const list of [
      [whole, over],
      [over, whole],
    ]) {
      const oid = await editTree(store, batch, base, list);
      await batch.flush();
      expect(await filesOf(oid)).toEqual({ '.teddy/x': '9', '.teddy/y': '2', a: '1' });
    }
  });
});
