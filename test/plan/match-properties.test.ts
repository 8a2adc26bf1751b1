/** The guarantees of matching for any file and any FIND. The examples are in `match.test.ts`. */
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { applyEdit, type EditOutcome } from '../../src/plan/match/match.ts';
import { expectLinear } from '../support/growth.ts';
import { propertyTest, slowTest } from '../support/slow-test.ts';

type Pair = [find: string | null, replace: string];

function edit(text: string, pairs: Pair[], matchAll = false): EditOutcome {
  return applyEdit(text, {
    matchAll,
    pairs: pairs.map(([find, replace], i) => ({ find, replace, line: i + 1, column: 1 })),
  });
}

function kindOf(outcome: EditOutcome): string {
  return outcome.ok ? (outcome.matches[0]?.kind ?? 'none') : 'refused';
}

function count<Key extends string>(...keys: Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}

const ending = fc.constantFrom('\n', '\r\n');
const indent = fc.constantFrom('', '', ' ', '  ', '\t', '\t ', ' \t');
const body = fc.constantFrom(
  'a',
  'b',
  'a b',
  'ab',
  'if (a) {',
  '}',
  '',
  '$&',
  '\u00a0',
  'a\u2028b',
  '\ud800',
  '\u0000',
);
const trail = fc.constantFrom('', '', '', ' ', '\t', '\r');
const line = fc.tuple(indent, body, trail).map((parts) => parts.join(''));
const lines = fc.array(line, { minLength: 1, maxLength: 7 });
/** Each line with its own ending. */
const mixed = fc
  .tuple(fc.array(fc.tuple(line, ending), { minLength: 1, maxLength: 7 }), fc.boolean(), fc.constantFrom('', '\uFEFF'))
  .map(([rows, isEnded, mark]) => {
    const text = rows.map((row) => row.join('')).join('');
    return mark + (isEnded ? text : text.replace(/\r?\n$/, ''));
  });
const uniform = fc
  .tuple(lines, ending, fc.boolean())
  .map(([rows, end, isEnded]) => rows.join(end) + (isEnded ? end : ''));
const file = fc.oneof(mixed, uniform);

/** FINDs that are often in the file: some of its lines, spaced or indented differently, or a piece of it. */
const fileAndFind = fc.tuple(file, lines, fc.nat(), fc.nat(), indent, trail, fc.nat(4)).map((drawn) => {
  const [text, others, from, size, prefix, end, shape] = drawn;
  const rows = text.replace('\uFEFF', '').split(/\r?\n/);
  const first = from % rows.length;
  const some = rows.slice(first, first + 1 + (size % 3));
  const finds = [
    `${some.join('\n')}\n`,
    some.map((row) => `${row.trimEnd()}${end}\n`).join(''),
    some.map((row) => `${row.trim() === '' ? '' : prefix + row}\n`).join(''),
    text.slice(from % (text.length + 1)).slice(0, 1 + (size % 5)),
    `${others.join('\n')}\n`,
  ];
  return { text, find: finds[shape] ?? '', prefix };
});

const withoutSpace = (text: string) => text.replace(/[ \t\r\n]/g, '');
const replacement = fc.array(fc.tuple(indent, fc.constantFrom('Z', 'Z Z', 'Y')), { maxLength: 4 });
const toText = (rows: [string, string][]) => rows.map((row) => `${row.join('')}\n`).join('');

