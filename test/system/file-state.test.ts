/** A path's state is read and restored unchanged: a link is a link, and nothing beyond one is touched. */
import { execFileSync } from 'node:child_process';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  findFileAge,
  putFileState,
  readerOfStates,
  removeEmptyDirectories,
} from '../../src/system/files/file-state.ts';
import { bytes, path } from '../support/disk.ts';

let dir: string;
let root: string;
/** The same one for a whole test: it has a memory. */
let readState: ReturnType<typeof readerOfStates>;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-state-')));
  root = join(dir, 'project');
  await mkdir(join(root, 'sub'), { recursive: true });
  await mkdir(join(dir, 'outside'));
  readState = readerOfStates(root);
});
afterEach(() => rm(dir, { recursive: true }));

const at = (name: string) => join(root, name);
const read = (name: string) => readState(path(name));
const put = (name: string, state: Parameters<typeof putFileState>[2]) => putFileState(root, path(name), state);

describe('reading', () => {
  test('distinguishes files with all their mode bits, links as links, and the rest', async () => {
    await writeFile(at('a'), 'one');
    await chmod(at('a'), 0o4751);
    await symlink('nowhere', at('link'));
    await symlink('sub', at('to-sub'));
    execFileSync('mkfifo', [at('fifo')]);
    expect(await read('a')).toEqual({ kind: 'file', bytes: Buffer.from('one'), mode: 0o4751 });
    expect(await read('link')).toEqual({ kind: 'link', target: 'nowhere' });
    expect(await read('to-sub')).toEqual({ kind: 'link', target: 'sub' });
    expect(await read('fifo')).toEqual({ kind: 'other' });
    expect(await read('sub')).toEqual({ kind: 'other' });
  });

  test('finds nothing below a file, below a link, or in an empty place', async () => {
    await writeFile(at('a'), 'one');
    await writeFile(at('sub/b'), 'b');
    await symlink('sub', at('link'));
    await symlink('gone', at('dangling'));
    for (const name of ['none', 'none/deep', 'a/below', 'link/b', 'dangling/b']) {
      expect(await read(name), name).toEqual({ kind: 'absent' });
    }
  });

  test('notices that a known directory has become a link, a file or nothing since, and is one again', async () => {
    await mkdir(at('sub/deep'));
    await writeFile(at('sub/deep/b'), 'b');
    await mkdir(join(dir, 'outside', 'deep'));
    await writeFile(join(dir, 'outside', 'deep', 'b'), 'not of the project');
    const there = { kind: 'file', bytes: Buffer.from('b') };
    expect(await read('sub/deep/b')).toMatchObject(there);
    await rename(at('sub'), at('other'));
    expect(await read('sub/deep/b')).toEqual({ kind: 'absent' });
    for (const target of ['other', '../outside', 'sub']) {
      await symlink(target, at('sub'));
      expect(await read('sub/deep/b'), target).toEqual({ kind: 'absent' });
      await rm(at('sub'));
    }
    await writeFile(at('sub'), 'file');
    expect(await read('sub/deep/b')).toEqual({ kind: 'absent' });
    await rm(at('sub'));
    await rename(at('other'), at('sub'));
    expect(await read('sub/deep/b')).toMatchObject(there);
  });
});

describe('restoring', () => {
  test('writes content and mode, whatever was there, and makes parents', async () => {
    await writeFile(at('a'), 'long before');
    await symlink('a', at('link'));
    await put('a', { kind: 'file', bytes: bytes('one'), mode: 0o600 });
    await put('link', { kind: 'file', bytes: bytes('two'), mode: 0o755 });
    await put('new/deep/c', { kind: 'new-file', bytes: bytes('three'), executable: true });
    expect(await read('a')).toEqual({ kind: 'file', bytes: Buffer.from('one'), mode: 0o600 });
    expect(await read('link')).toEqual({ kind: 'file', bytes: Buffer.from('two'), mode: 0o755 });
    expect(await read('new/deep/c')).toMatchObject({ kind: 'file', mode: 0o777 & ~process.umask() });
    expect(await readdir(at('new/deep'))).toEqual(['c']);
  });

  test('writes links, dangling ones too, and removes files and links', async () => {
    await writeFile(at('a'), 'one');
    await put('a', { kind: 'link', target: '../outside' });
    expect(await readlink(at('a'))).toBe('../outside');
    await put('a', { kind: 'absent' });
    await put('a', { kind: 'absent' });
    await put('none/deep', { kind: 'absent' });
    expect(await readdir(root)).toEqual(['sub']);
    expect(await readdir(join(dir, 'outside'))).toEqual([]);
  });

  test.each([
    ['in place of a directory', 'sub'],
    ['below a file', 'a/b'],
    ['beyond a link', 'link/b'],
    ['beyond a link that leads out', 'out/b'],
    ['in another repository', 'repo/b'],
  ])('%s fails and changes nothing', async (_, name) => {
    await writeFile(at('a'), 'one');
    await writeFile(at('sub/b'), 'b');
    await symlink('sub', at('link'));
    await symlink('../outside', at('out'));
    await mkdir(at('repo/.git'), { recursive: true });
    for (const state of [
      { kind: 'file' as const, bytes: bytes('x'), mode: 0o644 },
      { kind: 'link' as const, target: 'x' },
    ]) {
      await expect(put(name, state)).rejects.toMatchObject({
        code: 'WRITE_FAILED',
        message: expect.stringContaining(`${name} could not be restored`),
      });
    }
    expect(await readFile(at('sub/b'), 'utf8')).toBe('b');
    expect(await readFile(at('a'), 'utf8')).toBe('one');
    expect(await readdir(at('repo'))).toEqual(['.git']);
    expect((await readdir(root)).toSorted()).toEqual(['a', 'link', 'out', 'repo', 'sub']);
    expect(await readdir(join(dir, 'outside'))).toEqual([]);
  });
});

test('directories are removed if they are empty, and never beyond a link', async () => {
  await mkdir(at('a/b'), { recursive: true });
  await mkdir(at('sub/full'), { recursive: true });
  await writeFile(at('sub/full/x'), 'x');
  await mkdir(join(dir, 'outside/empty'));
  await symlink('../outside', at('link'));
  await removeEmptyDirectories(root, ['a/b', 'a', 'sub/full', 'link/empty', 'link', 'none'].map(path));
  expect((await readdir(root)).toSorted()).toEqual(['link', 'sub']);
  expect(await readdir(join(dir, 'outside'))).toEqual(['empty']);
  expect((await lstat(at('sub/full/x'))).isFile()).toBe(true);
});

test('a file’s age is that of its last change, a directory’s that of its making, and a move makes it uncertain', async () => {
  await mkdir(at('own/deep'), { recursive: true });
  for (const name of ['old', 'edited', 'sub/old', 'own/deep/moved']) await writeFile(at(name), 'x');
  await mkdir(at('empty'));
  await setTimeout(120);
  const now = new Date();
  const age = (name: string) => findFileAge(root, path(name), now);
  await writeFile(at('edited'), 'y');
  await writeFile(at('empty/new'), 'y');
  await mkdir(at('made'));
  await rename(at('own'), at('other'));
  expect(await Promise.all(['old', 'sub/old', 'empty'].map(age))).toEqual(['before', 'before', 'before']);
  expect(await Promise.all(['edited', 'empty/new', 'made', 'none'].map(age))).toEqual([
    'since',
    'since',
    'since',
    'since',
  ]);
  expect(await age('other/deep/moved')).toBe('unsure');
});
