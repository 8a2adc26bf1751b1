import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { expectLinear } from '../support/growth.ts';
import { type EditOutcome, applyEdit } from '../../src/plan/match/match.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';

type Pair = [find: string | null, replace: string];

function edit(text: string, pairs: Pair[], matchAll = false): EditOutcome {
  return applyEdit(text, {
    matchAll,
    pairs: pairs.map(([find, replace], i) => ({ find, replace, line: 10 * (i + 1), column: 1 })),
  });
}

function edited(text: string, pairs: Pair[], matchAll = false): string {
  const outcome = edit(text, pairs, matchAll);
  if (!outcome.ok) throw new Error(outcome.problems.map((problem) => problem.message).join('\n'));
  return outcome.text;
}

function messages(outcome: EditOutcome): string[] {
  return outcome.ok ? [] : outcome.problems.map((problem) => problem.message);
}

describe('whole lines', () => {
  test('a whole line is preferred to part of an earlier line', () => {
    expect(edit('max = 1\nx = 1\n', [['x = 1\n', 'x = 2\n']])).toEqual({
      ok: true,
      text: 'max = 1\nx = 2\n',
      matches: [{ pair: 1, kind: 'lines', line: 2 }],
    });
  });

  test('several lines are replaced by any number of lines', () => {
    expect(edited('a\nb\nc\nd\n', [['b\nc\n', '1\n2\n3\n']])).toBe('a\n1\n2\n3\nd\n');
  });

  test('lines that merely begin or end like FIND are not a whole-line match', () => {
    expect(edited('ab\nb\nba\n', [['b\n', 'x\n']])).toBe('ab\nx\nba\n');
  });

  test('an empty REPLACE removes the lines, without leaving a blank line', () => {
    expect(edited('a\nb\nc\n', [['b\n', '']])).toBe('a\nc\n');
    expect(edited('a\nb\nc\n', [['a\nb\nc\n', '']])).toBe('');
  });

  test('a blank line can be found', () => {
    expect(edited('a\n\nb\n', [['\n', '# here\n']])).toBe('a\n# here\nb\n');
  });

  test('a FIND without a final newline is a whole line, too', () => {
    expect(edited('max = 1\nx = 1\n', [['x = 1', 'x = 2']])).toBe('max = 1\nx = 2\n');
  });

  test('lines whose indentation differs by different offsets are a miss', () => {
    expect(edit('  a  \nb\n', [['a \nb\n', 'x\n']]).ok).toBe(false);
  });
});

describe('parts of lines', () => {
  test('part of a line is replaced if no whole line equals FIND', () => {
    expect(edit('let max = 1; // top\n', [['max = 1\n', 'max = 2\n']])).toEqual({
      ok: true,
      text: 'let max = 2; // top\n',
      matches: [{ pair: 1, kind: 'part', line: 1 }],
    });
  });

  test('a part may span lines', () => {
    expect(edited('f(a,\n  b)\n', [['a,\n  b\n', 'c\n']])).toBe('f(c)\n');
  });

  test('a blank line at an edge of FIND never joins two lines', () => {
    expect(edit('a\nb\nc\n', [['b\n\n', 'x\n']]).ok).toBe(false);
    expect(edit('a\nb\nc\n', [['\nb\n', 'x\n']]).ok).toBe(false);
    expect(edit('a\nb\nc\n', [['b\n\n', '']]).ok).toBe(false);
    expect(edit('a\r\nb\r\nc\r\n', [['b\n\n', 'x\n']]).ok).toBe(false);
    expect(edited('a\nb\nc\n', [['\nb\n\n', '\nx\n\n']])).toBe('a\nx\nc\n');
  });

  test('an empty REPLACE removes only the part', () => {
    expect(edited('a, b, c\n', [[', b\n', '']])).toBe('a, c\n');
  });

  test('a number that differs is a miss', () => {
    expect(messages(edit('x = 100;\n', [['= 500;\n', '= 700;\n']]))[0]).toContain('FIND was not found');
  });

  test('regular expression characters are ordinary ones, in FIND and in REPLACE', () => {
    expect(edited('a.c $& [x]\n', [['a.c $& [x]\n', "$& $1 $$ $` $' \\n\n"]])).toBe("$& $1 $$ $` $' \\n\n");
    expect(edited('v = (a|b)*;\n', [['(a|b)*\n', '$&$&\n']])).toBe('v = $&$&;\n');
    expect(messages(edit('abc\n', [['a.c\n', 'x\n']]))).toHaveLength(1);
  });
});

