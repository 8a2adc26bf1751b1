/** A file in the way is moved aside, and is never lost. */
import { chmod, lstat, mkdir, mkdtemp, readFile, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { moveAside } from '../../src/system/runs/run-journal.ts';
import { path } from '../support/disk.ts';

let dir: string;
let root: string;
let to: string;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-aside-')));
  root = join(dir, 'project');
  to = join(dir, 'teddy/aside/run');
  await mkdir(root);
});
afterEach(() => rm(dir, { recursive: true }));

async function write(name: string, text: string): Promise<void> {
  await mkdir(join(root, name, '..'), { recursive: true });
  await writeFile(join(root, name), text);
}

test('a file is moved with its mode, and the directory for it is private', async () => {
  await write('a b/ü.txt', 'one');
  await chmod(join(root, 'a b/ü.txt'), 0o750);
  const place = await moveAside(root, path('a b/ü.txt'), to);
  expect(place).toBe(join(to, 'a b/ü.txt'));
  expect(await readFile(place, 'utf8')).toBe('one');
  expect((await lstat(place)).mode & 0o777).toBe(0o750);
  expect((await lstat(to)).mode & 0o777).toBe(0o700);
  await expect(lstat(join(root, 'a b/ü.txt'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a link is moved as a link, a dangling one too', async () => {
  await symlink('nowhere', join(root, 'link'));
  expect(await readlink(await moveAside(root, path('link'), to))).toBe('nowhere');
});

test('files moved aside earlier stay, even if a file replaces a directory there, or the other way round', async () => {
  const texts: [string, string][] = [];
  const move = async (name: string, text: string) => {
    await write(name, text);
    texts.push([await moveAside(root, path(name), to), text]);
    await rm(root, { recursive: true });
    await mkdir(root);
  };
  await move('a', 'first');
  await move('a', 'second');
  await move('a/b', 'below');
  await move('c/d', 'deep');
  await move('c', 'file');
  expect(new Set(texts.map(([place]) => place)).size).toBe(5);
  for (const [place, text] of texts) expect(await readFile(place, 'utf8')).toBe(text);
});

test('a file that cannot be moved stays, and the error names it', async () => {
  await write('a', 'one');
  await writeFile(join(dir, 'teddy'), 'a file where a directory has to be');
  await expect(moveAside(root, path('a'), to)).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    message: expect.stringMatching(/^a could not be moved aside/),
  });
  expect(await readFile(join(root, 'a'), 'utf8')).toBe('one');
});
