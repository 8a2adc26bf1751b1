import { expect, test } from 'vitest';
import { comparePlans } from '../../src/workflow/run/execute-or-replan.ts';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import { command, create, edit, planOf } from '../support/turns.ts';

const compare = (before: string[], after: string[]) =>
  comparePlans(parsePlan(planOf(before)).plan, parsePlan(planOf(after)).plan);
const nothing = { removed: [], added: [], changed: [] };

test('the same actions in another order, at other lines, do not differ', () => {
  const [one, two] = [create('a.txt'), command('make')];
  expect(compare([one, two], [two, one])).toEqual(nothing);
  expect(compare([one, two], ['\n\n', one, two])).toEqual(nothing);
});

test('an action is removed, new, or changed', () => {
  expect(compare([create('a.txt'), create('b.txt', '1\n')], [create('b.txt', '2\n'), create('c.txt')])).toEqual({
    removed: ['CREATE a.txt'],
    added: ['CREATE c.txt'],
    changed: ['CREATE b.txt'],
  });
});

test('of two actions on one file, the unchanged one is not confused with the changed one', () => {
  const [stays, before, after] = [edit('a', 'x', 'y'), edit('a', 'p', 'q'), edit('a', 'p', 'r')];
  expect(compare([before, stays], [stays, after])).toEqual({ ...nothing, changed: ['EDIT a'] });
});
