/** The contract of the port `ProjectFiles`, kept by the disk and by the in-memory one. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ProjectFiles } from '../../src/ports/disk.ts';
import { projectFiles } from '../../src/system/files/files.ts';
import { bytes, path } from '../support/disk.ts';
import { memoryProject } from '../support/memory-repository.ts';

const opened: string[] = [];
afterEach(async () => {
  for (const root of opened.splice(0)) await rm(root, { recursive: true, force: true });
});

async function openDisk(): Promise<ProjectFiles> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'teddy-files-')));
  opened.push(root);
  return projectFiles(root);
}

async function openMemory(): Promise<ProjectFiles> {
  return (await memoryProject(null)).filesOf('/project');
}

describe.each([
  ['in memory', openMemory],
  ['on disk', openDisk],
])('files %s', (_, open) => {
  test('a path is absent, a file, a directory, or blocked by a parent that is a file', async () => {
    const files = await open();
    expect(await files.inspect(path('dir/a.txt'))).toEqual({ kind: 'absent' });
    await files.install(path('dir/a.txt'), bytes('one\r\n'));
    expect(await files.inspect(path('dir'))).toEqual({ kind: 'directory' });
    const found = await files.inspect(path('dir/a.txt'));
    expect(found).toMatchObject({ kind: 'file', executable: false });
    expect(found.kind === 'file' && Buffer.from(found.bytes).toString()).toBe('one\r\n');
    expect(await files.inspect(path('dir/a.txt/b/c'))).toEqual({ kind: 'blocked', parent: 'dir/a.txt' });
    expect(await files.inspect(path('dir/b.txt'))).toEqual({ kind: 'absent' });
  });

  test.each([
    ['src/readme.md', 'src/README.md'],
    ['SRC/README.md', 'src/README.md'],
    ['Src/new.ts', 'src'],
    ['cafe\u0301.txt', 'caf\u00e9.txt'],
    ['CAFE\u0301.TXT', 'caf\u00e9.txt'],
    ['src/README.md', null],
    ['100 %.md', '100%20%25.md'],
    ['100%20%25.md', null],
    ['src/new.ts', null],
    ['src/README.md/a', null],
    ['new', null],
    ['CAFE.txt', null],
  ])('%j is the way to %j if case, Unicode form and percent-encoding make no difference', async (name, twin) => {
    const files = await open();
    await files.install(path('src/README.md'), bytes('a'));
    await files.install(path('caf\u00e9.txt'), bytes('b'));
    await files.install(path('100%20%25.md'), bytes('c'));
    expect(await files.findTwin(path(name))).toBe(twin);
  });

  test('installing replaces the whole content, byte for byte, and makes parents', async () => {
    const files = await open();
    await files.install(path('a/b/c'), bytes('long content\n'));
    await files.install(path('a/b/c'), Uint8Array.from([0, 255, 13]));
    const found = await files.inspect(path('a/b/c'));
    expect(found.kind === 'file' && [...found.bytes]).toEqual([0, 255, 13]);
  });

  test('installing sets and clears the execute bit on request, and keeps it otherwise', async () => {
    const files = await open();
    await files.install(path('a'), bytes('1'), true);
    expect(await files.inspect(path('a'))).toMatchObject({ executable: true });
    await files.install(path('a'), bytes('2'));
    expect(await files.inspect(path('a'))).toMatchObject({ executable: true });
    await files.install(path('a'), bytes('3'), false);
    expect(await files.inspect(path('a'))).toMatchObject({ executable: false });
  });

  test('a new file is made only in an empty place, and never replaces anything', async () => {
    const files = await open();
    expect(await files.installNew(path('a/b'), bytes('one'))).toBe('done');
    expect(await files.installNew(path('a/b'), bytes('two'))).toBe('exists');
    const found = await files.inspect(path('a/b'));
    expect(found.kind === 'file' && Buffer.from(found.bytes).toString()).toBe('one');
  });

  test('removing also removes the directories that become empty, and ignores missing paths', async () => {
    const files = await open();
    await files.install(path('a/b/c/d'), bytes('d'));
    await files.install(path('a/e'), bytes('e'));
    await files.remove(path('a/b/c/d'));
    await files.remove(path('a/b/c/d'));
    expect(await files.inspect(path('a/b'))).toEqual({ kind: 'absent' });
    expect(await files.inspect(path('a/e'))).toMatchObject({ kind: 'file' });
  });

  test('installing in place of a directory, or below a file, fails and changes nothing', async () => {
    const files = await open();
    await files.install(path('a/b'), bytes('b\n'));
    await expect(files.install(path('a'), bytes('x'))).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    await expect(files.install(path('a/b/c'), bytes('x'))).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(await files.inspect(path('a/b'))).toMatchObject({ kind: 'file' });
  });

  test('a state is read as it was written, with its mode, and parents are made', async () => {
    const files = await open();
    expect(await files.readState(path('a/b'))).toEqual({ kind: 'absent' });
    await files.putState(path('a/b'), { kind: 'file', bytes: bytes('b\n'), mode: 0o640 });
    expect(await files.readState(path('a/b'))).toEqual({ kind: 'file', bytes: Buffer.from('b\n'), mode: 0o640 });
    expect(await files.readState(path('a'))).toEqual({ kind: 'other' });
    expect(await files.readState(path('a/b/c'))).toEqual({ kind: 'absent' });
    await files.putState(path('c'), { kind: 'new-file', bytes: bytes('c'), executable: true });
    expect(await files.inspect(path('c'))).toMatchObject({ kind: 'file', executable: true });
    await files.putState(path('c'), { kind: 'absent' });
    await files.putState(path('c'), { kind: 'absent' });
    expect(await files.readState(path('c'))).toEqual({ kind: 'absent' });
  });

  test('of several directories the empty ones are removed, in their order', async () => {
    const files = await open();
    await files.putState(path('a/b/c'), { kind: 'new-file', bytes: bytes('c'), executable: false });
    await files.putState(path('d/e'), { kind: 'new-file', bytes: bytes('e'), executable: false });
    await files.putState(path('a/b/c'), { kind: 'absent' });
    await files.removeEmptyDirectories(['a/b', 'a', 'd', 'none'].map(path));
    expect(await files.readState(path('a'))).toEqual({ kind: 'absent' });
    expect(await files.readState(path('d/e'))).toMatchObject({ kind: 'file' });
  });
});
