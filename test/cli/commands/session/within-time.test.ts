/** Expressions that would try ways through a text for years. */
import { expect, test } from 'vitest';
import { TeddyError } from '../../../../src/errors.ts';
import { withinTime } from '../../../../src/cli/commands/session/within-time.ts';

const tooSlow = () => new TeddyError('ACTION_FAILED', 'Too slow.');

test('gives what is computed, and throws what that throws', () => {
  const fault = new TeddyError('USAGE', 'No.');
  const failing = () => {
    throw fault;
  };
  expect(withinTime(5000, () => [...'aXbX'.matchAll(/x/giu)].length, tooSlow)).toBe(2);
  expect(() => withinTime(5000, failing, tooSlow)).toThrow(fault);
});

test.each([
  ['a repetition of a repetition', /(a+)+$/u],
  ['a repetition of what may be read in two ways', /(?:a|a)*$/u],
  ['words with something between them that may be missing', /^(?:\w+-?)*$/u],
  ['a repetition in what is looked for ahead', /(?=(?:a+)+$)/u],
])('ends %s', (_, expression) => {
  expect(() => withinTime(50, () => `${'a'.repeat(61)}!`.search(expression), tooSlow)).toThrow('Too slow.');
});