describe('any accepted match', () => {
  slowTest('differs from FIND only in white space, and everything outside the places stays byte for byte', () => {
    const seen = count('lines', 'part', 'trailing-space', 'indentation', 'refused');
    fc.assert(
      fc.property(fileAndFind, fc.boolean(), ({ text, find, prefix }, matchAll) => {
        // U+E000 is in no file: it marks the place of FIND.
        const outcome = edit(text, [[find, `${prefix}\uE000\n`]], matchAll);
        const kind = kindOf(outcome);
        seen[kind as keyof typeof seen] += 1;
        if (!outcome.ok) return;
        const pieces = outcome.text.split(kind === 'part' ? `${prefix}\uE000` : wholeMark);
        expect(pieces).toHaveLength(outcome.matches.length + 1);
        // The pieces follow each other in the file, with only FIND between two of them.
        let at = 0;
        pieces.forEach((piece, i) => {
          const isLast = i === pieces.length - 1;
          const next = isLast ? text.length - piece.length : findPiece(text, piece, at, i === 0 ? null : find);
          expect(text.slice(next, next + piece.length)).toBe(piece);
          if (i > 0) expect(withoutSpace(text.slice(at, next))).toBe(withoutSpace(find));
          at = next + piece.length;
        });
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
  });

  /** REPLACE as whole lines; an offset is put in front of it, or removed. */
  const wholeMark = /(?<=^|\n|\uFEFF)[ \t]*\uE000(?:\r?\n)?/;

  /** The first place of a piece that has FIND, with only white space in front of it. */
  function findPiece(text: string, piece: string, from: number, find: string | null): number {
    if (find === null) return 0;
    for (let at = from; at <= text.length; at += 1) {
      if (text.startsWith(piece, at) && withoutSpace(text.slice(from, at)) === withoutSpace(find)) return at;
    }
    return -1;
  }

  slowTest('has only one place without Match All', () => {
    fc.assert(
      fc.property(fileAndFind, ({ text, find }) => {
        const outcome = edit(text, [[find, 'Z\n']]);
        if (outcome.ok) expect(outcome.matches).toHaveLength(1);
      }),
      { numRuns: 1000 },
    );
  });
});

/** The lines of `mixed`, with Z lines at a place of their own: FIND is unique by construction. */
const around = fc.record({ before: lines, after: lines, find: replacement, replace: replacement });
const place = (drawn: [string, string][], mark: string) => toText([...drawn, ['', mark]]);

describe('an edit followed by its inverse restores the first bytes', () => {
  /**
   * The inverse is defined if REPLACE is not empty and occurs once in the changed file. In a file with mixed endings it
   * is defined for the same number of lines: the endings of removed lines are lost.
   */
  propertyTest('for whole lines byte for byte, in a file with one kind of ending', () => {
    let undone = 0;
    fc.assert(
      fc.property(around, ending, fc.boolean(), ({ before, after, find, replace }, end, isEnded) => {
        const [from, to] = [place(find, 'FROM'), place(replace, 'TO')];
        const text = `${[...before, ...from.split('\n').slice(0, -1), ...after].join(end)}${isEnded ? end : ''}`;
        const there = edit(text, [[from, to]]);
        if (kindOf(there) !== 'lines' || !there.ok) return;
        const back = edit(there.text, [[to, from]]);
        expect(back).toMatchObject({ ok: true, text });
        undone += 1;
      }),
      { numRuns: 500 },
    );
    expect(undone).toBeGreaterThan(300);
  });

  propertyTest('for the same number of lines, in a file with mixed endings, with and without a byte order mark', () => {
    let undone = 0;
    const sized = fc.array(fc.tuple(line, line, ending), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(mixed, sized, fc.boolean(), (head, rows, isEnded) => {
        const found = rows.map(([from], i) => `F${i}${from}\n`).join('');
        const put = rows.map(([, to], i) => `T${i}${to}\n`).join('');
        const own = rows.map(([from, , end], i) => `F${i}${from}${end}`).join('');
        const top = head.endsWith('\n') ? head : `${head}\r\n`;
        const text = isEnded ? top + own : (top + own).replace(/\r?\n$/, '');
        const there = edit(text, [[found, put]]);
        if (kindOf(there) !== 'lines' || !there.ok) return;
        expect(edit(there.text, [[put, found]])).toMatchObject({ ok: true, text });
        undone += 1;
      }),
      { numRuns: 500 },
    );
    expect(undone).toBeGreaterThan(300);
  });

  propertyTest('for part of a line', () => {
    let undone = 0;
    const word = fc.string({ unit: fc.constantFrom('x', 'y', ' ', '\t', '.', '$'), maxLength: 4 });
    fc.assert(
      fc.property(mixed, word, word, fc.boolean(), (text, from, to, isEnded) => {
        const whole = `${text}|F${from}F|${isEnded ? '\n' : ''}`;
        const there = edit(whole, [[`F${from}F`, `T${to}T`]]);
        expect(kindOf(there)).toBe('part');
        if (!there.ok) return;
        expect(edit(there.text, [[`T${to}T\n`, `F${from}F\n`]])).toMatchObject({ ok: true, text: whole });
        undone += 1;
      }),
      { numRuns: 300 },
    );
    expect(undone).toBeGreaterThan(200);
  });

  /**
   * FIND cannot restore text it does not contain: here the inverse gives FIND's own white space, and the rest
   * unchanged.
   */
  propertyTest('for lines that differ in trailing white space, except for that white space', () => {
    let undone = 0;
    fc.assert(
      fc.property(uniform, fc.constantFrom(' ', '\t', '  '), ending, (text, space, end) => {
        const whole = `${text}${text.endsWith('\n') ? '' : end}FROM${space}${end}last`;
        const there = edit(whole, [['FROM\nlast\n', 'TO\nlast\n']]);
        expect(kindOf(there)).toBe('trailing-space');
        if (!there.ok) return;
        const back = edit(there.text, [['TO\nlast\n', 'FROM\nlast\n']]);
        const expected = `${whole.slice(0, -space.length - end.length - 4)}${end}last`;
        expect(back).toMatchObject({ ok: true });
        expect(back.ok && back.text).toBe(expected);
        undone += 1;
      }),
      { numRuns: 300 },
    );
    expect(undone).toBeGreaterThan(200);
  });

  /** Defined if the offset can be undone: all lines of REPLACE have it, and its first line is not blank. */
  propertyTest('for lines with one constant indentation offset', () => {
    let undone = 0;
    const prefix = fc.constantFrom(' ', '  ', '\t', '\t\t', ' \t');
    const rows = fc.array(fc.tuple(indent, fc.constantFrom('a', 'b', '}')), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(uniform, prefix, rows, rows, ending, (text, offset, from, to, end) => {
        const top = text === '' || text.endsWith('\n') ? text : text + end;
        const [find, replace] = [`FROM\n${toText(from)}`, `TO\n${toText(to)}`];
        const own = find
          .split('\n')
          .slice(0, -1)
          .map((row) => offset + row + end);
        const whole = `${top}${own.join('')}end${end}`;
        const there = edit(whole, [[find, replace]]);
        if (kindOf(there) !== 'indentation' || !there.ok) return;
        expect(edit(there.text, [[replace, find]])).toMatchObject({ ok: true, text: whole });
        undone += 1;
      }),
      { numRuns: 500 },
    );
    expect(undone).toBeGreaterThan(200);
  });
});

describe('200 KB of the worst kind are matched in linear time', () => {
  const most = 200_000;
  const rows = (count: number, row: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => row(i)).join('\n');
  const casesOf = (size: number): Record<string, [text: string, find: string]> => {
    const half = size / 2;
    return {
      'a FIND that differs in its first character': ['a'.repeat(size), `b${'a'.repeat(half)}`],
      'a FIND that differs in its last character': ['a'.repeat(size), `${'a'.repeat(half)}b`],
      'a FIND that differs in the middle': ['a'.repeat(size), `${'a'.repeat(half / 2)}b${'a'.repeat(half / 2)}`],
      'a FIND whose period breaks in the middle': [
        'ab'.repeat(half),
        `${'ab'.repeat(half / 2)}b${'ab'.repeat(half / 4)}`,
      ],
      'a FIND that stands at half of all places': ['a'.repeat(size), 'a'.repeat(half)],
      'many long lines, each differing in the middle': [
        rows(size / 2000, () => 'a'.repeat(1999)),
        rows(size / 2000, (i) => `${'a'.repeat(900)}b${'a'.repeat(900 + i)}`),
      ],
      'long lines that are nearly equal': [
        rows(size / 1000, () => `${'a'.repeat(998)}b`),
        rows(size / 2000, () => `${'a'.repeat(998)}c`),
      ],
      'equal lines under another indentation': ['aa\n'.repeat(0.33 * size), `${' aa\n'.repeat(0.165 * size)}b`],
      'blank lines': ['\n'.repeat(size), `${'\n'.repeat(half)}x`],
      'blank lines, then lines': ['\n'.repeat(half) + 'x\n'.repeat(half / 2), `${'\n'.repeat(half / 2)} x`],
      'one line of spaces': [' '.repeat(size), `${' '.repeat(half)}x`],
      'lines that are indented ever deeper': [
        rows(Math.sqrt(1.8 * size), (i) => `${' '.repeat(i)}x`),
        rows(Math.sqrt(1.8 * size), (i) => `${' '.repeat(i + 1)}x`),
      ],
      'mixed endings': ['aa\naa\r\n'.repeat(size / 8), 'aa\n'.repeat(size / 8)],
      'mixed endings and a place at every line': ['aa\naa\r\n'.repeat(size / 8), 'aa'],
      'lines with a carriage return too many': ['a\r\r\n'.repeat(size / 4), 'a\n'.repeat(size / 10)],
    };
  };

  slowTest.each(Object.keys(casesOf(0)))('%s', async (name) => {
    const make = (size: number) => casesOf(size)[name] ?? ['', ''];
    for (const matchAll of [false, true]) {
      await expectLinear(most, make, ([text, find]) => {
        const outcome = edit(text, [[`${find}\n`, `${find.replaceAll('b', 'q')}\nq\n`]], matchAll);
        expect(outcome.ok || outcome.problems.length > 0).toBe(true);
      });
    }
  });
});
