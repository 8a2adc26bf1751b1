import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/model/failure.ts';

const now = Date.parse('2026-01-24T12:00:00Z');

test.each([
  ['20', 20_000],
  ['0.5', 500],
  ['0', 0],
  ['Sat, 24 Jan 2026 12:00:05 GMT', 5_000],
  ['Sat, 24 Jan 2026 11:00:00 GMT', 0],
  ['soon', null],
  ['', null],
  [null, null],
])('Retry-After %j means %j ms', (header, waitMs) => {
  expect(parseRetryAfter(header, now)).toBe(waitMs);
});
