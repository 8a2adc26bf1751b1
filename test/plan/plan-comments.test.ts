import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { readPlanComments } from '../../src/plan/plan-comments.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const plan = '# Plan\n\n>> quoted twice\n1. Write a.txt\n2. Check it\n';
const lines = plan.split('\n');

/** The plan with these rows below its line `after`, counted from 1; 0 puts them at the top. */
const withRows = (after: number, ...rows: string[]) =>
  [...lines.slice(0, after), ...rows, ...lines.slice(after)].join('\n');

describe('comments in a copy of the plan', () => {
  test('are attached to the line above them, and consecutive rows are one comment', () => {
    expect(readPlanComments(plan, withRows(4, '>> Not here.', '>>and why?'))).toEqual([
      { line: 4, text: 'Not here.\nand why?' },
    ]);
    expect(readPlanComments(plan, withRows(0, '>> All of it.'))).toEqual([{ line: 1, text: 'All of it.' }]);
    expect(readPlanComments(plan, `${plan}>> At the end`)).toEqual([{ line: 5, text: 'At the end' }]);
  });

  test('do not exist if nothing was written, or only the mark', () => {
    expect(readPlanComments(plan, plan)).toEqual([]);
    expect(readPlanComments(plan, withRows(2, '>>', '>>  '))).toEqual([]);
  });

  test('do not affect lines in the plan that begin alike', () => {
    expect(readPlanComments(plan, withRows(3, '>> Why twice?'))).toEqual([{ line: 3, text: 'Why twice?' }]);
    expect(readPlanComments(plan, withRows(2, '>> Before it'))).toEqual([{ line: 2, text: 'Before it' }]);
  });

  test('are refused if a line in the plan was changed, left out or added', () => {
    const changed = [
      plan.replace('a.txt', 'b.txt'),
      plan.replace('2. Check it\n', ''),
      withRows(4, 'One line more'),
      withRows(4, '> A quote'),
      '',
    ];
    for (const edited of changed) expect(() => readPlanComments(plan, edited)).toThrow(/of the plan was changed/);
  });

  test("do not depend on an editor's line ends and blanks", () => {
    const edited = withRows(4, '>> Not here.').replaceAll('\n', ' \r\n').trimEnd();
    expect(readPlanComments(plan, edited)).toEqual([{ line: 4, text: 'Not here.' }]);
  });

  propertyTest('are read back as written, in any plan', () => {
    const row = fc.stringMatching(/^[a-z#>. ]{0,12}$/);
    const said = fc.stringMatching(/^[a-z][a-z ]{0,20}[a-z]$/);
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), fc.array(fc.tuple(fc.nat(), said)), (rows, comments) => {
        const text = [...rows, 'the end'];
        const wanted = new Map(comments.map(([at, words]) => [(at % text.length) + 1, words]));
        const edited = text.flatMap((one, at) => {
          const words = wanted.get(at + 1);
          return words === undefined ? [one] : [one, `>> ${words}`];
        });
        // A row in the plan that looks like the comment above it belongs to the plan.
        fc.pre(![...wanted].some(([line, words]) => text[line]?.trimEnd() === `>> ${words}`));
        const expected = [...wanted].toSorted(([a], [b]) => a - b).map(([line, words]) => ({ line, text: words }));
        expect(readPlanComments(text.join('\n'), edited.join('\n'))).toEqual(expected);
      }),
    );
  });
});