describe('white space at the ends of lines', () => {
  test('it may differ, in FIND or in the file, and the whole lines are replaced', () => {
    const matches = [{ pair: 1, kind: 'trailing-space', line: 2 }];
    expect(edit('a\nb  \nc\t\nd\n', [['b\nc\n', 'x\n']])).toEqual({ ok: true, text: 'a\nx\nd\n', matches });
    expect(edit('a\nb\nd\n', [['b \t\n', 'x \n']])).toEqual({ ok: true, text: 'a\nx \nd\n', matches });
  });

  test('a blank line in FIND matches a line of white space', () => {
    expect(edited('a\n  \t\nb\n', [['a\n\nb\n', 'a\nb\n']])).toBe('a\nb\n');
  });

  test('an exact match is preferred', () => {
    expect(edited('b \nc\nb\nc\n', [['b\nc\n', 'x\n']])).toBe('b \nc\nx\n');
  });

  test('each line of REPLACE ends like the line it replaces in a file with mixed endings', () => {
    expect(edited('a\nb\r\nc\nd\r\n', [['b\nc\n', '1\n2\n3\n']])).toBe('a\n1\r\n2\n3\nd\r\n');
    expect(edited('a\nb \r\nd\n', [['b  \n', '1\n2\n']])).toBe('a\n1\r\n2\r\nd\n');
  });

  test('a no-break space is not white space', () => {
    expect(edit('a\u00A0\nb\n', [['a\nb\n', 'x\n']]).ok).toBe(false);
  });

  test('a missing final newline stays missing', () => {
    expect(edited('a\nb', [['b \n', 'x\n']])).toBe('a\nx');
    expect(edited('a\nb', [['b \n', '']])).toBe('a');
  });
});

describe('one constant indentation offset', () => {
  test('an offset that FIND lacks is added to the lines of REPLACE that are not blank', () => {
    expect(edit('{\n  if (a)\n    b();\n}\n', [['if (a)\n  b();\n', 'if (c)\n\n  d();\n']])).toEqual({
      ok: true,
      text: '{\n  if (c)\n\n    d();\n}\n',
      matches: [{ pair: 1, kind: 'indentation', line: 2 }],
    });
  });

  test('an offset that the file lacks is removed from REPLACE', () => {
    expect(edited('if (a)\n  b();\n', [['    if (a)\n      b();\n', '    if (c)\n\n      d();\n']])).toBe(
      'if (c)\n\n  d();\n',
    );
  });

  test('a REPLACE without the offset to be removed makes it a miss', () => {
    expect(edit('a\n b\n', [['  a\n   b\n', ' x\n']]).ok).toBe(false);
    expect(edited('a\n b\n', [['  a\n   b\n', '']])).toBe('');
  });

  test('a tab-indented file keeps its tabs, and a tab does not count as spaces', () => {
    expect(edited('{\n\tif\n\t\tb\n}\n', [['if\n\tb\n', 'if\n\tc\n']])).toBe('{\n\tif\n\t\tc\n}\n');
    expect(edited('if\n\tb\n', [['\tif\n\t\tb\n', '\tif\n\t\tc\n']])).toBe('if\n\tc\n');
    expect(edit('\tif\n\t\tb\n', [['    if\n        b\n', 'x\n']]).ok).toBe(false);
    expect(edit('\tif\n\t\tb\n', [[' if\n  b\n', 'x\n']]).ok).toBe(false);
  });

  test('an offset that differs between lines is a miss', () => {
    expect(edit('  a\n    b\n', [['a\nb\n', 'x\n']]).ok).toBe(false);
    expect(edit('\t a\n \tb\n', [['a\nb\n', 'x\n']]).ok).toBe(false);
  });

  test('blank lines at the edges of FIND and within it have no offset', () => {
    expect(edited('z\n\n  a\n\n  b\n\nz\n', [['\na\n\nb\n\n', '\nx\n\n']])).toBe('z\n\n  x\n\nz\n');
    expect(edit('z\n  a\n  b\n', [['\na\nb\n', '\nx\n']]).ok).toBe(false);
  });

  test('Match All over two indentations changes both, each with its own offset', () => {
    const outcome = edit('  a\n  b\nz\n\ta\n\tb\n', [['a\nb\n', 'x\n y\n']], true);
    expect(outcome).toMatchObject({ ok: true, text: '  x\n   y\nz\n\tx\n\t y\n', matches: [{ line: 1 }, { line: 4 }] });
  });

  test('two indentations without Match All are an ambiguity that lists the lines', () => {
    expect(messages(edit('  a\n  b\nz\n\ta\n\tb\n', [['a\nb\n', 'x\n']]))).toEqual([
      'FIND matches 2 places, expected one: lines 1, 4.',
    ]);
  });

  test('a CRLF file stays CRLF', () => {
    expect(edited('{\r\n  a\r\n  b\r\n}\r\n', [['a\nb\n', 'x\ny\n']])).toBe('{\r\n  x\r\n  y\r\n}\r\n');
  });
});

