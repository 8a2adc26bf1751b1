import { expect, test } from 'vitest';
import { maxShownBytes, readContextFiles, turnContextPaths } from '../../src/session/context-files.ts';
import type { Oid, RepoPath } from '../../src/session/names.ts';

const blobs: Record<string, Uint8Array> = {
  text: new TextEncoder().encode('\uFEFFhé\r\n'),
  binary: new Uint8Array([80, 78, 71, 0, 1]),
  lateNul: new Uint8Array(9000).fill(65, 0, 8999),
  limit: new Uint8Array(maxShownBytes).fill(65),
  large: new Uint8Array(maxShownBytes + 1).fill(65),
  latin1: new Uint8Array([104, 0xe9, 10]),
};

async function read(name: string, alone = false) {
  const file = { path: `${name}.x` as RepoPath, oid: name as Oid, alone };
  const [shown] = await readContextFiles({ files: [file], missing: [] }, async (oid) => blobs[oid] ?? null);
  return shown;
}

test('text is shown exactly, byte order mark and line ends included', async () => {
  expect(await read('text')).toEqual({
    kind: 'shown',
    path: 'text.x',
    source: { kind: 'blob', oid: 'text' },
    text: '\uFEFFhé\r\n',
    lossy: false,
  });
});

test('a binary file and one over 256 KiB are listed with their size', async () => {
  expect(await read('binary')).toEqual({ kind: 'not-shown', path: 'binary.x', bytes: 5, reason: 'binary' });
  expect(await read('large')).toEqual({ kind: 'not-shown', path: 'large.x', bytes: 262_145, reason: 'large' });
});

test('exactly 256 KiB, and a NUL after the first 8 KiB, are still shown', async () => {
  expect(await read('limit')).toMatchObject({ kind: 'shown' });
  expect(await read('lateNul')).toMatchObject({ kind: 'shown' });
});

test('named alone, they are shown', async () => {
  expect(await read('binary', true)).toMatchObject({ kind: 'shown', text: 'PNG\0\u0001' });
  expect(await read('large', true)).toMatchObject({ kind: 'shown' });
});

test('text that is not UTF-8 is shown and said to be so', async () => {
  expect(await read('latin1')).toMatchObject({ kind: 'shown', text: 'h\uFFFD\n', lossy: true });
});

test('a blob that is gone counts as missing', async () => {
  expect(await read('nothing')).toEqual({ kind: 'missing', path: 'nothing.x' });
});

test('turn.context carries what is shown and missing, not what is only listed', async () => {
  const files = [await read('text'), await read('binary'), await read('nothing')].filter((file) => file !== undefined);
  expect(turnContextPaths(files)).toEqual(['text.x', 'nothing.x']);
});
