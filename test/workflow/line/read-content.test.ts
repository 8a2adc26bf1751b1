import { expect, test } from 'vitest';
import type { Store } from '../../../src/ports/git.ts';
import type { Oid } from '../../../src/names.ts';
import { contentReader } from '../../../src/workflow/line/read-content.ts';

const mebibyte = 1024 * 1024;

test('large awaited contents are read ahead only as far as there is room, and each can still be read', async () => {
  const reads: Oid[] = [];
  const readBlob = async (oid: Oid) => {
    reads.push(oid);
    return new Uint8Array([1]);
  };
  const contents = contentReader({ readSize: async () => 30 * mebibyte, readBlob } as unknown as Store);
  const oids = ['a', 'b', 'c', 'd'] as Oid[];
  const awaited = oids.map((oid) => contents.await(oid, 100 * mebibyte));
  await Promise.all(awaited.map((one) => one.peek()));
  expect(reads).toEqual(['a', 'b']);
  for (const one of awaited) expect(await one.read()).toMatchObject({ kind: 'bytes' });
  expect(reads).toEqual(['a', 'b', 'c', 'd']);
  for (const one of awaited) one.release();
  await Promise.all(['e' as Oid, 'f' as Oid, 'g' as Oid].map((oid) => contents.await(oid, 100 * mebibyte).peek()));
  expect(reads.slice(4)).toEqual(['e', 'f']);
});