describe('a large file', () => {
  slowTest(
    '40,000 equal lines and a FIND with half as many are matched in linear time, whatever the white space',
    async () => {
      const expectAnswer = (line: string, last: string, isFound: boolean) =>
        expectLinear(
          40_000,
          (count) => ({ text: line.repeat(count), find: 'qq qq qq\n'.repeat(count / 2) + last }),
          ({ text, find }) => expect(edit(text, [[find, find.replaceAll('q', 'r')]], isFound).ok).toBe(isFound),
        );
      await expectAnswer('qq qq qq\n', '', true);
      await expectAnswer('qq qq qq \n', '', true);
      await expectAnswer('  qq qq qq\n', '', true);
      await expectAnswer('  qq qq qq\n', 'qq\n', false);
    },
  );
});

describe('more than one match', () => {
  test('is a problem that lists the lines', () => {
    const outcome = edit('x\na\nx\na\nx\n', [['x\n', 'y\n']]);
    expect(messages(outcome)).toEqual(['FIND matches 3 places, expected one: lines 1, 3, 5.']);
    expect(outcome).toMatchObject({ problems: [{ line: 10, column: 1, hint: expect.stringContaining('Match All') }] });
  });

  test('is also two places in one line', () => {
    expect(messages(edit('f(a) + f(b)\n', [['f(\n', 'g(\n']]))).toEqual([
      'FIND matches 2 places, expected one: line 1.',
    ]);
  });

  test('is also two overlapping places', () => {
    expect(messages(edit('a\na\na\n', [['a\na\n', 'b\n']]))).toEqual([
      'FIND matches 2 places, expected one: lines 1, 2.',
    ]);
    expect(messages(edit('1aaa\n', [['aa\n', 'b\n']]))).toHaveLength(1);
  });

  test('is replaced everywhere with Match All', () => {
    expect(edit('x\na\nx', [['x\n', 'y\n']], true)).toEqual({
      ok: true,
      text: 'y\na\ny',
      matches: [
        { pair: 1, kind: 'lines', line: 1 },
        { pair: 1, kind: 'lines', line: 3 },
      ],
    });
    expect(edited('f(a) + f(b)\n', [['f(\n', 'g(\n']], true)).toBe('g(a) + g(b)\n');
  });

  test('is replaced from the left with Match All if places overlap, each character once', () => {
    expect(edited('a\na\na\n', [['a\na\n', 'b\n']], true)).toBe('b\na\n');
    expect(edited('1aaaaa\n', [['aa\n', 'b\n']], true)).toBe('1bba\n');
    expect(edited('1 aab aaab\n', [['aab\n', 'x\n']], true)).toBe('1 x ax\n');
  });

  test('is replaced only in whole lines with Match All, if there are any', () => {
    expect(edited('x = 1\nmax = 1\n', [['x = 1\n', 'x = 2\n']], true)).toBe('x = 2\nmax = 1\n');
  });

  test('lists only the first lines of very many', () => {
    expect(messages(edit('x\n'.repeat(500), [['x\n', 'y\n']]))[0]).toMatch(/ 20 and 480 more\.$/);
  });
});

