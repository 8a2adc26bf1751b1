/** Counting the paths that differ between two trees, whatever surrounds them. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { TreeEntry, TreeMode } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { pathCounter } from '../../src/session/paths/count-paths.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const trees = new Map<string, TreeEntry[]>();
const readTree = async (oid: Oid) => trees.get(oid) ?? [];

function addTree(rows: Record<string, [mode: TreeMode, oid: string]>): Oid {
  const entries = Object.keys(rows)
    .toSorted()
    .map((name): TreeEntry => ({ name, mode: rows[name]?.[0] ?? '100644', oid: rows[name]?.[1] as Oid }));
  const oid = JSON.stringify(entries) as Oid;
  trees.set(oid, entries);
  return oid;
}

/** Each path in both, one by one. */
function countPlainly(before: Oid | null, after: Oid | null): number {
  if (before === after) return 0;
  const [old, now] = [before, after].map((oid) => new Map((trees.get(oid ?? '') ?? []).map((one) => [one.name, one])));
  const below = (entry: TreeEntry | undefined) => (entry?.mode === '40000' ? entry.oid : null);
  return [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])]
    .map((name) => [old?.get(name), now?.get(name)] as const)
    .filter(([was, is]) => was?.oid !== is?.oid || was?.mode !== is?.mode)
    .reduce((sum, [was, is]) => sum + 1 + countPlainly(below(was), below(is)), 0);
}

propertyTest('the count equals the number found by looking at each path', async () => {
  const file = fc.tuple(fc.constantFrom<TreeMode>('100644', '100755'), fc.constantFrom('1', '2'));
  const name = fc.constantFrom(...'abcdefgh');
  const directory = fc
    .dictionary(name, file)
    .map((rows): [TreeMode, string] => ['40000', addTree(rows as Record<string, [TreeMode, string]>)]);
  const tree = fc.dictionary(name, fc.oneof(file, directory)).map((rows) => addTree(rows));
  await fc.assert(
    fc.asyncProperty(tree, fc.option(tree), async (after, before) => {
      expect(await pathCounter(readTree)(before, after)).toBe(countPlainly(before, after));
    }),
  );
});

test('simultaneous counts end when they have looked at the limit of paths together', async () => {
  const rows = Object.fromEntries('abcdefgh'.split('').map((name) => [name, ['100644', '1'] as [TreeMode, string]]));
  const some = [addTree(rows), addTree({ ...rows, i: ['100644', '1'] })];
  let left = 10;
  const count = pathCounter(readTree, () => (left -= 1) >= 0);
  const sums = await Promise.all(some.map((tree) => count(null, tree)));
  expect(left).toBeLessThan(0);
  // Each of the two ends at the path where it is stopped.
  expect(sums.reduce((sum, one) => sum + one)).toBe(12);
});
