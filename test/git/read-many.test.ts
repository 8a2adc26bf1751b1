/** Many files in one go: any bytes, any size, any number, and no leftovers. */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMany } from '../../src/git/objects/read-many.ts';
import { gitRunner, toChildEnvironment, type GitRunner } from '../../src/git/run/run.ts';
import type { FileBelow } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

const large = randomBytes(3_000_000).toString('latin1');
const files: Record<string, string> = {
  'empty.txt': '',
  'no newline': 'x',
  'answer.txt': `${'0'.repeat(40)} blob 3\nabc\n`,
  'large.bin': large,
  'line\nbreak/ümläut "q".txt': 'ä\n',
  ...Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`many/${at}/file.txt`, `${at}\n`.repeat(at)])),
};
let repo: ScratchRepository;
let git: GitRunner;
let tree: Oid;

beforeAll(async () => {
  repo = await makeScratchRepository(files);
  git = gitRunner(repo.root, toChildEnvironment(process.env));
  tree = (await repo.git('rev-parse', 'HEAD^{tree}')) as Oid;
});
afterAll(() => rm(repo.root, { recursive: true }));

async function readAll(from: Oid, isWanted: (path: string) => boolean = () => true): Promise<FileBelow[]> {
  const found: FileBelow[] = [];
  for await (const some of readMany(git, from, isWanted)) found.push(...some);
  return found;
}

const childrenOfOurs = () =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === process.pid;
    } catch {
      return false;
    }
  });

test('every file comes once with its own bytes, whatever they look like, in git’s order', async () => {
  const found = await readAll(tree);
  expect(found.map(({ path }) => path)).toEqual(
    (await repo.git('ls-tree', '-r', '-z', '--name-only', 'HEAD')).split('\0').slice(0, -1),
  );
  const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
  expect(Object.fromEntries(found.map(({ path, bytes }) => [path, sha256(bytes)]))).toEqual(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [path, sha256(text)])),
  );
});

test('packed objects give the same', async () => {
  const before = await readAll(tree, (path) => path.startsWith('many/'));
  await repo.git('repack', '-adq');
  const after = await readAll(tree, (path) => path.startsWith('many/'));
  expect(after).toHaveLength(600);
  expect(
    after.every(({ path, bytes }, at) => path === before[at]?.path && Buffer.compare(bytes, before[at].bytes) === 0),
  ).toBe(true);
});

test('a submodule does not count as a file, and a link is its target', async () => {
  const blob = await repo.git('rev-parse', 'HEAD:no newline');
  await repo.git('update-index', '--add', '--cacheinfo', `160000,${await repo.git('rev-parse', 'HEAD')},module`);
  await repo.git('update-index', '--add', '--cacheinfo', `120000,${blob},link`);
  const changed = (await repo.git('write-tree')) as Oid;
  expect(
    (await readAll(changed, (path) => !path.includes('/') && path !== 'large.bin')).map(({ path }) => path),
  ).toEqual(['answer.txt', 'empty.txt', 'link', 'no newline']);
});

test('stopping early leaves no git child behind', async () => {
  const before = childrenOfOurs();
  for await (const [first] of readMany(git, tree, () => true)) if (first) break;
  // Other files in the same worker may have left theirs, which end on their own.
  await expect.poll(() => childrenOfOurs().filter((pid) => !before.includes(pid))).toEqual([]);
});

test('a missing tree or file is an error, and never fewer files', async () => {
  await expect(readAll('f'.repeat(40) as Oid)).rejects.toMatchObject({ code: 'GIT_FAILED' });
  const other = await makeScratchRepository({ 'a.txt': 'A\n', 'b.txt': 'B\n' });
  try {
    const oid = await other.git('rev-parse', 'HEAD:b.txt');
    await rm(join(other.root, '.git/objects', oid.slice(0, 2), oid.slice(2)));
    const bare = gitRunner(other.root, toChildEnvironment(process.env));
    const read = async () => {
      for await (const some of readMany(bare, (await other.git('rev-parse', 'HEAD^{tree}')) as Oid, () => true))
        void some;
    };
    await expect(read()).rejects.toMatchObject({ code: 'DAMAGED_SESSION', message: `The blob ${oid} is missing.` });
  } finally {
    await rm(other.root, { recursive: true });
  }
});
