import { expect } from 'vitest';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { memoryProject } from '../../support/memory-repository.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { user } from '../../support/records.ts';
import { tryTamperings, unbacked, withRealIds } from '../../support/tamper-entries.ts';
import { line, start } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

/** All of them are tried by test/faults/tampering.full.test.ts. */
slowTest('a change in an entry is found, except where no file in the session backs the text', async () => {
  const project = await recordedSession(withRealIds);
  const rows = await tryTamperings(project, await findRecorded(project, line), 11);
  expect(rows.size).toBeGreaterThan(20);
  for (const [kind, { passed }] of rows)
    expect(
      passed.filter((what) => unbacked[kind]?.test(what) !== true),
      kind,
    ).toEqual([]);
});

test('words that change places, and the newest entry’s words, are found by ids and labels', async () => {
  const project = await memoryProject({ 'README.md': '# Notes\n' });
  withRealIds(project);
  await start(project);
  for (const text of ['One', 'Two', 'Three']) await appendRecords(project, { records: [user(text, text)] });
  const rows = await tryTamperings(project, await findRecorded(project, line));
  expect(rows.get('order of two that were said')).toEqual({ runs: 2, caught: 2, passed: [] });
  expect(rows.get('transcript.jsonl')).toMatchObject({ runs: 6, caught: 6 });
});
