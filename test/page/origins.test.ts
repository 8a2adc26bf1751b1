import fc from 'fast-check';
import { expect } from 'vitest';
import type { TurnName } from '../../src/names.ts';
import { findOrigins, withOrigins } from '../../src/page/origins.ts';
import type { PageTurn } from '../../src/page/session-page.ts';
import { runs } from '../support/runs.ts';
import { pageFile } from '../support/page-values.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const toText = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

/** A turn after another one, which changes the file from one text to the next. */
function turn(name: string, parent: string | null, before: string | null, after: string): PageTurn {
  return { turn: name, parent, files: [pageFile('a.txt', before, after)] } as unknown as PageTurn;
}

interface Edit {
  at: number;
  removed: number;
  added: number;
}

const edit = fc.record<Edit>({ at: fc.nat(20), removed: fc.nat(3), added: fc.nat(3) });
/** The number of lines in a file at first, and the edits of each step. */
const histories = fc.record({
  length: fc.nat(30),
  all: fc.array(fc.array(edit, { minLength: 1, maxLength: 4 }), { maxLength: 8 }),
});
const baseOf = (length: number) => Array.from({ length }, (_, at) => `base ${at}`);

/** Each line that a step adds names it, and no two lines of a history are equal. */
function change(lines: readonly string[], edits: readonly Edit[], step: string): string[] {
  const changed = [...lines];
  for (const [place, { at, removed, added }] of edits.entries())
    changed.splice(at, removed, ...Array.from({ length: added }, (_, line) => `${step} line ${place}.${line}`));
  return changed;
}

const replacesOf = (turns: PageTurn[]) => withOrigins(turns).map(({ files }) => files[0]?.replaces);

test('a hunk names the turns whose lines it removes, even if lines above were added', () => {
  const texts = [
    toText(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']),
    toText(['one', 'two', 'three by 01', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']),
    toText([
      'zero',
      'zero again',
      'one',
      'two',
      'three by 01',
      'four',
      'five',
      'six',
      'seven',
      'eight',
      'nine by 02',
      'ten',
    ]),
    toText(['zero', 'zero again', 'one', 'two', 'four', 'five', 'six', 'seven', 'eight', 'by 03', 'ten']),
  ];
  const turns = [1, 2, 3].map((at) =>
    turn(`0${at}`, at === 1 ? null : `0${at - 1}`, texts[at - 1] ?? '', texts[at] ?? ''),
  );
  expect(replacesOf(turns)).toEqual([[[]], [[], []], [['01', '02']]]);
});

test('a branch continues from the turn that it forked from, and lines changed in between have no author', () => {
  const [first, second, third] = ['a\n', 'b\n', 'c\n'];
  expect(
    replacesOf([
      turn('01', null, null, first),
      turn('02', '01', first, second),
      turn('02-branch-01', '01', first, third),
    ]),
  ).toEqual([[[]], [['01']], [['01']]]);
  expect(replacesOf([turn('01', null, null, first), turn('02', '01', `${first}by hand\n`, second)])).toEqual([
    [[]],
    [[]],
  ]);
});

propertyTest('whatever turns do to a file, a hunk names exactly those whose lines it removes', () => {
  fc.assert(
    fc.property(histories, ({ length, all }) => {
      let lines = baseOf(length);
      const turns: PageTurn[] = [];
      const expected: string[][] = [];
      for (const [at, edits] of all.entries()) {
        const name = String(at + 1).padStart(2, '0') as TurnName;
        const before = lines;
        lines = change(lines, edits, name);
        const gone = before
          .filter((line) => !lines.includes(line) && !line.startsWith('base'))
          .map((line) => line.slice(0, 2));
        expected.push([...new Set(gone)].toSorted());
        turns.push(turn(name, turns.at(-1)?.turn ?? null, toText(before), toText(lines)));
      }
      const found = replacesOf(turns).map((hunks) => [...new Set(hunks?.flat())].toSorted());
      expect(found).toEqual(expected);
    }),
    runs(1000),
  );
});

test('a hunk of the whole change names what added its new lines and what removed its old ones', () => {
  const texts = ['a\nb\nc\n', 'a\nB\nc\n', 'B\nc\n', 'B\nby hand\n'];
  const origins = ['01', '02', 'hand'];
  const steps = origins.map((origin, at) => ({
    file: pageFile('a.txt', texts[at] ?? '', texts[at + 1] ?? ''),
    origin,
  }));
  expect(findOrigins(pageFile('a.txt', texts[0] ?? '', texts[3] ?? ''), steps)).toEqual([origins]);
  // A line that came and went has no part in it.
  const back = [...steps, { file: pageFile('a.txt', texts[3] ?? '', texts[1] ?? ''), origin: 'back' }];
  expect(findOrigins(pageFile('a.txt', texts[0] ?? '', texts[1] ?? ''), back)).toEqual([['01']]);
});

propertyTest('whatever steps do to a file, each hunk of the whole change names exactly those that made it', () => {
  fc.assert(
    fc.property(histories, ({ length, all }) => {
      const base = baseOf(length);
      let lines = base;
      const removers = new Map<string, string>();
      const steps = all.map((edits, at) => {
        const origin = String(at + 1);
        const before = lines;
        lines = change(lines, edits, origin);
        for (const line of before) if (!lines.includes(line)) removers.set(line, origin);
        return { file: pageFile('a.txt', toText(before), toText(lines)), origin };
      });
      const whole = pageFile('a.txt', toText(base), toText(lines));
      const expected = whole.diff.text
        .split(/^@@.*\n/m)
        .slice(1)
        .map((hunk) => {
          const added = [...hunk.matchAll(/^\+(\d+) line/gm)].map(([, origin]) => origin);
          const removed = [...hunk.matchAll(/^-(base \d+)$/gm)].map(([, line = '']) => removers.get(line));
          return [...new Set([...added, ...removed])].toSorted();
        });
      expect(findOrigins(whole, steps)).toEqual(expected);
    }),
    runs(1000),
  );
});
