import { describe, expect, test } from 'vitest';
import { pairWords } from '../../src/plan/match/word-diff.ts';

const changedIn = (lines: string[]) =>
  [...pairWords(lines)].map(([at, pieces]) => [
    at,
    pieces.filter(({ isChanged }) => isChanged).map(({ text }) => text),
  ]);

describe('the words in a diff', () => {
  test('are compared line by line if as many lines were added as removed', () => {
    const lines = ['--- a/x', '+++ b/x', '@@ -1,2 +1,2 @@', '-port = 80', '-host = a', '+port = 90', '+host = b'];
    expect(changedIn(lines)).toEqual([
      [3, ['80']],
      [5, ['90']],
      [4, ['a']],
      [6, ['b']],
    ]);
  });

  test('are not compared if the counts differ, if nothing is in common, and in long lines', () => {
    expect(changedIn(['@@', '-a b', '+a c', '+d'])).toEqual([]);
    expect(changedIn(['@@', '-one two', '+three four'])).toEqual([]);
    expect(changedIn(['@@', `-a ${'b '.repeat(400)}`, `+a ${'c '.repeat(400)}`])).toEqual([]);
  });
});
