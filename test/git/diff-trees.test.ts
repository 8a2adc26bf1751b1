/** The difference of two trees equals git's. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRepository, type OpenedRepository } from '../../src/git/repository.ts';
import type { Oid } from '../../src/names.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { runs } from '../support/runs.ts';

let repo: ScratchRepository;
let repository: OpenedRepository;

beforeAll(async () => {
  repo = await makeScratchRepository();
  await repo.write('one', '1\n');
  await repo.write('two', '2\n');
  repository = await openRepository({ cwd: repo.root, env: process.env });
});
afterAll(async () => {
  await repository.close();
  await repo.close();
});

const names = ['a', 'a.b', 'ab', 'a-b', 'ü', '😀', '～', 'line\nbreak'];
const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const file = fc.record({
  path,
  text: fc.constantFrom('1\n', '2\n'),
  mode: fc.constantFrom('100644', '100755', '120000'),
});

/** Without files that would have to be directories for others. */
const tree = fc.array(file, { maxLength: 8 }).map((files) => {
  const kept = new Map<string, (typeof files)[number]>();
  for (const one of files) {
    const isInTheWay = [...kept.keys()].some(
      (path) => `${path}/`.startsWith(`${one.path}/`) || `${one.path}/`.startsWith(`${path}/`),
    );
    if (!isInTheWay) kept.set(one.path, one);
  }
  return [...kept.values()];
});

test('two trees of any contents differ as in git: nested, in each other’s way, with another mode or name', async () => {
  const [one, two] = [await repo.git('hash-object', '-w', 'one'), await repo.git('hash-object', '-w', 'two')];
  const write = async (files: { path: string; text: string; mode: string }[]) => {
    await rm(join(repo.root, '.git', 'index'), { force: true });
    const rows = files.map(({ path, text, mode }) => `${mode} ${text === '1\n' ? one : two}\t${path}\0`);
    gitText(repo.root, ['update-index', '-z', '--index-info'], { input: rows.join('') });
    return (await repo.git('write-tree')) as Oid;
  };
  await fc.assert(
    fc.asyncProperty(tree, tree, async (first, second) => {
      const [before, after] = [await write(first), await write(second)];
      const rows = (await repo.git('diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', before, after)).split('\0');
      const expected = [];
      for (let at = 0; at + 1 < rows.length; at += 2) {
        const [, mode, old, now, status] = (rows[at] ?? '').split(' ');
        expected.push({
          path: rows[at + 1],
          change: { A: 'added', D: 'deleted' }[status ?? ''] ?? 'modified',
          before: status === 'A' ? null : old,
          after: status === 'D' ? null : now,
          mode: status === 'D' ? null : mode,
        });
      }
      expect(await repository.store.diffTrees(before, after)).toEqual(expected);
    }),
    runs(25),
  );
});
