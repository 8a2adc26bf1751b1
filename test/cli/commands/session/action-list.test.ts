import { expect, test } from 'vitest';
import { parseActionList } from '../../../../src/cli/commands/session/execution-options.ts';

test('a list holds numbers and ranges, in any order', () => {
  expect(parseActionList('--only', '7, 1,3-5')).toEqual([7, 1, 3, 4, 5]);
  expect(parseActionList('--only', undefined)).toBeUndefined();
});

test.each(['', '1,', 'x', '3-1', '-2', '1-', '1-999999999', '1;2'])('%j is no list', (text) => {
  expect(() => parseActionList('--skip', text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
});
