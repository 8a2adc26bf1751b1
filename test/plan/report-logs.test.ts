import { stringify } from 'yaml';
import { describe, expect, test } from 'vitest';
import { parseReport } from '../../src/plan/report/report-yaml.ts';
import { readLogs, readRun } from '../../src/plan/report/report-logs.ts';

describe("a report's logs", () => {
  test("are read in order, and later versions' additions are kept", () => {
    const yaml = stringify({
      action_logs: [
        { index: 2, status: 'FAILURE', details: { reason: 'No.' }, later: 1 },
        { index: 1, status: 'SUCCESS' },
      ],
    });
    expect(readLogs(yaml)).toEqual([
      { index: 2, status: 'FAILURE', details: { reason: 'No.' } },
      { index: 1, status: 'SUCCESS', details: {} },
    ]);
    expect(readLogs('action_logs: []\n')).toEqual([]);
  });

  test.each([
    ['plan: { title: T }\n', 1],
    ['plan: { title: T, grammar: 1 }\n', 1],
    ['plan: { title: T, grammar: 2 }\n', 2],
    ['plan: { title: T, grammar: 3 }\n', 3],
    ['plan: { title: T, grammar: 4 }\n', 3],
    ['plan: { title: T, grammar: "1" }\n', 3],
    ['plan: 1\n', 1],
    ['plan:\n', 1],
    ['plan: [ broken', 3],
  ])("are read beside the plan's grammar: %j", (yaml, grammar) => expect(readRun(yaml).grammar).toBe(grammar));

  test.each([
    '',
    'just text',
    'action_logs: 3\n',
    'action_logs: [null]\n',
    'action_logs: [{ index: "1", status: SUCCESS }]\n',
    'action_logs: [{ index: 1, status: SUCCESS, details: x }]\n',
    'action_logs:\n  - { broken',
  ])('are null, not empty, if they cannot be read: %j', (yaml) => expect(readLogs(yaml)).toBeNull());

  test.each(['[', '{ ', '- ', '          '])('are read beside an output of 5,000 %j', (part) => {
    const stdout = `${part.repeat(5000)}\nthe rest is cut`;
    const yaml = stringify({ action_logs: [{ index: 1, status: 'SUCCESS', details: { stdout } }] }, { lineWidth: 0 });
    expect(readLogs(yaml)).toEqual([{ index: 1, status: 'SUCCESS', details: { stdout } }]);
  });

  test.each(['- ', '[', '{ a: ', 'a: '])(
    'are refused in a report that nests %j 4,000 times, and the process survives',
    (part) => {
      const yaml = `action_logs:\n  ${part.repeat(4000)}`;
      expect(readLogs(yaml)).toBeNull();
      expect(() => parseReport(yaml)).toThrow(
        expect.objectContaining({ code: 'DAMAGED_SESSION', message: expect.stringContaining('nested') }),
      );
    },
  );
});
