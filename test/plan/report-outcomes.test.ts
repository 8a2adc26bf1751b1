import { expect, test } from 'vitest';
import { listSucceeded, readLogs } from '../../src/plan/report/report-logs.ts';

const succeeded = (yaml: string) => listSucceeded(readLogs(yaml) ?? []);

test('only the actions that succeeded count, by their index', () => {
  const logs = ['SUCCESS', 'FAILURE', 'SKIPPED', 'SUCCESS'].map(
    (status, at) => `  - { index: ${at + 1}, status: ${status} }\n`,
  );
  expect(succeeded(`version: 1\naction_logs:\n${logs.join('')}`)).toEqual([1, 4]);
});

test.each([
  '',
  'just text',
  'action_logs: 3\n',
  'action_logs: [null, 4, {}]\n',
  '{ broken',
  '"action_logs": [{"index": "1", "status": "SUCCESS"}]',
])('an invalid report has no outcomes: %j', (text) => {
  expect(succeeded(text)).toEqual([]);
});
