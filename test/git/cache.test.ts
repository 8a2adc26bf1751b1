import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readShallow } from '../../src/git/run/layout.ts';
import { derivedCache, openRepository } from '../../src/git/repository.ts';
import type { SessionId } from '../../src/names.ts';
import { encodeEntry } from '../../src/session/entries/entry.ts';
import { listLines } from '../../src/session/lines/lines.ts';
import { makeScratchRepository, openScratchRepository } from '../support/scratch-repository.ts';

let common: string;
beforeEach(() => {
  common = mkdtempSync(join(tmpdir(), 'teddy-cache-'));
});
afterEach(() => rmSync(common, { recursive: true }));

const directory = () => join(common, 'teddy', 'cache');
const bytesOf = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test('a written text is read back byte for byte', async () => {
  const cache = derivedCache(common);
  await cache.write('tree-1', bytesOf('a\n\nb', '', 'c\n'));
  await cache.write('tree-2', [Buffer.from([0xff, 0x00, 0x0a]), Buffer.from([0xc3])]);
  expect(await cache.read('tree-1')).toEqual(Buffer.from('a\n\nbc\n'));
  expect(await cache.read('tree-2')).toEqual(Buffer.from([0xff, 0x00, 0x0a, 0xc3]));
  expect(readdirSync(directory())).toEqual(['tree-1', 'tree-2']);
});

test('a torn, changed or deleted text is absent', async () => {
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

test('only as many texts as fit are kept, the newest first, and an oversized one is not written', async () => {
  const cache = derivedCache(common, { limits: { maxFiles: 32, maxBytes: 1000 } });
  for (const name of ['one', 'two', 'three']) {
    await cache.write(name, bytesOf('x'.repeat(300)));
    // The times of files written in quick succession may be equal.
    utimesSync(join(directory(), name), new Date(), new Date(Date.now() - 1000 * (name === 'one' ? 2 : 1)));
  }
  expect(readdirSync(directory()).toSorted()).toEqual(['three', 'two']);
  await cache.write('large', bytesOf('x'.repeat(1000)));
  expect(readdirSync(directory()).toSorted()).toEqual(['three', 'two']);
});

test('a cache that cannot be written costs only time', async () => {
  mkdirSync(join(common, 'teddy'));
  writeFileSync(directory(), 'a file');
  const cache = derivedCache(common);
  await cache.write('tree-1', bytesOf('text'));
  expect(await cache.read('tree-1')).toBeNull();
});

test('a clone is complete only if its shallow file does not exist, not if that cannot be read', async () => {
  expect(await readShallow(common)).toBe('');
  writeFileSync(join(common, 'shallow'), `${'a'.repeat(40)}\n`);
  expect(await readShallow(common)).toBe(`${'a'.repeat(40)}\n`);
  rmSync(join(common, 'shallow'));
  mkdirSync(join(common, 'shallow'));
  await expect(readShallow(common)).rejects.toThrow('EISDIR');
});

test('an object that a shallow clone lacked is not treated as missing once it exists', async () => {
  const ours = await makeScratchRepository({ 'a.txt': 'a\n' });
  const entry = encodeEntry({
    kind: 'start',
    session: '20260124-x' as SessionId,
    turn: null,
    id: '0198c9a0-1111-7abc-8def-0123456789ab',
    created: '2026-01-24T00:00:00.000Z',
    title: '20260124-x',
    details: [],
    baseBranch: 'main',
  });
  await ours.git('switch', '-q', '-c', 'teddy/20260124-x');
  await ours.write('.teddy/sessions/20260124-x/session.context', 'README.md\n');
  await ours.git('add', '-A');
  await ours.git('commit', '-q', '-m', entry);
  await ours.commit({ 'own.txt': 'mine\n' });
  const clone = join(common, 'clone');
  await ours.git('clone', '-q', '--depth', '1', '--no-single-branch', `file://${ours.root}`, clone);
  const listed = async () => {
    const { close, ...repository } = await openRepository({ cwd: clone, env: process.env });
    try {
      const lines = await listLines({ repository });
      return [...new Set(lines.map(({ session }) => session))];
    } finally {
      await close();
    }
  };
  expect(await listed()).toEqual([]);
  expect(await listed()).toEqual([]);
  const cloned = openScratchRepository(clone);
  await cloned.git('fetch', '-q', '--depth', '2');
  expect(await listed()).toEqual(['20260124-x']);
  await cloned.git('fetch', '-q', '--unshallow');
  expect(await listed()).toEqual(['20260124-x']);
  await ours.close();
});
