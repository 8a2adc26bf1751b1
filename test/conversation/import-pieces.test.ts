import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { openIdMemory } from '../../src/conversation/records/import-ids.ts';
import { openLines, readObjects } from '../../src/conversation/logs/import-lines.ts';
import { openJsonElements, type JsonPart } from '../../src/conversation/logs/json-elements.ts';
import { toStorable, toTimestamp } from '../../src/conversation/records/import-values.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

/** The text in pieces of these lengths, over and over. */
function inPieces(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, n = 0; at < text.length; n += 1) {
    const length = lengths[n % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}
/** Lone surrogates, control characters and all. */
const anyText = fc.array(fc.nat(0xffff), { maxLength: 8 }).map((codes) => String.fromCharCode(...codes));
const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 });

function partsOf(pieces: readonly string[], maxChars?: number): JsonPart[] {
  const elements = openJsonElements(maxChars);
  return [...pieces.flatMap((piece) => elements.push(piece)), ...elements.end()];
}
const textsOf = (parts: readonly JsonPart[]) => parts.flatMap((part) => (part.kind === 'element' ? [part.text] : []));

describe('the lines of a text in pieces', () => {
  propertyTest('are those of the whole text, without blank ones, and with their numbers', () => {
    const line = fc.oneof(anyText, fc.constantFrom('', '\r', ' ', '\uFEFF', 'a\r'));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), lengths, (lines, cuts) => {
        const text = lines.join('\n');
        const expected = text.split('\n').flatMap((found, index) => {
          const clean = (index === 0 ? found.replace(/^\uFEFF/, '') : found).replace(/\r$/, '');
          return clean.trim() === '' ? [] : [{ number: index + 1, text: clean }];
        });
        const cutter = openLines();
        expect([...inPieces(text, cuts).flatMap((piece) => cutter.push(piece)), ...cutter.end()]).toEqual(expected);
      }),
    );
  });

  test('that are too long are given without their text, and the next ones unchanged', () => {
    const cutter = openLines(4);
    expect([...cutter.push('1234\n123'), ...cutter.push('45\nx\n12345'), ...cutter.end()]).toEqual([
      { number: 1, text: '1234' },
      { number: 2, text: null },
      { number: 3, text: 'x' },
      { number: 4, text: null },
    ]);
  });

  test('contain only objects', () => {
    expect(readObjects('{"a":1}')).toEqual({ objects: [{ a: 1 }], repaired: null, lost: null });
    expect(readObjects('[1]').lost).toBe('not a JSON object');
    expect(readObjects('{"a":').lost).toBe('not JSON');
  });
});

describe('the elements of a JSON document in pieces', () => {
  propertyTest('are those of the array, whatever they contain and wherever it is cut', () => {
    const indent = fc.constantFrom(undefined, 1, 2, '\t');
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), indent, lengths, (values, space, cuts) => {
        const texts = textsOf(partsOf(inPieces(JSON.stringify(values, null, space), cuts)));
        expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });

  propertyTest('are those of the top-level member `messages`, and of no other array', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        lengths,
        (values, others, cuts) => {
          const text = JSON.stringify({ before: [others, { messages: [1] }], ...others, messages: values, after: [2] });
          const found = textsOf(partsOf(inPieces(text, cuts)));
          expect(found.map((element) => JSON.parse(element) as unknown)).toEqual(JSON.parse(JSON.stringify(values)));
        },
      ),
    );
  });

  propertyTest('are the same wherever any text is cut', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', ',', '"', '\\', '"messages":', ':', ' ', '\n', 'a', '1');
    fc.assert(
      fc.property(fc.array(piece), lengths, (pieces, cuts) => {
        const text = pieces.join('');
        expect(partsOf(inPieces(text, cuts))).toEqual(partsOf([text]));
      }),
    );
  });

  test('that are too long are reported, and the next ones follow', () => {
    expect(partsOf(['[1,"123', '45",2]'], 4)).toEqual([
      { kind: 'element', text: '1' },
      { kind: 'too-long' },
      { kind: 'element', text: '2' },
    ]);
  });
});

describe('the memory for ids', () => {
  test('has the last ones, and at most twice as many', () => {
    const memory = openIdMemory(100);
    for (let n = 0; n < 1000; n += 1) {
      expect([memory.isNew(`${n}`), memory.isNew(`${Math.max(0, n - 100)}`)]).toEqual([true, false]);
      expect(memory.size()).toBeLessThanOrEqual(200);
    }
  });
});

describe("a source's value", () => {
  test('that is nested too deeply to be rewritten is replaced', () => {
    const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    expect(toStorable(deep)).toBe('[nested too deeply to be kept]');
    const value = { a: [{ b: 1 }] };
    expect(toStorable(value)).toBe(value);
  });

  test('is a time only if it is unambiguous', () => {
    expect(toTimestamp('2026-01-24T10:00:00')).toBe('2026-01-24T10:00:00.000Z');
    expect(toTimestamp(1_769_248_800)).toBe('2026-01-24T10:00:00.000Z');
    expect(toTimestamp(1_769_248_800_000)).toBe('2026-01-24T10:00:00.000Z');
    for (const other of ['x 1', '2026-99-99T10:00:00Z', '', null, Number.NaN, Infinity, -1, 1e300, {}])
      expect(toTimestamp(other)).toBeUndefined();
  });
});
