import { expect, test } from 'vitest';
import { readIgnoreFiles } from '../../src/session/ignore-rules.ts';

const rulesOf = (text: string, directory = '') => readIgnoreFiles([{ directory, text }]);
const deep = `${'a/'.repeat(300)}bc`;

test.each([
  ['many `**`', `/${'**/a/'.repeat(8)}b`, deep],
  ['many `*` in a name', `/${'*a'.repeat(8)}*b`, `${'ab'.repeat(120)}c`],
  ['many `*` in every name', `/${'*a*b*/'.repeat(8)}x`, `${'abab/'.repeat(30)}y`],
  ['a nested file with many `**`', `${'**/a/'.repeat(8)}b`, `docs/${deep}`],
])('a rule with %s decides at once', (_, rule, path) => {
  const isIgnored = rulesOf(rule, path.startsWith('docs/') ? 'docs' : '');
  const started = performance.now();
  isIgnored(path);
  expect(performance.now() - started).toBeLessThan(1000);
});

test('a costly rule takes out all that it names, and one that puts back puts back nothing', () => {
  const isIgnored = rulesOf('/**/a/**/b/**/c/x.txt\none*two*three*\n!*a*b*c*d*\n');
  expect(isIgnored('1/a/2/b/3/c/x.txt')).toBe(true);
  expect(isIgnored('one-two-three')).toBe(true);
  expect(isIgnored('one-abcd-two-three')).toBe(true);
  expect(isIgnored('1/a/x.md')).toBe(false);
});

test('usual rules mean what they say', () => {
  const isIgnored = rulesOf('**/dist/**/*.min.js\n/docs/**\nold/**/x/**\n*.test.*\n');
  expect(isIgnored('a/dist/b/c.min.js')).toBe(true);
  expect(isIgnored('a/dist/b/c.js')).toBe(false);
  expect(isIgnored('docs/a/b.md')).toBe(true);
  expect(isIgnored('a/docs/b.md')).toBe(false);
  expect(isIgnored('old/1/x/y')).toBe(true);
  expect(isIgnored('old/1/y')).toBe(false);
  expect(isIgnored('src/a.test.ts')).toBe(true);
});
