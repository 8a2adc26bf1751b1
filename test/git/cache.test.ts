import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { derivedCache } from '../../src/git/repository.ts';

let common: string;
beforeEach(() => {
  common = mkdtempSync(join(tmpdir(), 'teddy-cache-'));
});
afterEach(() => rmSync(common, { recursive: true }));

const directory = () => join(common, 'teddy', 'cache');
const bytesOf = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test('what was written is read, byte for byte', async () => {
  const cache = derivedCache(common);
  await cache.write('tree-1', bytesOf('a\n\nb', '', 'c\n'));
  await cache.write('tree-2', [Buffer.from([0xff, 0x00, 0x0a]), Buffer.from([0xc3])]);
  expect(await cache.read('tree-1')).toEqual(Buffer.from('a\n\nbc\n'));
  expect(await cache.read('tree-2')).toEqual(Buffer.from([0xff, 0x00, 0x0a, 0xc3]));
  expect(readdirSync(directory())).toEqual(['tree-1', 'tree-2']);
});

test('a text that is torn, changed or gone is absent', async () => {
  const cache = derivedCache(common);
  await cache.write('tree-1', bytesOf('a listing\n'));
  const path = join(directory(), 'tree-1');
  const whole = readFileSync(path, 'utf8');
  for (const damaged of [whole.slice(0, -1), whole.replace('listing', 'Listing'), '', 'no line']) {
    writeFileSync(path, damaged);
    expect(await cache.read('tree-1')).toBeNull();
  }
  rmSync(path);
  expect(await cache.read('tree-1')).toBeNull();
});

test('the cache keeps the newest texts', async () => {
  const cache = derivedCache(common);
  for (let at = 0; at < 40; at += 1) await cache.write(`tree-${at}`, bytesOf('text'));
  expect(readdirSync(directory())).toHaveLength(32);
  expect(await cache.read('tree-39')).toEqual(Buffer.from('text'));
});

test('no more is kept than fits, the newest first, and what does not fit alone is not written', async () => {
  const cache = derivedCache(common, { maxFiles: 32, maxBytes: 1000 });
  for (const name of ['one', 'two', 'three']) {
    await cache.write(name, bytesOf('x'.repeat(300)));
    // The times of files that follow each other at once may be the same.
    utimesSync(join(directory(), name), new Date(), new Date(Date.now() - 1000 * (name === 'one' ? 2 : 1)));
  }
  expect(readdirSync(directory()).toSorted()).toEqual(['three', 'two']);
  await cache.write('large', bytesOf('x'.repeat(1000)));
  expect(readdirSync(directory()).toSorted()).toEqual(['three', 'two']);
});

test('a cache that cannot be written costs nothing but time', async () => {
  mkdirSync(join(common, 'teddy'));
  writeFileSync(directory(), 'a file');
  const cache = derivedCache(common);
  await cache.write('tree-1', bytesOf('text'));
  expect(await cache.read('tree-1')).toBeNull();
});