describe('pairs', () => {
  test('are applied one after another', () => {
    const outcome = edit('a\nz\n', [
      ['a\n', 'b\nc\n'],
      ['c\nz\n', 'd\n'],
    ]);
    expect(outcome).toMatchObject({ ok: true, text: 'b\nd\n', matches: [{ pair: 1 }, { pair: 2, line: 2 }] });
  });

  test('may come in any order', () => {
    expect(
      edited('1\n2\n3\n', [
        ['3\n', 'c\n'],
        ['1\n', 'a\n'],
      ]),
    ).toBe('a\n2\nc\n');
  });

  test('are all reported if they do not apply, each at its place and with its number', () => {
    const outcome = edit('a\n', [
      ['zzz\n', 'y\n'],
      ['a\n', 'b\n'],
      ['', 'y\n'],
    ]);
    expect(outcome).toMatchObject({ ok: false, problems: [{ line: 10 }, { line: 30 }] });
    expect(messages(outcome)).toEqual([
      expect.stringMatching(/^FIND 1 was not/),
      expect.stringMatching(/^FIND 3 is empty/),
    ]);
  });

  test('are a problem if FIND is empty, even in an empty file', () => {
    expect(messages(edit('a\n', [['', 'b\n']]))).toEqual(['FIND is empty.']);
    expect(messages(edit('', [['', 'b\n']]))).toEqual(['FIND is empty.']);
    expect(edit('', [['\n', 'b\n']]).ok).toBe(false);
  });

  test('may be a REPLACE without FIND, which replaces the whole file', () => {
    expect(edit('a\nb\n', [[null, 'c\n']])).toEqual({
      ok: true,
      text: 'c\n',
      matches: [{ pair: 1, kind: 'file', line: 1 }],
    });
    expect(edited('', [[null, 'c\n']])).toBe('c\n');
  });
});

