import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { markFinder } from '../../src/system/secrets/find-secrets.ts';

const letters = (least: number, ...more: string[]) =>
  fc.array(fc.constantFrom('a', 'b', 'c', ...more), { minLength: least, maxLength: 6 }).map((parts) => parts.join(''));

function find(marks: readonly string[], text: string): string[] {
  const found: string[] = [];
  markFinder(marks.map((mark) => ({ mark, value: mark })))(text, (mark, at) => found.push(`${at} ${mark}`));
  return found;
}

describe('a mark', () => {
  test('is found wherever it is, even within another, without false matches', () => {
    // Each of the further characters in the text has the last seven bits of a letter.
    const text = fc.array(letters(1, 'á', 'ᡢ', '壣'), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.uniqueArray(letters(2), { maxLength: 8 }), text, (marks, whole) => {
        const expected = marks.flatMap((mark) => {
          const last = whole.length - Math.max(mark.length, 3);
          return Array.from({ length: Math.max(0, last + 1) }, (_, at) => at)
            .filter((at) => whole.startsWith(mark, at))
            .map((at) => `${at} ${mark}`);
        });
        expect(find(marks, whole).sort()).toEqual(expected.sort());
      }),
    );
  });

  test('comes in the given order among those at one place, with one of two characters last', () => {
    expect(find(['ab', 'abcd', 'abc'], 'xabcd')).toEqual(['1 abcd', '1 abc', '1 ab']);
  });
});
