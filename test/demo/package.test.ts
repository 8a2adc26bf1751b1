/** The package as users get it: packed, installed into an empty prefix without a network, and used. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchNode, installPacked, playDemo, playSession, type PackedTeddy } from '../support/packed-teddy.ts';

let installed: PackedTeddy;

beforeAll(async () => {
  installed = await installPacked();
});
afterAll(() => installed.close());

test('installing brings one package, under 8 MB, and runs no script', async () => {
  expect(installed.packages).toEqual(['git-teddy']);
  expect(installed.size).toBeLessThan(8_000_000);
  const manifest = JSON.parse(await readFile(join(installed.directory, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
    exports: Record<'.' | './reader', { types: string; default: string }>;
    scripts: Record<string, string>;
    dependencies?: object;
  };
  expect(manifest.dependencies).toBeUndefined();
  expect(Object.keys(manifest.scripts).filter((name) => /^(?:pre|post)?install$/.test(name))).toEqual([]);
  expect(Object.keys(manifest.bin)).toEqual(['teddy', 'git-teddy']);
  expect(await readFile(join(installed.directory, manifest.exports['.'].types), 'utf8')).toContain('openProject');
  const { types, default: code } = manifest.exports['./reader'];
  expect(await readFile(join(installed.directory, types), 'utf8')).toContain('readHistory');
  expect(await import(join(installed.directory, code))).toMatchObject({ readHistory: expect.any(Function) as unknown });
});

test('it comes with the licence of each bundled package', async () => {
  const text = await readFile(join(installed.directory, 'dist', 'THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['clipanion', 'hono', 'isomorphic-git', 'openai', 'yaml', 'zod'])
    expect(text).toMatch(new RegExp(`^${name} \\d`, 'm'));
  const parts = text.split(`\n${'-'.repeat(80)}\n\n`).slice(1);
  // Packages under the same terms share them.
  expect(text.match(/^\S+ \d\S*, \S/gm)?.length).toBeGreaterThan(30);
  expect(parts.filter((part) => part.length < 500)).toEqual([]);
});

test('the demo plays from the installed package, and what it suggests works as printed', async () => {
  const { shown, tried, left } = await playDemo(installed);
  expect(shown).toMatch(/^Done in .*: five turns on two lines, one failure, and the tests pass\.$/m);
  expect(shown).toMatch(/^file:\/\/\/.*\/page\.html$/m);
  expect(shown).toMatch(/^ {2}teddy why src\/ago\.js:15$/m);
  expect(tried).toContain('"yesterday"');
  expect(tried).toContain('CREATE');
  expect(left).toEqual([]);
});

test('teddy help prints the pages of the installed package', async () => {
  const call = async (...words: string[]) => (await promisify(execFile)(installed.executable, words)).stdout;
  expect(await call('help', 'tour')).toMatch(/^# The tour\n/);
  expect(await call('help', 'topics')).toContain('teddy help plans');
});

/** Each supported release of Node; those other than the tests' own come from the registry. */
test.for([20, 22, 24])(
  'a session begins, is planned, executed and landed on Node %i',
  { timeout: 300_000 },
  async (release, context) => {
    const isOwn = process.version.startsWith(`v${release}.`);
    const node = isOwn ? { path: process.execPath } : await fetchNode(release);
    if ('reason' in node) return context.skip(`Node ${release} cannot be fetched: ${node.reason}`);
    expect(await playSession(installed, node.path)).toBe('Hello\n');
  },
);
