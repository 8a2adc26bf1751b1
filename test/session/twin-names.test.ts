/** Names that a person could confuse: each is found, told apart, and can be written. */
import { expect, test } from 'vitest';
import type { RepoPath } from '../../src/names.ts';
import { describeTwin, findTwin, explainCollision } from '../../src/session/paths/twin-names.ts';

test.each([
  ['a\u00a0b.txt', 'a b.txt', '(a<U+00A0>b.txt, not a b.txt; in a link: /a%C2%A0b.txt)'],
  ['a b.txt', 'a\u00a0b.txt', '(a b.txt, not a<U+00A0>b.txt; in a link: /a%20b.txt)'],
  ['a\u3000b.txt', 'a\u2009b.txt', '(a<U+3000>b.txt, not a<U+2009>b.txt; in a link: /a%E3%80%80b.txt)'],
  ['a\u200bb.txt', 'ab.txt', '(a<U+200B>b.txt, not ab.txt; in a link: /a%E2%80%8Bb.txt)'],
  ['ab.txt', 'a\u00adb.txt', '(ab.txt, not a<U+00AD>b.txt; in a link: /ab.txt)'],
  ['caf\u00e9', 'cafe\u0301', '(caf<U+00E9>, not cafe<U+0301>; in a link: /caf%C3%A9)'],
])('%j differs from %j, and can be told apart', async (there, written, apart) => {
  const twin = await findTwin(written as RepoPath, async () => [there]);
  expect(twin).toBe(there);
  expect(describeTwin(written as RepoPath, there as RepoPath)).toContain(apart);
  expect(explainCollision(written as RepoPath, there as RepoPath)).toContain(apart);
});

test('% outside a link is not an escape, and the file with the literal name is meant', async () => {
  const [written, there] = ['my%20file.txt', 'my file.txt'] as RepoPath[];
  if (written === undefined || there === undefined) throw new Error('There are two.');
  expect(await findTwin(written, async () => [there])).toBe(there);
  expect(describeTwin(written, there)).toBe('`my file.txt`: outside of a link, % is a character of the name');
  expect(explainCollision(written, there)).toBeNull();
});
