import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { TreeFile } from '../../src/ports/git.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import { renderTreeListing } from '../../src/session/paths/tree-listing.ts';
import { expectLinear } from '../support/growth.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

function treeOf(paths: string[]): TreeFile[] {
  return paths.sort().map((path) => ({ path: path as RepoPath, mode: '100644', oid: 'a'.repeat(40) as Oid }));
}

const numbered = (dir: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${dir}/${String(i).padStart(5, '0')}.ts`);
const linesOf = (text: string) => text.split('\n').slice(0, -1);

describe('the listing of a project', () => {
  test("names every file if it fits, in the tree's order, without .teddy", () => {
    const files = treeOf(['a.ts', 'a/b.ts', 'a0.ts', '.teddy/memos.yaml', '.teddyignore', 'my notes.txt', 'a/c/d.ts']);
    expect(renderTreeListing(files)).toBe('.teddyignore\na.ts\na/b.ts\na/c/d.ts\na0.ts\n"my notes.txt"\n');
  });

  test('is empty for an empty tree', () => expect(renderTreeListing([])).toBe(''));

  test('folds the biggest directory on a level, and deeper ones before shallower ones', () => {
    const files = treeOf(['README.md', ...numbered('src', 3), ...numbered('src/deep', 3), ...numbered('vendor', 8)]);
    expect(linesOf(renderTreeListing(files, 7))).toEqual([
      'README.md',
      'src/00000.ts',
      'src/00001.ts',
      'src/00002.ts',
      'src/deep/ (3 files)',
      'vendor/ (8 files)',
    ]);
    expect(linesOf(renderTreeListing(files, 2))).toEqual(['README.md', "(2 more in the project's root)"]);
    expect(linesOf(renderTreeListing(files, 3))).toEqual(['README.md', 'src/ (6 files)', 'vendor/ (8 files)']);
  });

  test('keeps the small directory open if only one of two fits', () => {
    const files = treeOf([...numbered('big', 4), ...numbered('small', 2)]);
    expect(linesOf(renderTreeListing(files, 5))).toEqual(['big/ (4 files)', 'small/00000.ts', 'small/00001.ts']);
  });

  test('uses exactly the limit if that is enough', () => {
    expect(linesOf(renderTreeListing(treeOf(numbered('src', 2000))))).toHaveLength(2000);
    expect(linesOf(renderTreeListing(treeOf(numbered('src', 2001))))).toEqual(['src/ (2001 files)']);
  });

  test('reports how many entries in a crowded root it leaves out', () => {
    const lines = linesOf(renderTreeListing(treeOf(Array.from({ length: 30 }, (_, i) => `file-${i}`)), 10));
    expect(lines).toHaveLength(10);
    expect(lines.at(-1)).toBe("(21 more in the project's root)");
  });

  propertyTest('counts every file once, and never exceeds the limit', () => {
    const part = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const path = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => `${parts.join('/')}.ts`);
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 60 }), fc.integer({ min: 10, max: 40 }), (paths, maxLines) => {
        const lines = linesOf(renderTreeListing(treeOf(paths), maxLines));
        expect(lines.length).toBeLessThanOrEqual(maxLines);
        const counts = lines.map((line) => Number(/\((\d+) files?\)$/.exec(line)?.[1] ?? 1));
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(paths.length);
      }),
    );
  });

  test('takes four times as long for 50,000 files as for a quarter of them', async () => {
    const filesOf = (count: number) =>
      treeOf(
        Array.from(
          { length: count },
          (_, i) => `packages/p${i % 40}/src/area-${i % 700}/part-${i % 3500}/file-${i}.ts`,
        ),
      );
    await expectLinear(50_000, filesOf, (files) =>
      expect(linesOf(renderTreeListing(files)).length).toBeLessThanOrEqual(2000),
    );
  });
});
