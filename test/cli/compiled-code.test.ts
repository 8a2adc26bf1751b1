/** The bundle with what V8 has compiled of it before. */
import { isAscii } from 'node:buffer';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadCompiled, nameUse } from '../../src/cli/compiled-code.ts';

let dir: string;
const bundle = () => join(dir, 'cli.cjs');
const load = (use = 'session-list') => loadCompiled<{ answer: () => number }>(bundle(), use);
const caches = async () => (await readdir(dir)).filter((name) => name.endsWith('.cache'));

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-compiled-'));
  await writeFile(bundle(), "exports.answer = () => require('node:path').sep.length * 42;\n");
});
afterEach(() => rm(dir, { recursive: true }));

test('gives the exports, with and without a cache', async () => {
  const first = load();
  expect(first.exports.answer()).toBe(42);
  first.keep();
  expect(await caches()).toHaveLength(1);
  expect(load().exports.answer()).toBe(42);
});

test('keeps one cache for each use, and writes it once', async () => {
  load('session-list').keep();
  const [name] = await caches();
  await writeFile(join(dir, 'mark'), '');
  load('session-list').keep();
  load('session-plan').keep();
  expect(await caches()).toHaveLength(2);
  expect(await caches()).toContain(name);
  expect((await readdir(dir)).length).toBe(4);
});

test('a bundle of the same length with other content is never run from the old cache', () => {
  const before = load();
  before.exports.answer();
  before.keep();
  return writeFile(bundle(), "exports.answer = () => require('node:path').sep.length * 43;\n").then(() => {
    expect(load().exports.answer()).toBe(43);
  });
});

test('a damaged cache is passed over and made anew', async () => {
  load().keep();
  const [name = ''] = await caches();
  await writeFile(join(dir, name), 'damaged');
  const again = load();
  expect(again.exports.answer()).toBe(42);
  again.keep();
  expect(load().exports.answer()).toBe(42);
});

test('a bundle that is not of plain ASCII is read as UTF-8', async () => {
  await writeFile(bundle(), "exports.answer = () => 'd\u00e9j\u00e0 \u2026'.length * 6;\n");
  expect(load().exports.answer()).toBe(36);
  load().keep();
  expect(load().exports.answer()).toBe(36);
});

test('what is built is of plain ASCII, which loads in half the time', async () => {
  for (const name of ['cli.cjs', 'server-packages.cjs', 'page-packages.cjs', 'mcp-packages.cjs', 'zod-packages.cjs'])
    expect(isAscii(await readFile(new URL(`../../dist/${name}`, import.meta.url))), name).toBe(true);
});

test('a long form and a synonym use the code of their command, and names of sessions make no caches', () => {
  expect(
    ['list', 'ls', 'session list', 'log my-session', 'st', '--version'].map((words) => nameUse(words.split(' '))),
  ).toEqual(['list', 'list', 'list', 'log', 'status', '']);
});
