/** Every way to change what an entry says, each commit after it made to fit; the table in docs/security.md quotes the counts. */
import { expect, test } from 'vitest';
import { findRecorded } from '../../src/workflow/line/find-recorded.ts';
import { recordedSession } from '../support/recorded-session.ts';
import { tryTamperings, unbacked } from '../support/tamper-entries.ts';
import { line } from '../support/turns.ts';

test('what is changed in an entry is found, but for what no file of the session backs', async () => {
  const project = await recordedSession();
  const rows = await tryTamperings(project, await findRecorded(project, line));
  const sum = (of: 'runs' | 'caught') => [...rows.values()].reduce((total, row) => total + row[of], 0);
  console.log(`tampering: ${sum('runs')} runs, ${sum('caught')} found`);
  for (const [kind, { runs, caught }] of rows) console.log(`  ${kind}: ${caught} of ${runs}`);
  for (const [kind, { passed }] of rows)
    expect(
      passed.filter((what) => unbacked[kind]?.test(what) !== true),
      kind,
    ).toEqual([]);
  // A kind that is said to pass, and does not, is proven by now.
  for (const kind of Object.keys(unbacked)) expect(rows.get(kind)?.passed, kind).not.toEqual([]);
});
