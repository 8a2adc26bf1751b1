import { expect, test } from 'vitest';
import { cutToWidth, padTo, widthOf, wrap } from '../../../src/cli/render/cut-to-width.ts';

test.each([
  ['', 0],
  ['plain', 5],
  ['日本語', 6],
  ['한국', 4],
  ['e\u0301te\u0301', 3],
  ['और', 2],
  ['😀', 2],
  ['👍🏽', 2],
  ['❤\uFE0F', 2],
  ['❤', 1],
  ['🇩🇪', 2],
  ['авторизация', 11],
])('%j takes %i columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test('a text is cut between characters so that it fits, with its marks', () => {
  expect(cutToWidth('plain', 5)).toBe('plain');
  expect(cutToWidth('plain text', 6)).toBe('plain…');
  expect(cutToWidth('日本語の名前', 12)).toBe('日本語の名前');
  expect(cutToWidth('日本語の名前', 8)).toBe('日本語…');
  expect(cutToWidth('日本語の名前', 7)).toBe('日本語…');
  expect(cutToWidth('e\u0301te\u0301s', 3)).toBe('e\u0301t…');
  expect(cutToWidth('日本', 0)).toBe('…');
  expect(cutToWidth('日本', Number.POSITIVE_INFINITY)).toBe('日本');
  for (const room of [1, 2, 3, 4, 5, 6, 7])
    expect(widthOf(cutToWidth('a日e\u0301😀b本', room))).toBeLessThanOrEqual(room);
});

test('a text is filled up to a width', () => {
  expect([padTo('日本', 6), padTo('abcd', 6), padTo('abcdefg', 6)]).toEqual(['日本  ', 'abcd  ', 'abcdefg']);
});

test('a text is wrapped between words, and a longer word stands alone', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('  日本語 の 名前', 8)).toEqual(['  日本語', 'の 名前']);
  expect(wrap('a longest b', 4)).toEqual(['a', 'longest', 'b']);
  expect(wrap('one  two', Number.POSITIVE_INFINITY)).toEqual(['one  two']);
});
