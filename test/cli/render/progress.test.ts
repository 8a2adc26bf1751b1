import { expect, test } from 'vitest';
import { describeEffort } from '../../../src/cli/render/progress.ts';

test('what an answer took is told as far as it is known', () => {
  const usage = { input: 1234, output: 567 };
  expect(describeEffort({ ...usage, costUsd: 0.01234 }, 12_345)).toBe(
    '1,234 tokens in, 567 out, 12.3 s, 46 tokens/s, $0.0123',
  );
  expect(describeEffort(usage, 12_345, { isOnlyModel: false })).toBe('1,234 tokens in, 567 out, 12.3 s');
  expect(describeEffort(usage, 400)).toBe('1,234 tokens in, 567 out, 0.4 s');
  expect(describeEffort(usage, null)).toBe('1,234 tokens in, 567 out');
  expect(describeEffort({ input: 10, output: 2 }, 5000)).toBe('10 tokens in, 2 out, 5.0 s');
  expect(describeEffort({ input: 10, output: 2 }, 2000)).toBe('10 tokens in, 2 out, 2.0 s, 1 token/s');
  const cached = { ...usage, cached: 1024 };
  expect(describeEffort(cached, null, { model: 'gpt-5' })).toBe('gpt-5, 1,234 tokens in (1,024 cached), 567 out');
  expect(describeEffort(null, 2000)).toBe('2.0 s');
  expect(describeEffort(null, null)).toBe('');
});
