import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { derivedCache } from '../../src/git/cache.ts';

let common: string;
beforeEach(() => {
  common = mkdtempSync(join(tmpdir(), 'teddy-cache-'));
});
afterEach(() => rmSync(common, { recursive: true }));

const directory = () => join(common, 'teddy', 'cache');

test('what was written is read, byte for byte', async () => {
  const cache = derivedCache(common);
  await cache.write('tree-1', 'a\n\nb');
  expect(await cache.read('tree-1')).toBe('a\n\nb');
  expect(readdirSync(directory())).toEqual(['tree-1']);
});

test('a text that is torn, changed or gone is absent', async () => {
  const cache = derivedCache(common);
  await cache.write('tree-1', 'a listing\n');
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
  for (let at = 0; at < 40; at += 1) await cache.write(`tree-${at}`, 'text');
  expect(readdirSync(directory())).toHaveLength(32);
  expect(await cache.read('tree-39')).toBe('text');
});

test('a cache that cannot be written costs nothing but time', async () => {
  mkdirSync(join(common, 'teddy'));
  writeFileSync(directory(), 'a file');
  const cache = derivedCache(common);
  await cache.write('tree-1', 'text');
  expect(await cache.read('tree-1')).toBeNull();
});
