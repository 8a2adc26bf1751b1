import { expect, test } from 'vitest';
import {
  maxShownBytes,
  readContextFiles,
  toRefused,
  turnContextPaths,
} from '../../src/session/context/context-files.ts';
import type { Oid } from '../../src/names.ts';

const blobs: Record<string, Uint8Array> = {
  text: new TextEncoder().encode('\uFEFFhé\r\n'),
  binary: new Uint8Array([80, 78, 71, 0, 1]),
  lateNul: new Uint8Array(9000).fill(65, 0, 8999),
  limit: new Uint8Array(maxShownBytes).fill(65),
  large: new Uint8Array(maxShownBytes + 1).fill(65),
  latin1: new Uint8Array([104, 0xe9, 10]),
};

async function read(name: string, aloneBy: 'user' | 'model' | null = null, isStored = false) {
  const place = { level: 'session' as const, line: 1, text: name };
  const source = isStored
    ? { kind: 'stored' as const, bytes: blobs[name] ?? new Uint8Array() }
    : { kind: 'blob' as const, oid: name as Oid };
  const file = { path: `${name}.x`, place, aloneBy, isUsers: true, source };
  const [shown] = await readContextFiles([file], {
    read: async (oid) => {
      wasRead.push(oid);
      return blobs[oid] ?? null;
    },
    size: async (oid) => blobs[oid]?.length ?? null,
  });
  return shown;
}

const wasRead: string[] = [];

test('text is shown exactly, byte order mark and line ends included', async () => {
  expect(await read('text')).toEqual({
    kind: 'shown',
    path: 'text.x',
    source: { kind: 'blob', oid: 'text' },
    text: '\uFEFFhé\r\n',
    lossy: false,
    masked: 0,
  });
});

test('a binary file and one over 256 KiB are listed with their sizes', async () => {
  expect(await read('binary')).toEqual({ kind: 'not-shown', path: 'binary.x', bytes: 5, reason: 'binary' });
  expect(await read('large')).toEqual({ kind: 'not-shown', path: 'large.x', bytes: 262_145, reason: 'large' });
});

test('a large file is listed without being read', async () => {
  wasRead.length = 0;
  await read('large');
  expect(wasRead).toEqual([]);
  await read('large', 'user');
  expect(wasRead).toEqual(['large']);
});

test('exactly 256 KiB, and a NUL after the first 8 KiB, are still shown', async () => {
  expect(await read('limit')).toMatchObject({ kind: 'shown' });
  expect(await read('lateNul')).toMatchObject({ kind: 'shown' });
});

test('files that the user names individually are shown', async () => {
  expect(await read('binary', 'user')).toMatchObject({ kind: 'shown', text: 'PNG\0\u0001' });
  expect(await read('large', 'user')).toMatchObject({ kind: 'shown' });
});

test('of files that a model names individually, a large one is shown, but never a binary or log-only one', async () => {
  expect(await read('large', 'model')).toMatchObject({ kind: 'shown' });
  expect(await read('binary', 'model')).toMatchObject({ kind: 'not-shown', reason: 'binary' });
  expect(await read('large', 'model', true)).toMatchObject({ kind: 'not-shown', reason: 'large' });
  expect(await read('text', 'model', true)).toMatchObject({ kind: 'shown', source: { kind: 'stored' } });
});

test('a model gets the reasons for refused files, once each, and limited in number', () => {
  const left = (level: 'session' | 'turn', path: string, isQuiet = false) => {
    return { path, reason: 'no', place: { level, line: 1, text: path }, isQuiet };
  };
  const some = [left('turn', '.env'), left('session', 'x'), left('turn', '.env'), left('turn', 'y', true)];
  expect(toRefused(some)).toEqual([{ kind: 'refused', path: '.env', reason: 'no' }]);
  const many = toRefused(Array.from({ length: 80 }, (_, at) => left('turn', `${at}${'x'.repeat(5000)}`)));
  expect(many).toHaveLength(51);
  expect(many[0]?.path).toHaveLength(203);
  expect(many.at(-1)).toMatchObject({ reason: '30 more are not shown either' });
});

test('text that is not UTF-8 is shown and marked', async () => {
  expect(await read('latin1')).toMatchObject({ kind: 'shown', text: 'h\uFFFD\n', lossy: true });
});

test('a missing blob counts as missing', async () => {
  expect(await read('nothing')).toEqual({ kind: 'missing', path: 'nothing.x' });
});

test('turn.context contains shown and missing files, but not files that are only listed', async () => {
  const refused = { kind: 'refused' as const, path: '.env', reason: 'no' };
  const files = [await read('text'), await read('binary'), await read('nothing'), refused].filter(
    (file) => file !== undefined,
  );
  expect(turnContextPaths(files)).toEqual(['text.x', 'nothing.x']);
});
