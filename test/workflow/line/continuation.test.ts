import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { openSeam } from '../../../src/workflow/line/receive-answer.ts';
import { expectLinear } from '../../support/growth.ts';
import { runs } from '../../support/runs.ts';
import { propertyTest, quickTest as test } from '../../support/slow-test.ts';

const line = (number: number) => `line ${number} of a text that is long enough to be recognised\n`;
const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => line(from + at)).join('');

/** Cut at these places, in any order. */
function inPieces(text: string, cuts: number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted((a, b) => a - b);
  return places.slice(1).map((end, at) => text.slice(places[at], end));
}

const joinContinuation = (before: string, continuation: string) => joinInPieces(before, [continuation]).text;

function joinInPieces(before: string, pieces: string[]): { text: string; droppedBytes: number } {
  const seam = openSeam(before);
  const text = before + pieces.map((piece) => seam.next(piece)).join('') + seam.end();
  return { text, droppedBytes: seam.droppedBytes() };
}

describe('a continuation', () => {
  propertyTest('that repeats nothing is added unchanged', () => {
    // fast-check takes a second to make its own unit `binary`.
    const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
    const text = fc.string({ unit, maxLength: 200 });
    const unlike = fc.tuple(text, text);
    fc.assert(
      // No line in the first half begins with the mark that the second half begins with.
      fc.property(unlike, ([before, more]) => {
        const [half, rest] = [before.replaceAll('\u0001', ''), `\u0001${more}`];
        expect(joinContinuation(half, rest)).toBe(half + rest);
      }),
    );
  });

  propertyTest('that repeats whole last lines yields the text without the repetition, wherever the cut was', () => {
    fc.assert(
      fc.property(fc.nat(8), fc.integer({ min: 1, max: 8 }), fc.nat(8), fc.nat(), (earlier, repeated, more, cut) => {
        const whole = lines(1, earlier + repeated) + lines(100, 100 + more);
        // At the end of a line, or in the middle of the next line.
        const end = lines(1, earlier + repeated).length + (cut % line(100).length);
        const [before, rest] = [whole.slice(0, end), whole.slice(end)];
        const again = before.slice(lines(1, earlier).length);
        expect(joinContinuation(before, again + rest)).toBe(whole);
        expect(joinContinuation(before, rest)).toBe(whole);
      }),
    );
  });

  propertyTest('yields the same text however it is cut into pieces', () => {
    const words = fc.array(fc.constantFrom('a', 'é', '😀', '\n', `${'x'.repeat(40)}\n`, line(1)), { maxLength: 12 });
    fc.assert(
      fc.property(words, words, fc.array(fc.nat(), { maxLength: 6 }), (first, second, cuts) => {
        const [before, continuation] = [first.join(''), second.join('')];
        const { text, droppedBytes } = joinInPieces(before, inPieces(continuation, cuts));
        expect(text).toBe(joinContinuation(before, continuation));
        const lost = Buffer.byteLength(before + continuation) - Buffer.byteLength(text);
        expect(droppedBytes).toBe(lost);
        expect(lost === 0 || lost >= 40).toBe(true);
      }),
      runs(1000),
    );
  });

  test('may repeat less than 40 bytes, or part of a line, without losing anything', () => {
    const short = `${'y'.repeat(38)}\n`;
    expect(joinContinuation(`start\n${short}`, short)).toBe(`start\n${short}${short}`);
    const long = `${'y'.repeat(39)}\n`;
    expect(joinContinuation(`start\n${long}`, `${long}end`)).toBe(`start\n${long}end`);
    const before = `begin ${'z'.repeat(60)}`;
    expect(joinContinuation(before, 'z'.repeat(60))).toBe(before + 'z'.repeat(60));
  });

  test('that repeats the cut line from its start continues in that line', () => {
    const before = '# Plan\n    const answer = await fetchTheWholeThing(abc, d';
    const again = '    const answer = await fetchTheWholeThing(abc, def);\n';
    expect(joinContinuation(before, again)).toBe(`# Plan\n${again}`);
  });

  test('is passed on as soon as it cannot be a repetition, and held back only as long as it could be', () => {
    const seam = openSeam(lines(1, 3));
    expect(seam.next('line 3 of')).toBe('');
    expect(seam.next(' something else')).toBe('line 3 of something else');
    expect(seam.next(' and on')).toBe(' and on');
    expect(seam.end()).toBe('');
  });

  test('that repeats the whole answer in small pieces is joined in linear time', async () => {
    await expectLinear(
      4000,
      (count) => lines(1, count),
      (before) => {
        const pieces = (before + 'and on').match(/.{1,4}/gs) ?? [];
        expect(joinInPieces(before, pieces)).toEqual({ text: `${before}and on`, droppedBytes: before.length });
      },
    );
  });

  test('of two hundred thousand equal lines is joined in linear time', async () => {
    await expectLinear(
      200_000,
      (count) => 'same\n'.repeat(count),
      (before) => expect(joinContinuation(before, `${before}!`)).toBe(`${before}!`),
    );
  });
});