describe("preserving a file's form", () => {
  test('a CRLF file stays CRLF, whatever endings the plan has', () => {
    expect(edited('a\r\nb\r\nc\r\n', [['b\n', '1\n2\n']])).toBe('a\r\n1\r\n2\r\nc\r\n');
    expect(edited('a\r\nb\r\nc\r\n', [['a\nb\n', '1\n']])).toBe('1\r\nc\r\n');
    expect(edited('a\r\nb\r\nc\r\n', [['b\r\n', '1\r\n']])).toBe('a\r\n1\r\nc\r\n');
    expect(edited('f(a,\r\n b)\r\n', [['a,\n b\n', 'c,\n d\n']])).toBe('f(c,\r\n d)\r\n');
    expect(edited('a\r\n', [[null, '1\n2\n']])).toBe('1\r\n2\r\n');
  });

  test('an LF file stays LF, whatever endings the plan has', () => {
    expect(edited('a\nb\n', [['b\r\n', '1\r\n2\r\n']])).toBe('a\n1\n2\n');
  });

  test('the lines of a CRLF file are whole lines for a plan with LF', () => {
    expect(edited('max = 1\r\nx = 1\r\n', [['x = 1\n', 'x = 2\n']])).toBe('max = 1\r\nx = 2\r\n');
  });

  test('in a file of mixed endings the untouched lines keep theirs', () => {
    expect(edited('a\r\nb\nc\r\n', [['b\n', 'x\n']])).toBe('a\r\nx\nc\r\n');
    expect(edited('a\r\nb\nc\r\n', [['c\n', 'x\n']])).toBe('a\r\nb\nx\r\n');
    expect(edited('a\r\nb\nc\r\n', [['b\n', 'x\ny\n']])).toBe('a\r\nx\ny\nc\r\n');
  });

  test("in a file of mixed endings a new line gets the replaced line's ending, in every kind of match", () => {
    const text = 'a\r\nb\nc\r\nd\n';
    expect(edited(text, [['a\nb\n', '1\n2\n3\n']])).toBe('1\r\n2\n3\nc\r\nd\n');
    expect(edited(text, [['b\nc\n', '1\n']])).toBe('a\r\n1\nd\n');
    expect(edited(text, [['a \nb\n', '1\n2\n3\n']])).toBe('1\r\n2\n3\nc\r\nd\n');
    expect(edited(' a\r\n  b\n', [['a\n b\n', '1\n2\n3\n']])).toBe(' 1\r\n 2\n 3\n');
    expect(edited('f(a,\r\n b)\nc\n', [['a,\n b\n', '1,\n2,\n3\n']])).toBe('f(1,\r\n2,\r\n3)\nc\n');
    expect(edited(text, [[null, '1\n2\n3\n4\n5\n']])).toBe('1\r\n2\n3\r\n4\n5\n');
  });

  test('in a file of mixed endings the common lines of FIND and REPLACE keep theirs', () => {
    const text = 'a\nb\r\nc\nd\r\n';
    expect(edited(text, [['a\nb\nc\nd\n', 'a\n1\n2\nb\nc\nd\n']])).toBe('a\n1\n2\nb\r\nc\nd\r\n');
    expect(edited(text, [['b\nc\n', 'c\n']])).toBe('a\nc\nd\r\n');
    expect(edited(text, [['b\n', '1\nb\n']])).toBe('a\n1\r\nb\r\nc\nd\r\n');
    expect(edited(text, [[null, 'a\nd\n']])).toBe('a\nd\r\n');
  });

  test("in a file of mixed endings a part without an ending gets its line's", () => {
    expect(edited('a\nxby\r\nc\n', [['b\n', '1\n2\n']])).toBe('a\nx1\r\n2y\r\nc\n');
    expect(edited('a\nb\r\nxcy', [['c\n', '1\n2\n']])).toBe('a\nb\r\nx1\r\n2y');
  });

  test("a plan's endings do not affect where FIND matches in a file of mixed endings", () => {
    expect(edited('max = 1\nx = 1\r\n', [['x = 1\n', 'x = 2\n']])).toBe('max = 1\nx = 2\r\n');
    expect(edited('x = 1\nx = 1\r\n', [['x = 1\n', 'x = 2\n']], true)).toBe('x = 2\nx = 2\r\n');
    expect(edit('x = 1\nx = 1\r\n', [['x = 1\n', 'x = 2\n']]).ok).toBe(false);
    expect(edited('a\nb\r\n', [['a\r\nb\r\n', 'c\r\nd\r\n']])).toBe('c\nd\r\n');
  });

  test('later pairs keep the mixed endings as well, and a missing final one stays missing', () => {
    expect(
      edited('a\r\nb\nc', [
        ['a\n', '1\n2\n'],
        ['c\n', '3\n4\n'],
        ['2\nb\n', ''],
      ]),
    ).toBe('1\r\n3\n4');
    expect(edited('a\r\nb\nc', [['b\nc\n', '']])).toBe('a');
    expect(edited('a\nb\r\n', [[null, 'x']])).toBe('x\r\n');
  });

  test("a file without any ending gets the plan's", () => {
    expect(edited('a', [['a\n', '1\r\n2\r\n']])).toBe('1\r\n2');
    expect(edited('', [[null, '1\r\n2\n']])).toBe('1\r\n2\n');
  });

  test('a carriage return before a CRLF stays', () => {
    expect(edited('a\r\r\nb\r\n', [['b\n', 'c\n']])).toBe('a\r\r\nc\r\n');
    expect(edited('a\rb\r\r\nc\n', [['c\n', 'd\n']])).toBe('a\rb\r\r\nd\n');
  });

  test('a byte order mark stays, and is not part of the first line', () => {
    expect(edited('\uFEFFa\nb\n', [['a\n', 'x\n']])).toBe('\uFEFFx\nb\n');
    expect(edited('\uFEFFa\n', [[null, 'x\n']])).toBe('\uFEFFx\n');
    expect(edit('\uFEFFxa\na\n', [['a\n', 'x\n']])).toMatchObject({ matches: [{ kind: 'lines', line: 2 }] });
  });

  test('a missing final newline stays missing', () => {
    expect(edited('a\nb', [['b\n', 'x\n']])).toBe('a\nx');
    expect(edited('a\nb', [['b\n', 'x\ny\n']])).toBe('a\nx\ny');
    expect(edited('a\nb', [['a\n', 'x\n']])).toBe('x\nb');
    expect(edited('a\nb', [['b\n', '']])).toBe('a');
    expect(edited('a\r\nb', [['b\n', 'x\n']])).toBe('a\r\nx');
    expect(edited('a\r\nb', [['b\n', '']])).toBe('a');
    expect(edited('a', [[null, 'x\ny\n']])).toBe('x\ny');
  });

  test('an existing final newline stays', () => {
    expect(edited('a\nb\n', [['b\n', 'x']])).toBe('a\nx\n');
    expect(edited('a\n', [[null, 'x']])).toBe('x\n');
  });
});

