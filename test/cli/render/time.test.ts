import { expect, test } from 'vitest';
import { describeAge, formatTime } from '../../../src/cli/render/time.ts';

const now = Date.parse('2026-01-24T12:00:00.000Z');

test.each([
  ['2026-01-24T12:00:05.000Z', '0 s'],
  ['2026-01-24T11:59:48.000Z', '12 s'],
  ['2026-01-24T11:55:00.000Z', '5 min'],
  ['2026-01-24T08:59:00.000Z', '3 h'],
  ['2026-01-23T11:59:00.000Z', '1 day'],
  ['2026-01-22T11:59:00.000Z', '2 days'],
  ['2025-09-20T12:00:00.000Z', '4 months'],
  ['2023-01-24T12:00:00.000Z', '3 years'],
  ['nothing', ''],
])('%s is %j ago', (since, age) => {
  expect(describeAge(since, now)).toBe(age);
});

test('a time is that of the time zone here', () => {
  const zone = process.env['TZ'];
  try {
    process.env['TZ'] = 'Asia/Kolkata';
    expect(formatTime('2026-01-24T21:04:59.000Z')).toBe('2026-01-25 02:34');
    process.env['TZ'] = 'America/New_York';
    expect(formatTime('2026-01-24T21:04:59.000Z')).toBe('2026-01-24 16:04');
    expect(formatTime('')).toBe('');
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});
