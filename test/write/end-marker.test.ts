import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { openScanner } from '../../src/write/done-scanner.ts';
import { hasBareMarker, isEndMarker, toOwnMarker } from '../../src/write/end-marker.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const encode = (text: string) => new TextEncoder().encode(text);

describe('an end marker', () => {
  test('is DONE, or DONE and eight hexadecimal digits in lower case', () => {
    expect(['DONE', 'DONE-0123abcd'].filter(isEndMarker)).toEqual(['DONE', 'DONE-0123abcd']);
    const others = [
      '',
      'done',
      'DONE-',
      'DONE-0123ABCD',
      'DONE-0123abc',
      'DONE-0123abcde',
      'DONE\n',
      'DONE-0123abcd\n',
    ];
    expect(others.filter(isEndMarker)).toEqual([]);
  });

  test('is made of eight random digits if it is special', () => {
    expect(toOwnMarker('0123abcd')).toBe('DONE-0123abcd');
    expect(() => toOwnMarker('0123-bcd')).toThrow('eight hexadecimal digits');
  });
});

describe('a text has a bare marker', () => {
  test.each(['DONE', 'DONE\n', 'a\nDONE\nb', 'a\nDONE \t\r\n', '```\nDONE\n```\n', 'DONEX\nDONE'])('in %j', (text) => {
    expect(hasBareMarker(encode(text), 'DONE')).toBe(true);
  });

  test.each(['', '\n', 'DON', ' DONE', 'DONE.', 'a DONE', 'a\rDONE', 'DONE-0123abcd\n', 'done\n'])(
    'but not in %j',
    (text) => {
      expect(hasBareMarker(encode(text), 'DONE')).toBe(false);
    },
  );

  test('with a session’s own marker if it contains that, not if it contains DONE', () => {
    expect(hasBareMarker(encode('DONE\n'), 'DONE-0123abcd')).toBe(false);
    expect(hasBareMarker(encode('a\nDONE-0123abcd'), 'DONE-0123abcd')).toBe(true);
  });

  propertyTest('exactly if it would end as a content', () => {
    const part = fc.constantFrom('DONE', 'D', '\n', '\r', ' ', '\t', 'x');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const bytes = encode(parts.join(''));
        const scanner = openScanner({ marker: 'DONE', isMarkdown: false });
        const isEnded = scanner.next(bytes).isDone || scanner.end({ isAnswerEnd: true }).isDone;
        expect(hasBareMarker(bytes, 'DONE')).toBe(isEnded);
      }),
      runs(2000),
    );
  });
});