describe('a miss', () => {
  const file = 'import a\n\nfunction add(a, b) {\n  return a + b;\n}\n\nfunction sub(a, b) {\n  return a - b;\n}\n';

  test('names the closest lines, their similarity and the first difference', () => {
    const outcome = edit(file, [['function sub(a, b) {\n  return a - c;\n}\n', 'x\n']]);
    expect(messages(outcome)[0]).toMatch(/^FIND was not found; closest is lines 7-9, 9\d% alike\.$/);
    expect(outcome).toMatchObject({
      problems: [
        { hint: 'Line 8 reads "  return a - b;", FIND reads "  return a - c;"; at column 14, "b" is not "c".' },
      ],
    });
  });

  test.each([
    ['a\u00a0b', 'a b', '"\u00a0" (U+00A0) is not " " (U+0020)'],
    ['caf\u00e9 = 1', 'cafe\u0301 = 1', '"\u00e9" (U+00E9) is not "e\u0301" (U+0065 U+0301)'],
    ['a\u2013b c', 'a-b c', '"\u2013" (U+2013) is not "-" (U+002D)'],
    ['ab\u200bcd', 'abcd', '"\u200b" (U+200B) is not "" (nothing)'],
    ['\u0430bcd', 'abcd', '"\u0430" (U+0430) is not "a" (U+0061)'],
  ])('distinguishes texts that look alike by code point: %j and %j', (found, find, difference) => {
    const outcome = edit(`x = y\n${found} # end of it\n`, [[`${find} # end of it\n`, 'x\n']]);
    expect(outcome).toMatchObject({ problems: [{ hint: expect.stringContaining(difference) }] });
  });

  test('never reports text that differs only in white space as the same', () => {
    expect(messages(edit(file, [['return  a + b;\n', 'x\n']]))[0]).toContain('closest is line 4, ');
    expect(messages(edit(file, [['\treturn a + b;\n', 'x\n']]))[0]).toContain('closest is line 4, 99% alike');
  });

  test('reports if nothing in the file is similar', () => {
    expect(messages(edit(file, [['0123456789\n', 'x\n']]))).toEqual([
      'FIND was not found; no part of the file is like it.',
    ]);
    expect(messages(edit('', [['a\n', 'x\n']]))).toEqual(['FIND was not found; no part of the file is like it.']);
  });

  test('reports `already applied`, with the place, if the file contains REPLACE', () => {
    const outcome = edit(file, [['  return a - c;\n', '  return a - b;\n']]);
    expect(messages(outcome)[0]).toContain('REPLACE stands at line 8, perhaps already applied.');
    expect(messages(edit(file, [['  return a - c;\n', '  return a * b;\n']]))[0]).not.toContain('already applied');
    expect(messages(edit(file, [['  return a - c;\n', '\n']]))[0]).not.toContain('already applied');
  });

  const loops = 'for (const a of all) {\n  use(a);\n}\nfor (const b of all) {\n  drop(b);\n}\n';

  test.each([
    ['elsewhere', loops, 'for (const c of all) {\n  drop(c);\n}\n', 'for (const a of all) {\n  use(a);\n}\n'],
    ['a bracket of the region itself', loops, 'for (const b of all) {\n  drop(c);\n}\n', '}\n'],
    ['a bracket elsewhere', loops, '  drop(c);\n', '}\n'],
    ['a word in the middle of another line', 'let index = 1;\nlet x = 2;\n', 'let index = 3;\n', 'x\n'],
    ['no part of FIND', 'a = 1\n}\n', '0123456789\n', '}\n'],
  ])('does not report that if REPLACE is %s', (_, text, find, replace) => {
    expect(messages(edit(text, [[find, replace]]))[0]).not.toContain('already applied');
  });

  test.each([
    ['a line was added', 'import a;\nimport b;\nrun();\n', 'import a;\nrun(1);\n', 'import a;\nimport b;\nrun();\n', 1],
    ['a line was removed', 'one\nthree\nfour\n', 'one\ntwo\nthree\n', 'one\nthree\n', 1],
    ['one of two places is meant', 'b = 2;\nx\nb = 2;\ncall(a);\n', 'b = 1;\ncall(a);\n', 'b = 2;\ncall(a);\n', 3],
  ])('reports that if %s', (_, text, find, replace, at) => {
    expect(messages(edit(text, [[find, replace]]))[0]).toContain(
      `REPLACE stands at line ${at}, perhaps already applied.`,
    );
  });

  test('compares a FIND longer than the file with all of it', () => {
    expect(messages(edit('a = 1\n', [['a = 1\nb = 2\n', 'x\n']]))[0]).toContain('closest is line 1, ');
  });

  test('is reported for 40,000 lines without a full alignment, which would take quadratic time', async () => {
    const line = (i: number) => `    const value${i} = compute(${i}, "text ${i % 97}");`;
    const make = (count: number) => {
      const lines = Array.from({ length: count }, (_, i) => line(i));
      const half = Math.floor(count / 2);
      const closest = new RegExp(`closest is lines (?:${half}-${half + 20}|${half + 1}-${half + 21}), 9\\d% alike`);
      return { text: lines.join('\n'), find: `${[...lines.slice(half, half + 20), 'other'].join('\n')}\n`, closest };
    };
    await expectLinear(40_000, make, ({ text, find, closest }) =>
      expect(messages(edit(text, [[find, 'x\n']]))[0]).toMatch(closest),
    );
  });
});

