/**
 * A long line is cut while it arrives: never more than its limits and one piece is in memory, and the line keeps its
 * meaning.
 */
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { countWhole, cutText } from '../../src/session/text/clip-line.ts';
import { type LineLimits } from '../../src/session/text/clip-line.ts';
import { openLineReader, type ReadLine } from '../../src/session/lines/read-lines.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const limits: LineLimits = { text: 200, line: 1_000 };

function read(text: string, pieceLength: number): { lines: ReadLine[]; most: number } {
  const lines: ReadLine[] = [];
  let most = 0;
  const reader = openLineReader(limits, (line) => lines.push(line));
  for (let at = 0; at < text.length; at += pieceLength) {
    reader.push(text.slice(at, at + pieceLength));
    most = Math.max(most, reader.heldLength());
  }
  reader.end();
  return { lines, most };
}

function readOne(text: string, pieceLength = 64): ReadLine & { most: number } {
  const { lines, most } = read(text, pieceLength);
  expect(lines).toHaveLength(1);
  return { text: '', length: 0, cut: 0, ...lines[0], most };
}

const pieceLength = fc.integer({ min: 1, max: 300 });
/** Escapes of every kind, characters of two units, and text that resembles structure. */
const said = fc
  .array(fc.constantFrom('a', '"', '\\', '\n', '\u0001', '😀', 'ü', '{', ']', ',', '\\u0041', '"},{"'), {
    maxLength: 900,
  })
  .map((parts) => parts.join(''));

propertyTest('each text in a record is complete, or its beginning with the number of characters left out', () => {
  fc.assert(
    fc.property(said, said, pieceLength, (one, other, length) => {
      const record = { type: 'user', message: { role: 'user', content: one, more: [other, 1, null] }, source: 'text' };
      const { text, cut } = readOne(JSON.stringify(record), length);
      const texts = [one, other].map((whole) => cutText(whole, limits.text));
      const short = {
        type: 'user',
        message: { role: 'user', content: texts[0], more: [texts[1], 1, null] },
        source: 'text',
      };
      const isShort = JSON.stringify(record).length <= limits.text;
      expect(JSON.parse(text)).toEqual(isShort ? record : short);
      expect(cut).toBe(
        isShort ? 0 : [one, other].reduce((sum, { length: all }) => sum + Math.max(all - limits.text, 0), 0),
      );
    }),
    runs(200),
  );
});

propertyTest(
  'a line is the same however it is cut into pieces, and at most the limits and one piece are in memory',
  () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(fc.array(value, { maxLength: 60 }), said, pieceLength, (output, text, length) => {
        const line = JSON.stringify({
          type: 'tool_result',
          output: [...output, ...output, text, ...output],
          is_error: false,
        });
        const { most, ...clipped } = readOne(line, length);
        const { most: _most, ...other } = readOne(line, 7);
        expect(clipped).toEqual(other);
        expect(most).toBeLessThanOrEqual(2 * limits.line + limits.text + length);
        expect(clipped.length).toBe(line.length);
        expect(JSON.parse(clipped.text)).toMatchObject({ type: 'tool_result', is_error: false });
      }),
      runs(100),
    );
  },
);

describe('a line of a megabyte never keeps more than a few limits in memory', () => {
  test.each([
    ['one text', JSON.stringify({ type: 'user', content: 'x\n'.repeat(500_000), source: 'text' }), true],
    ['many elements', JSON.stringify({ type: 'user', content: Array(300_000).fill(1), source: 'text' }), true],
    [
      'deep elements',
      JSON.stringify({ type: 'user', content: Array(30_000).fill({ a: ['b', { c: 1 }] }), source: 'text' }),
      true,
    ],
    ['many members', `{"type":"user",${'"a":1,'.repeat(200_000)}"source":"text"}`, false],
    ['a text without an end', `{"type":"user","content":"${'x'.repeat(1_000_000)}`, false],
    ['brackets', '['.repeat(1_000_000), false],
    ['not JSON', 'x'.repeat(1_000_000), false],
  ])('%s', (_, line, isReadable) => {
    const { text, most, cut, length } = readOne(line, 500);
    expect(length).toBe(line.length);
    expect(most).toBeLessThanOrEqual(2 * limits.line + limits.text + 500);
    expect(text.length).toBeLessThanOrEqual(2 * limits.line + limits.text + 500);
    expect(cut).toBeGreaterThan(200_000);
    if (isReadable) expect(JSON.parse(text)).toMatchObject({ type: 'user', source: 'text' });
    else expect(() => void JSON.parse(text)).toThrow();
  });
});

test('in a line of YAML, a quoted value stays quoted, and any other ends with the number left out', () => {
  const { lines } = read(`stdout: "${'a\\n'.repeat(300)}"\n  ${'plain '.repeat(100)}\nnext: 1\n`, 50);
  expect(lines.map(({ text }) => text.slice(-50))).toEqual([
    `${'a\\n'.repeat(40)}\\n[400 more characters are left out]"`.slice(-50),
    `${'plain '.repeat(100).slice(0, 198)} [402 more characters are left out]`.slice(-50),
    'next: 1',
  ]);
  expect(JSON.parse(lines[0]?.text.slice('stdout: '.length) ?? '')).toBe(cutText('a\n'.repeat(300), 200));
});

test('a text that was cut twice names the total number left out', () => {
  const whole = 'x'.repeat(30_000);
  const once = cutText(whole, 2_000);
  expect(countWhole(once)).toBe(30_000);
  expect(cutText(once, 500)).toBe(cutText(whole, 500));
  expect(cutText(once, 500)).toMatch(/^x{500}\n\[29,500 more characters are left out\]$/);
  expect(countWhole(`${once}\n\n${once}`)).toBe(60_002);
});
