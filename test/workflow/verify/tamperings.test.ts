import { expect } from 'vitest';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { tryTamperings, unbacked } from '../../support/tamper-entries.ts';
import { line } from '../../support/turns.ts';
import { slowTest } from '../../support/slow-test.ts';

/** All of them are tried by test/faults/tampering.full.test.ts. */
slowTest('what is changed in an entry is found, but for what no file of the session backs', async () => {
  const project = await recordedSession();
  const rows = await tryTamperings(project, await findRecorded(project, line), 11);
  expect(rows.size).toBeGreaterThan(20);
  for (const [kind, { passed }] of rows)
    expect(
      passed.filter((what) => unbacked[kind]?.test(what) !== true),
      kind,
    ).toEqual([]);
});
