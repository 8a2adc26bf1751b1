import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { readLiterals } from '../../src/session/text/regex-literals.ts';
import {
  cutLine,
  maxRepeatedLine,
  plainPattern,
  regexPattern,
  type TextPattern,
} from '../../src/session/text/text-pattern.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const limit = <T>(search: () => T): T => search();
const anyCase = { ignoresCase: true, limit };
const exactCase = { ignoresCase: false, limit };
const linesOf = (pattern: TextPattern, text: string) => pattern.findLines(text).map(({ number }) => number);
const matches = (expression: string, line: string, options = exactCase) => regexPattern(expression, options).isIn(line);

describe('a plain text', () => {
  test('is found literally, with the places of all its matches', () => {
    const pattern = plainPattern('a.c', exactCase);
    expect(pattern.findLines('abc\r\nx a.c a.c\r\n')).toEqual([
      {
        number: 2,
        text: 'x a.c a.c',
        marks: [
          { start: 2, end: 5 },
          { start: 6, end: 9 },
        ],
      },
    ]);
    expect(pattern.isIn('A.C')).toBe(false);
  });

  test('is found in any case, even with non-ASCII letters', () => {
    expect(linesOf(plainPattern('GRÖSSE k', anyCase), 'größe k\ngrösse K\ngrösse \u212A')).toEqual([2]);
  });

  test('with several lines begins in the first of them', () => {
    const [found, ...others] = plainPattern('two\nthree', exactCase).findLines('one\nand two\nthree\nfour');
    expect(found).toEqual({ number: 2, text: 'and two', marks: [{ start: 4, end: 7 }] });
    expect(others).toEqual([]);
  });
});

describe('a regular expression', () => {
  test.each([
    ['a|b', 'xbx', 'cd'],
    ['^(one|two)+$', 'onetwo', 'onethree'],
    ['a{2}b{0,1}c{1,}', 'aac', 'ac'],
    ['\\d+\\S', '12x', '1 x'],
    ['\\.\\$', 'a.$', 'ab$'],
    ['\\bwort\\B', 'worte', 'wort'],
    ['(a)(b)\\2\\1', 'abba', 'abab'],
    ['(?<one>a)\\k<one>', 'aa', 'ab'],
    ['(?<!no )needle(?= x)', 'a needle x', 'no needle x'],
    ['a.b', 'a😀b', 'ab'],
    ['[😀ü]{2}', '😀ü', '😀'],
    ['\\p{Lu}\\u{1F600}\\x41', 'Ä😀A', 'ä😀A'],
  ])('%s matches %j and not %j', (expression, line, other) => {
    expect(matches(expression, line)).toBe(true);
    expect(matches(expression, other)).toBe(false);
  });

  test('does not continue into the next line', () => {
    expect(matches('a.b', 'a\nb')).toBe(false);
    expect(matches('a[^x]b', 'a\nb')).toBe(false);
    expect(linesOf(regexPattern('^b$', exactCase), 'a\nb\r\nb')).toEqual([2, 3]);
  });

  test.each([
    'a(',
    '[a',
    '*a',
    'a)',
    '[b-a]',
    '[[:digit:]]',
    '[[:alpha:]_]x',
    '\\<word\\>',
    'a{,2}',
    '\\1(?<a>b)\\k<c>',
  ])("%s is refused with JavaScript's message, even if other dialects accept it", (expression) => {
    expect(() => regexPattern(expression, exactCase)).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: expect.stringMatching(/^Invalid regular expression: .+: \S.*\.$/),
        hint: expect.stringContaining('as a JavaScript expression'),
      }),
    );
  });

  test.each(['a*', 'a+', 'a?b', 'a{2}', '(?:(?:a|b)c?)', '[(]x+?'])(
    '%s has a repetition: it is tried within a limit, and not on overlong lines',
    (expression) => {
      let searches = 0;
      const counted = <T>(search: () => T): T => ((searches += 1), search());
      const pattern = regexPattern(expression, { ignoresCase: false, limit: counted });
      const line = 'aabc(xx'.padEnd(maxRepeatedLine);
      expect(pattern.isIn(line)).toBe(true);
      expect(linesOf(pattern, `${line} \naabc(xx`)).toEqual([2]);
      expect([pattern.isIn(`${line} `), pattern.isIn(`${line} \n${line} `)]).toEqual([false, false]);
      expect(pattern.isIn(`aabc(xx\n${line}x`)).toBe(true);
      expect(pattern.passedOver.size).toBe(2);
      expect(searches).toBe(5);
    },
  );

  test.each(['ENOENT|EACCES', '^a[*+]b', '(a\\+)\\{', '\\p{L}\\u{61}', '(?<word>a)\\*'])(
    '%s has no repetition: it is tried on a line of any length, without a limit',
    (expression) => {
      const none = () => expect.unreachable();
      const pattern = regexPattern(expression, { ignoresCase: false, limit: none });
      const line = 'a+b a+{ La EACCES a*'.padEnd(maxRepeatedLine + 1);
      expect(linesOf(pattern, line)).toEqual([1]);
      expect([pattern.isIn(line), pattern.passedOver.size]).toEqual([true, 0]);
    },
  );

  test.each([
    ['foo.*barz', [['foo'], ['barz']]],
    ['foo|x?bar', [['foo', 'bar']]],
    ['foo|b*', []],
    ['(foo|bar)baz*', [['ba']]],
    ['(?=one)two(?<!three(four))', [['two']]],
    ['abc{2}d{0,1}e?', [['ab']]],
    ['a😀*b', [['a'], ['b']]],
    ['^a\\.b$', [['a.b']]],
    ['[a|(\\]]b\\dcd', [['b'], ['cd']]],
    ['\\bword\\b', [['word']]],
    ['\\p{L}\\u{61}\\u0061\\x61\\cAx', []],
    ['(?<n>a)\\k<n>b', [['b']]],
    ['.*', []],
    ['', []],
  ])('%j needs %j', (expression, needed) => {
    expect(readLiterals(expression).needed).toEqual(needed);
  });
});

