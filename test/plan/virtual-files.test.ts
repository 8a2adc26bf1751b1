import { expect, test } from 'vitest';
import { layerFiles } from '../../src/plan/effects/virtual-files.ts';
import { bytes, diskOf, path } from '../support/disk.ts';

const onDisk = () =>
  layerFiles(diskOf({ 'src/app.ts': 'old', 'run.sh': { kind: 'file', bytes: bytes('#!'), executable: true } }));

test('an unwritten file is as on disk', async () => {
  const files = onDisk();
  expect(await files.inspect(path('src/app.ts'))).toEqual({ kind: 'file', bytes: bytes('old'), executable: false });
  expect(await files.inspect(path('src'))).toEqual({ kind: 'directory' });
  expect(await files.inspect(path('src/other.ts'))).toEqual({ kind: 'absent' });
});

test('a written file hides the one on disk, and the last one counts', async () => {
  const files = onDisk();
  await files.write(path('src/app.ts'), bytes('new'));
  await files.write(path('src/app.ts'), bytes('newer'));
  expect(await files.inspect(path('src/app.ts'))).toMatchObject({ kind: 'file', bytes: bytes('newer') });
});

test('an overwritten file stays executable', async () => {
  const files = onDisk();
  await files.write(path('run.sh'), bytes('new'));
  expect(await files.inspect(path('run.sh'))).toMatchObject({ executable: true });
});

test('writing a file makes all its parent directories', async () => {
  const files = onDisk();
  await files.write(path('a/b/c.txt'), bytes(''));
  expect(await files.inspect(path('a/b/c.txt'))).toEqual({ kind: 'file', bytes: bytes(''), executable: false });
  expect(await files.inspect(path('a'))).toEqual({ kind: 'directory' });
  expect(await files.inspect(path('a/b'))).toEqual({ kind: 'directory' });
  expect(await files.inspect(path('a/b/d.txt'))).toEqual({ kind: 'absent' });
  expect(await files.inspect(path('a/bc'))).toEqual({ kind: 'absent' });
});

test('a written file is in the way of everything below it', async () => {
  const files = onDisk();
  await files.write(path('a'), bytes(''));
  expect(await files.inspect(path('a/b/c.txt'))).toEqual({ kind: 'blocked', parent: 'a' });
});

test('the bytes on disk are never changed', async () => {
  const disk = diskOf({ 'a.txt': 'old' });
  await layerFiles(disk).write(path('a.txt'), bytes('new'));
  expect(await disk(path('a.txt'))).toMatchObject({ bytes: bytes('old') });
});
