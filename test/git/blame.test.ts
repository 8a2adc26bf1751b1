/** git's own blame, with parents that are not in the history. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import type { Project } from '../../src/ports/project.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let project: Project;
const commits: Oid[] = [];
const path = 'with space "and quotes".txt' as RepoPath;

/** `c0` to `c3` on main, each with one more line; `side` has the first two lines from another commit. */
beforeAll(async () => {
  repo = await makeScratchRepository({ [path]: 'one\n' });
  project = await openProject({
    cwd: repo.root,
    env: process.env,
    notices: { info: () => undefined, warn: () => undefined },
  });
  commits.push((await repo.git('rev-parse', 'HEAD')) as Oid);
  for (const text of ['one\ntwo\n', 'one\ntwo\nthree\n', 'zero\none\ntwo\nthree\n'])
    commits.push((await repo.commit({ [path]: text }, `Teddy-Test: ${commits.length}\n\nmore`)) as Oid);
  await repo.git('switch', '--quiet', '--orphan', 'side');
  commits.push((await repo.commit({ [path]: 'one\ntwo\n', 'é.txt': 'ü\n' }, 'Side\n\nBy: hand')) as Oid);
  await repo.git('switch', '--quiet', 'main');
});
afterAll(async () => {
  await project.repository.close();
  await repo.close();
});

const none = new Map<Oid, Oid[]>();
async function lines(more: object = {}): Promise<string[]> {
  const query = { path, commit: commits[3] ?? null, ranges: [], grafts: none, ...more };
  const runs = await project.repository.blame.lines(query);
  return runs.map(({ commit, line, originalLine, texts }) =>
    [commit === null ? 'none' : `c${commits.indexOf(commit)}`, line, originalLine, ...texts].join(' '),
  );
}

test('blame returns runs of lines, their numbers in both versions, and the texts', async () => {
  expect(await lines()).toEqual(['c3 1 1 zero', 'c0 2 1 one', 'c1 3 2 two', 'c2 4 3 three']);
  expect(
    await lines({
      ranges: [
        [2, 3],
        [4, 4],
      ],
    }),
  ).toEqual(['c0 2 1 one', 'c1 3 2 two', 'c2 4 3 three']);
});

test('lines that were adjacent when they were added, and have others between them now, are separate runs', async () => {
  await repo.commit({ 'apart.txt': 'first\nlast\n' }, 'Two lines');
  const commit = await repo.commit({ 'apart.txt': 'first\nbetween\nlast\n' }, 'One between them');
  const ranges = [
    [1, 1],
    [3, 3],
  ];
  expect(await lines({ path: 'apart.txt', commit, ranges })).toEqual(['c-1 1 1 first', 'c-1 3 2 last']);
});

test('commits that git is configured to ignore count all the same, even if their list is missing', async () => {
  const expected = await lines();
  await repo.write('ignored', `${commits[1]}\n`);
  try {
    for (const file of ['ignored', 'missing']) {
      await repo.git('config', 'blame.ignoreRevsFile', `${repo.root}/${file}`);
      expect(await lines()).toEqual(expected);
    }
  } finally {
    await repo.git('config', '--unset-all', 'blame.ignoreRevsFile');
  }
});

test('a graft redirects blame to another history', async () => {
  const [, , third, , side] = commits as [Oid, Oid, Oid, Oid, Oid];
  const grafts = new Map([[third, [side]]]);
  expect(await lines({ grafts })).toEqual(['c3 1 1 zero', 'c4 2 1 one two', 'c2 4 3 three']);
});

test('uncommitted lines have no commit', async () => {
  await repo.write(path, 'zero\none\ntwo\nthree\nfour');
  expect((await lines({ commit: null })).at(-1)).toBe('none 5 5 four');
  await repo.git('restore', '.');
});

test('a missing line or file is a usage error', async () => {
  const { blame } = project.repository;
  const query = { path, commit: commits[3] ?? null, ranges: [[7, 9]] as const, grafts: none };
  await expect(blame.lines(query)).rejects.toMatchObject({ code: 'USAGE', message: `${path} has 4 lines.` });
  const other = { ...query, path: 'no.txt' as RepoPath, ranges: [] };
  await expect(blame.lines(other)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
});

test('commits are found by the beginning of a line in their message, with their changes', async () => {
  const { blame } = project.repository;
  const [first, second, third, fourth, side] = commits as [Oid, Oid, Oid, Oid, Oid];
  const found = await blame.findMarked(['Teddy-Test: ', 'By: '], [fourth, side], [second]);
  expect(found.map(({ oid }) => oid).toSorted()).toEqual([third, fourth, side].toSorted());
  expect(found.find(({ oid }) => oid === third)).toMatchObject({
    parents: [second],
    message: 'Teddy-Test: 2\n\nmore\n',
    changes: [{ path, blob: await repo.git('rev-parse', `${third}:${path}`) }],
  });
  expect(found.find(({ oid }) => oid === side)?.changes.map((change) => change.path)).toEqual([path, 'é.txt']);
  expect(await blame.findMarked(['Teddy-'], [first], [])).toEqual([]);
});

test('the last graft in each circle is found, and none without a circle', async () => {
  const { blame } = project.repository;
  const [first, second, third, fourth, side] = commits as [Oid, Oid, Oid, Oid, Oid];
  expect(await blame.findCircles([fourth], new Map([[third, [second, side]]]))).toEqual(new Set());
  const grafts = new Map([
    [third, [second, side]],
    [side, [fourth]],
    [first, [second]],
  ]);
  expect(await blame.findCircles([fourth], grafts)).toEqual(new Set([side, first]));
});
