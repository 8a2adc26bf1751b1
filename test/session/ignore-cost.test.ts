import { expect, test } from 'vitest';
import { readIgnoreFiles } from '../../src/session/paths/ignore-rules.ts';
import { expectLinear } from '../support/growth.ts';

const rulesOf = (text: string, directory = '') => readIgnoreFiles([{ directory, text }]);

test.each([
  ['many `**`', `/${'**/a/'.repeat(8)}b`, (size: number) => `${'a/'.repeat(size)}bc`],
  ['many `*` in a name', `/${'*a'.repeat(8)}*b`, (size: number) => `${'ab'.repeat(size)}c`],
  ['many `*` in every name', `/${'*a*b*/'.repeat(8)}x`, (size: number) => `${'abab/'.repeat(size)}y`],
  ['a nested file with many `**`', `${'**/a/'.repeat(8)}b`, (size: number) => `docs/${'a/'.repeat(size)}bc`],
])('a rule with %s decides in time linear in the path', async (_, rule, pathOf) => {
  const isIgnored = rulesOf(rule, pathOf(1).startsWith('docs/') ? 'docs' : '');
  await expectLinear(300, pathOf, isIgnored);
});

test('a costly rule still excludes every match, and a costly exception re-includes nothing', () => {
  const isIgnored = rulesOf('/**/a/**/b/**/c/x.txt\none*two*three*\n!*a*b*c*d*\n');
  expect(isIgnored('1/a/2/b/3/c/x.txt')).toBe(true);
  expect(isIgnored('one-two-three')).toBe(true);
  expect(isIgnored('one-abcd-two-three')).toBe(true);
  expect(isIgnored('1/a/x.md')).toBe(false);
});

test('usual rules keep their meaning', () => {
  const isIgnored = rulesOf('**/dist/**/*.min.js\n/docs/**\nold/**/x/**\n*.test.*\n');
  expect(isIgnored('a/dist/b/c.min.js')).toBe(true);
  expect(isIgnored('a/dist/b/c.js')).toBe(false);
  expect(isIgnored('docs/a/b.md')).toBe(true);
  expect(isIgnored('a/docs/b.md')).toBe(false);
  expect(isIgnored('old/1/x/y')).toBe(true);
  expect(isIgnored('old/1/y')).toBe(false);
  expect(isIgnored('src/a.test.ts')).toBe(true);
});
