import { expect, test } from 'vitest';
import { walkFirstParents } from '../../src/git/history/walk-first-parents.ts';
import type { GitRunner } from '../../src/git/run/run.ts';
import type { Commit } from '../../src/ports/git.ts';
import { parseOid, type Oid } from '../../src/names.ts';

const oidOf = (number: number) => parseOid(number.toString(16).padStart(40, '0'));

/** 300 commits in a row, the last one numbered 300; those below `missing` do not exist, which is an error to git. */
function history(missing = 0) {
  const listed: string[][] = [];
  const readers = { now: 0, most: 0, all: 0 };
  const has = async (oid: Oid) => Number.parseInt(oid, 16) > missing;
  async function* lines(args: string[]): AsyncIterable<string> {
    listed.push(args);
    const from = Number.parseInt(args[2] ?? '', 16);
    for (let number = from; number > missing; number -= 1) yield oidOf(number);
    if (missing > 0) throw new Error('fatal: a parent is missing');
  }
  const readCommit = async (oid: Oid): Promise<Commit> => {
    readers.now += 1;
    readers.all += 1;
    readers.most = Math.max(readers.most, readers.now);
    await Promise.resolve();
    readers.now -= 1;
    const number = Number.parseInt(oid, 16);
    const parents = number > 1 ? [oidOf(number - 1)] : [];
    return { tree: oidOf(1), parents, author: '', committer: '', message: `${number}` };
  };
  const git = { lines } as unknown as GitRunner;
  return { listed, readers, walk: (not: Oid[] = []) => walkFirstParents(git, { readCommit, has }, oidOf(300), not) };
}

async function messages(walk: ReturnType<ReturnType<typeof history>['walk']>, max = 1000): Promise<string[]> {
  const found: string[] = [];
  for await (const { commit } of walk) {
    found.push(commit.message);
    if (found.length === max) break;
  }
  return found;
}

test('a long walk has every commit once, in order, and reads many at a time', async () => {
  const { walk, listed, readers } = history();
  expect(await messages(walk())).toEqual(Array.from({ length: 300 }, (_, at) => `${300 - at}`));
  expect(listed.length).toBe(1);
  expect(readers.most).toBeGreaterThan(16);
});

test('while one batch of commits is processed, the next one is read', async () => {
  const { walk, readers } = history();
  expect(await messages(walk(), 49)).toHaveLength(49);
  expect(readers.all).toBe(48 + 2 * 64);
});

test('a short walk starts no process', async () => {
  const { walk, listed } = history();
  expect(await messages(walk(), 40)).toHaveLength(40);
  expect(listed).toEqual([]);
});

test('a walk ends at a missing parent, and fails for any other error from git', async () => {
  expect(await messages(history(100).walk())).toHaveLength(200);
  expect(await messages(history(290).walk())).toHaveLength(10);
  const { walk } = history(100);
  await expect(messages(walk([oidOf(1)]))).rejects.toThrow('a parent is missing');
});

test('a walk to a near commit starts no process, and one to a far commit asks git', async () => {
  const { walk, listed } = history();
  expect(await messages(walk([oidOf(290)]))).toEqual(Array.from({ length: 10 }, (_, at) => `${300 - at}`));
  expect(listed).toEqual([]);
  await messages(walk([oidOf(280)]));
  await messages(walk([oidOf(290), oidOf(295)]));
  expect(listed.map((args) => args.slice(3))).toEqual([
    ['--not', oidOf(280)],
    ['--not', oidOf(290), oidOf(295)],
  ]);
});
