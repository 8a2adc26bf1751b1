import { describe, expect, test } from 'vitest';
import { applyMasks, countMasks } from '../../src/session/masks/mask.ts';

describe('masks', () => {
  test("merge for overlapping secrets, with the longest one's kind; adjacent secrets get two", () => {
    const hits = [
      { start: 4, end: 8, kind: 'b' },
      { start: 2, end: 5, kind: 'a' },
      { start: 8, end: 9, kind: 'c' },
      { start: 2, end: 4, kind: 'd' },
    ];
    const { text, found } = applyMasks('0\n23456789\nz', hits);
    expect(text).toBe('0\n[masked: b][masked: c]9\nz');
    expect(found).toEqual([
      { kind: 'b', line: 2 },
      { kind: 'c', line: 2 },
    ]);
  });

  test('count a secret of several lines at its first line, and later secrets at theirs', () => {
    const { found } = applyMasks('a\nb\nc\nd', [
      { start: 2, end: 5, kind: 'x' },
      { start: 6, end: 7, kind: 'y' },
    ]);
    expect(found.map(({ line }) => line)).toEqual([2, 4]);
  });

  test('are not masked again inside, but the text around them is', () => {
    const text = '[masked: env A_KEY]!';
    expect(applyMasks(text, [{ start: 9, end: 18, kind: 'x' }]).text).toBe(text);
    expect(applyMasks(text, [{ start: 0, end: 20, kind: 'x' }]).text).toBe('[masked: x]');
  });

  test('are counted by kind; documentation of masks does not count', () => {
    const text = '[masked: a b] [masked: a b] [masked: c] [masked: <kind>] [masked: ...] [masked: ] [masked: a\nb]';
    expect([...countMasks(text)]).toEqual([
      ['[masked: a b]', 2],
      ['[masked: c]', 1],
    ]);
  });
});