describe('for any text', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '$', '&', '.'), maxLength: 3 });
  const block = (minLength: number) => fc.array(line, { minLength, maxLength: 6 });

  /** A text, and a part of it that is often unique there. */
  const few = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', ''), { minLength: 1, maxLength: 6 });
  const fewAndSome = fc
    .tuple(few, few, fc.nat(5), fc.integer({ min: 1, max: 3 }))
    .map(([lines, others, from, count]) => ({
      lines,
      find: from < lines.length ? lines.slice(from, from + count) : others,
    }));

  /** The naive way: every index, line by line. */
  function replaceLines(lines: string[], find: string[], replace: string[]): string[] | 'ambiguous' | 'none' {
    const at = lines.flatMap((_, i) => (find.every((wanted, k) => lines[i + k] === wanted) ? [i] : []));
    if (at.length !== 1) return at.length === 0 ? 'none' : 'ambiguous';
    return [...lines.slice(0, at[0]), ...replace, ...lines.slice(at[0]! + find.length)];
  }

  const join = (lines: string[], ending = '\n') => lines.map((one) => one + ending).join('');

  slowTest('whole lines are replaced exactly like in a line by line comparison, or there is a problem', () => {
    const shapes = { whole: 0, ambiguous: 0, none: 0 };
    fc.assert(
      fc.property(fewAndSome, block(0), fc.constantFrom('\n', '\r\n'), ({ lines, find }, replace, ending) => {
        const expected = replaceLines(lines, find, replace);
        const outcome = edit(join(lines, ending), [[join(find), join(replace)]]);
        if (expected === 'none') {
          shapes.none += 1;
          expect(outcome.ok && outcome.matches[0]?.kind === 'lines').toBe(false);
        } else if (expected === 'ambiguous') {
          shapes.ambiguous += 1;
          expect(outcome.ok).toBe(false);
        } else {
          shapes.whole += 1;
          expect(outcome).toMatchObject({ ok: true, text: join(expected, ending), matches: [{ kind: 'lines' }] });
        }
      }),
      { numRuns: 500 },
    );
    expect(Math.min(...Object.values(shapes))).toBeGreaterThan(10);
  });

  propertyTest("a part is replaced exactly at FIND's only place, and nothing else changes", () => {
    let replaced = 0;
    fc.assert(
      fc.property(fewAndSome, line, ({ lines, find: [first = '', ...rest] }, replace) => {
        const text = join(lines);
        const find = [first.slice(1), ...rest].join('\n');
        fc.pre(!find.startsWith('\n') && !find.endsWith('\n') && find !== '');
        const outcome = edit(text, [[`${find}\n`, `${replace}\n`]]);
        if (!outcome.ok || outcome.matches[0]?.kind !== 'part') return;
        replaced += 1;
        const at = text.indexOf(find);
        expect(text.indexOf(find, at + 1)).toBe(-1);
        expect(outcome.text).toBe(text.slice(0, at) + replace + text.slice(at + find.length));
      }),
      { numRuns: 500 },
    );
    expect(replaced).toBeGreaterThan(10);
  });

  propertyTest('an edit and its inverse restore the first text', () => {
    const places = fc.record({
      before: block(1),
      found: block(1),
      after: block(0),
      ending: fc.constantFrom('\n', '\r\n'),
      final: fc.boolean(),
      mark: fc.constantFrom('', '\uFEFF'),
    });
    fc.assert(
      fc.property(places, ({ before, found, after, ending, final, mark }) => {
        // Z and Y occur nowhere else, so both matches are unique.
        const body = [...before, `Z${found.join(ending)}Z`, ...after].join(ending);
        const text = mark + body + (final ? ending : '');
        const find = `Z${found.join('\n')}Z\n`;
        const there = edited(text, [[find, 'Y\n']]);
        expect(there).toContain('Y');
        expect(edited(there, [['Y\n', find]])).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  propertyTest('a text that differs from all places in a character other than white space is never accepted', () => {
    const shapes = { accepted: 0, refused: 0 };
    const spaced = fc
      .tuple(fc.constantFrom('', ' ', '  ', '\t'), fc.constantFrom('a', 'b', 'a b', ''), fc.constantFrom('', ' ', '\t'))
      .map((parts) => parts.join(''));
    const some = fc.array(spaced, { minLength: 1, maxLength: 5 });
    const bare = (text: string) => text.replace(/[ \t\r\n]/g, '');
    fc.assert(
      fc.property(some, some, fc.boolean(), fc.constantFrom('\n', '\r\n'), (lines, find, matchAll, ending) => {
        const text = join(lines, ending);
        const outcome = edit(text, [[join(find), 'Z\n']], matchAll);
        shapes[outcome.ok ? 'accepted' : 'refused'] += 1;
        if (!outcome.ok) return;
        // FIND in place of each REPLACE restores the text, except for white space.
        expect(bare(outcome.text.replaceAll('Z', bare(join(find))))).toBe(bare(text));
        expect(outcome.text).toContain('Z');
      }),
      { numRuns: 500 },
    );
    expect(Math.min(...Object.values(shapes))).toBeGreaterThan(10);
  });

  propertyTest('no text and no pairs make it fail', () => {
    const any = fc.string({
      unit: fc.oneof(
        line,
        fc.nat(0xffff).map((code) => String.fromCharCode(code)),
      ),
    });
    fc.assert(
      fc.property(any, fc.array(fc.tuple(fc.option(any), any)), fc.boolean(), (text, pairs, matchAll) => {
        const outcome = edit(text, pairs, matchAll);
        expect(outcome.ok || outcome.problems.length > 0).toBe(true);
      }),
    );
  });
});