describe('the needles for a pattern', () => {
  propertyTest("are texts that are never escaped, or the files' own forms if those are too short", () => {
    expect(plainPattern('time zone', exactCase).needles).toEqual([['time zone']]);
    expect(plainPattern('say "x"', exactCase).needles).toEqual([['say '], ['say "x"', 'say \\"x\\"', '\\u', '\\/']]);
    expect(plainPattern("'", exactCase).needles).toEqual([["'", "''", '\\u', '\\/']]);
    expect(plainPattern('one line\nanother one', exactCase).needles).toEqual([['another one'], ['one line']]);
    expect(plainPattern('ü', anyCase).needles).toEqual([['ü', 'Ü', '\\u', '\\/']]);
    expect(regexPattern('ask|xy', anyCase).needles).toEqual([['ask', 'ſ', '\\u017f', '\u212A', '\\u212a', 'xy']]);
  });

  /** Each is a complete way to write a text in a turn's file. */
  const encoders: ((text: string) => string)[] = [
    (text) => text,
    (text) => JSON.stringify({ text }),
    // Python writes it this way.
    (text) => JSON.stringify(text).replace(/[\u007F-\uFFFF]/g, (unit) => toEscape(unit)),
    // Go and PHP write it this way.
    (text) => JSON.stringify(text).replace(/[<>&'=+`]/g, (unit) => toEscape(unit)),
    (text) => JSON.stringify(text).replaceAll('/', '\\/'),
    (text) => `stdout: |\n    ${text.replaceAll('\n', '\n    ')}\n`,
    (text) => (text.includes('\n') ? text : `title: '${text.replaceAll("'", "''")}'\n`),
  ];
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const character = fc.constantFrom(...'abkKsS ZöÖßſ\u212Aé\'"\\/<&\t:.#-1', '😀', '日', '\u2028', '\u001b');
  const texts = fc.array(fc.oneof(character, character, fc.constant('\n')), { minLength: 1, maxLength: 12 });
  const swapCase = (text: string) => text.replace(/\p{L}/gu, (letter) => toOther(letter));
  const toOther = (letter: string) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase());

  /** Matches a file against them like `git grep -F` in the C locale. */
  const holds = (file: string, { needles, ignoresCase }: TextPattern) => {
    const fold = (text: string) => (ignoresCase ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text);
    return needles.every((group) => group.some((text) => fold(file).includes(fold(text))));
  };

  propertyTest('are in every file that contains a match, however that is written', () => {
    const around = fc.array(character, { maxLength: 4 });
    fc.assert(
      fc.property(texts, around, around, fc.boolean(), (parts, before, after, ignoresCase) => {
        const text = parts.join('');
        const pattern = plainPattern(text, { ignoresCase });
        const said = `${before.join('')}${ignoresCase ? swapCase(text) : text}${after.join('')}`;
        fc.pre(pattern.isIn(said));
        for (const encode of encoders) expect(holds(encode(said), pattern), encode(said)).toBe(true);
        for (const one of pattern.needles.flat()) expect(one).not.toMatch(/[\n\0]|^$/);
      }),
      runs(250),
    );
  });

  propertyTest('are in every file that contains a match for an expression', () => {
    const atom = fc.oneof(
      character.map((one) => one.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')),
      fc.constantFrom('.', '[ab]', '[^x]', '[(|\\]k]', '\\w', '\\p{L}', '\\bk', '\\u{6b}', '\\x41', '\\u00f6'),
      fc.constantFrom('(a|öb)', '(?:s|)', '(?<n>k"|<)\\k<n>', '(?=k)', '(?!S)', '(?<=(?:é|\\())', '(?<![a)]b)'),
    );
    const repeats = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,2}', '*?', '{1,}?');
    const part = fc.tuple(atom, repeats).map((both) => both.join(''));
    const expressions = fc.array(fc.oneof(part, part, fc.constantFrom('|', '^', '$')), { minLength: 1, maxLength: 6 });
    const tried = (expression: string, ignoresCase: boolean) => {
      try {
        return regexPattern(expression, { ignoresCase, limit });
      } catch {
        // A lookaround cannot be repeated, and a group's name is used once.
        return null;
      }
    };
    fc.assert(
      fc.property(expressions, texts, fc.boolean(), (parts, said, ignoresCase) => {
        const pattern = tried(parts.join(''), ignoresCase);
        const text = said.join('');
        fc.pre(pattern !== null && pattern.isIn(text));
        for (const encode of encoders) expect(holds(encode(text), pattern), encode(text)).toBe(true);
      }),
    );
  });
});

describe('an overlong line', () => {
  const line = (text: string, start: number, end: number) => ({ text, marks: [{ start, end }] });

  test('is cut around its first match, whose place is adjusted', () => {
    const cut = cutLine(line(`${'x'.repeat(100)}needle${'y'.repeat(100)}`, 100, 106), 40);
    expect(cut.text).toBe(`...${'x'.repeat(10)}needle${'y'.repeat(24)}...`);
    expect(cut.text.slice(cut.marks[0]?.start, cut.marks[0]?.end)).toBe('needle');
  });

  test('loses the white space at its ends, without splitting a character', () => {
    expect(cutLine(line('    needle  ', 4, 10), 40)).toEqual(line('needle', 0, 6));
    expect(cutLine(line(`${'😀'.repeat(50)}needle`, 100, 106), 31).text).toBe(`...${'😀'.repeat(12)}needle`);
  });

  test('shows as much of a match as fits', () => {
    expect(cutLine(line('needle'.repeat(20), 0, 120), 12)).toEqual(line('needleneedle...', 0, 12));
  });
});
