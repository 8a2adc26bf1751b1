/** The package as users get it: packed, installed into an empty prefix without a network, and used. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchNode, installPacked, playSession, type PackedTeddy } from '../support/packed-teddy.ts';

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
