/**
 * Many ways to get code into a commit that its plan does not contain. None may pass `verify` and `replay --strict`
 * together.
 */
import { beforeAll, describe, expect } from 'vitest';
import type { ActionLog, Report } from '../../../src/plan/report/report.ts';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { replayLine } from '../../../src/workflow/replay/line.ts';
import { isSame, isUnproven } from '../../../src/workflow/replay/replayed.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { given } from '../../support/given.ts';
import { file, forge, withLogs, type Forgery } from '../../support/forgery.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { listSteps, tamper, type Tampering } from '../../support/tampering.ts';
import { command, create, edit, line, session, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const before = 'const port = 80;\nlisten(port);\n';
const evil = 'const port = 81;\nlisten(port);\nevil();\n';
const read = '### READ\n- **Resource:** b.txt\n';

let project: MemoryProject;
let tip: Oid;

beforeAll(async () => {
  project = await given.session({ 'src/app.ts': before, 'b.txt': 'b\n' });
  const change = edit('src/app.ts', 'const port = 80;', 'const port = 81;');
  await turn(project, 'One', change, create('a.txt', 'one\n'), read, create('empty.txt', ''), command('make'));
  tip = await project.tipOf(line);
});

/** Asks `verify` and `replay --strict` about a line: whether both accept it, and which paths either names. */
async function judge(at: Oid) {
  const recorded = await findRecorded(project, at);
  const [replayed, verified] = [await replayLine(project, recorded), await verifyLine(project, recorded)];
  const named = [
    ...replayed.turns.flatMap(({ differences, unproven }) => [...differences, ...unproven]),
    ...verified.violations,
  ].map(({ path }) => path);
  const passes = isSame(replayed) && !isUnproven(replayed) && verified.violations.length === 0;
  return { passes, named };
}

const withLog = (index: number, more: Partial<ActionLog>) =>
  withLogs((log) => (log.index === index ? { ...log, ...more } : log));
const failed =
  (more: Partial<Report>) =>
  (report: Report): Report => ({
    ...report,
    ...more,
    run_summary: { ...report.run_summary, status: 'FAILURE', error: 'action 5 (EXECUTE) failed' },
  });
const swap = (text: string) => [file('src/app.ts', text)];

test('an honest line passes', async () => {
  expect(await judge(tip)).toEqual({ passes: true, named: [] });
});

const forgeries: [name: string, path: string, forgery: Forgery][] = [
  ['bytes of an edited file, by the command', 'src/app.ts', { files: swap(evil), by: 5 }],
  ['bytes of an edited file, by the edit', 'src/app.ts', { files: swap(evil), by: 1 }],
  ['bytes of an edited file, by an action that only reads', 'src/app.ts', { files: swap(evil), by: 3 }],
  ['bytes of an edited file, by another file action', 'src/app.ts', { files: swap(evil), by: 2 }],
  ['bytes of an edited file, by an action that is not there', 'src/app.ts', { files: swap(evil), by: 9 }],
  ['an edit that is gone, by the command', 'src/app.ts', { files: swap(before), by: 5 }],
  ['the execute bit of a new file', 'a.txt', { files: [file('a.txt', 'one\n', '100755')], by: 5 }],
  ['the execute bit of a new file, by its own action', 'a.txt', { files: [file('a.txt', 'one\n', '100755')], by: 2 }],
  ['the execute bit of a file of nobody', 'b.txt', { files: [file('b.txt', 'b\n', '100755')], by: 5 }],
  ['a deletion', 'b.txt', { files: [file('b.txt', null)], by: 5 }],
  ['a deletion of what was edited', 'src/app.ts', { files: [file('src/app.ts', null)], by: 5 }],
  ['a deletion of what was edited, by the edit', 'src/app.ts', { files: [file('src/app.ts', null)], by: 1 }],
  ['a rename', 'c.txt', { files: [file('b.txt', null), file('c.txt', 'b\n')], by: 5 }],
  ['a rename of a new file', 'A.txt', { files: [file('a.txt', null), file('A.txt', 'one\n')], by: 2 }],
  ['another case of a directory', 'SRC/app.ts', { files: [file('SRC/app.ts', evil)], by: 1 }],
  ['a link in place of an edited file', 'src/app.ts', { files: [file('src/app.ts', '../b.txt', '120000')], by: 5 }],
  ['a link with the bytes of a new file', 'a.txt', { files: [file('a.txt', 'one\n', '120000')], by: 2 }],
  ['a submodule in place of an empty file', 'empty.txt', { files: [file('empty.txt', 'x\n', '160000')], by: 4 }],
  [
    'a submodule in place of an empty file, by the command',
    'empty.txt',
    { files: [file('empty.txt', 'x\n', '160000')], by: 5 },
  ],
  ['a directory in place of a file', 'b.txt/x.js', { files: [file('b.txt/x.js', evil)], by: 5 }],
  [
    'bytes that a filter of a forged .gitattributes is to excuse',
    'src/app.ts',
    { files: [...swap(evil), file('.gitattributes', '*.ts filter=x\n')], by: 1 },
  ],
  [
    'the list of attributes itself, by the command',
    '.gitattributes',
    { files: [file('.gitattributes', '* -text -diff\n')], by: 5 },
  ],
  [
    'line endings that no attributes explain',
    'a.txt',
    { plan: (text) => text.replace('one\n', 'one\r\n'), files: [file('a.txt', 'one\n')], by: 2 },
  ],
  [
    'a keyword that no attributes explain',
    'a.txt',
    { plan: (text) => text.replace('one\n', '$Id: evil() $\n'), files: [file('a.txt', '$Id$\n')], by: 2 },
  ],
  [
    'words of the user’s own',
    'src/app.ts',
    { files: swap(evil), by: 1, report: withLog(1, { modified_by_user: true }) },
  ],
  [
    'words of the user’s own that leave nothing',
    'src/app.ts',
    { files: swap(before), by: 1, report: withLog(1, { modified_by_user: true }) },
  ],
  [
    'the effect of an action that was declined',
    'a.txt',
    { by: 5, report: withLog(2, { status: 'SKIPPED', details: { reason: 'declined' } }) },
  ],
  [
    'other bytes of an action that was declined',
    'src/app.ts',
    { files: swap(evil), by: 5, report: withLog(1, { status: 'SKIPPED', details: { reason: 'declined' } }) },
  ],
  [
    'other bytes of an action that failed',
    'src/app.ts',
    {
      files: swap(evil),
      by: 1,
      report: (known) => failed({})(withLog(1, { status: 'FAILURE', details: { reason: 'x' } })(known)),
    },
  ],
  [
    'what could not be rolled back',
    'src/app.ts',
    {
      files: swap(evil),
      by: 1,
      report: failed({
        rollback: { restored: [], left: [{ path: 'src/app.ts' as RepoPath, reason: 'x' }], moved_aside: [] },
      }),
    },
  ],
  [
    'what was rolled back, and is there',
    'src/app.ts',
    { by: 5, report: failed({ rollback: { restored: ['src/app.ts' as RepoPath], left: [], moved_aside: [] } }) },
  ],
  [
    'another path, to which the report moves the project',
    'a.txt',
    { plan: (text) => text.replace('(/a.txt)', '(/src/a.txt)') },
  ],
  [
    'a command of another plan',
    'c.txt',
    { plan: (text) => text.replace('make', 'evil'), files: [file('c.txt', evil)], by: 5 },
  ],
  [
    'a command that is said to be the user’s',
    'c.txt',
    { files: [file('c.txt', evil)], by: 5, report: withLog(5, { modified_by_user: true }) },
  ],
  [
    'no change at all, by actions that all succeeded',
    'a.txt',
    { files: [...swap(before), file('a.txt', null), file('empty.txt', null)], by: 5 },
  ],
];

describe('a forgery that agrees with its report, in an entry with the same hash', () => {
  slowTest.each(forgeries)('does not pass, and is named: %s', async (_, path, forgery) => {
    for (const isOld of [false, true]) {
      const { passes, named } = await judge(await forge(project, tip, { ...forgery, isOld }));
      expect(passes).toBe(false);
      expect(named).toContain(path);
    }
  });
});

describe('an entry that is not a report', () => {
  test.each(['start', 'message', 'plan'])('with a file that a %s brings in does not pass', async (kind) => {
    const steps = await listSteps(project, tip);
    const at = steps.find(({ entry }) => entry?.kind === kind)?.oid as Oid;
    const found = await judge(await tamper(project, tip, at, [file('evil.ts', evil)]));
    expect([found.passes, found.named.includes('evil.ts' as RepoPath)]).toEqual([false, true]);
  });

  test('a second report in a turn does not pass for either, and hides nothing in the first', async () => {
    const { store } = project.repository;
    const first = await forge(project, tip, { files: swap(evil), by: 5 });
    const path = `.teddy/sessions/${session}/01/report.md` as RepoPath;
    const honest = Buffer.from((await project.readAt(tip, path)) ?? '');
    const { message } = await store.readCommit(tip);
    const second: Tampering[] = [{ path, bytes: honest, message: () => message }];
    const batch = store.batch();
    const known = await store.readCommit(first);
    const again = await batch.commit({ ...known, parents: [first] });
    await batch.flush();
    const found = await judge(await tamper(project, again, again, second));
    expect([found.passes, found.named.includes('src/app.ts' as RepoPath)]).toEqual([false, true]);
  });

  test('an edit that is already in a commit outside every session is named', async () => {
    const { store } = project.repository;
    const steps = await listSteps(project, tip);
    const at = steps.find(({ entry }) => entry?.kind === 'report')?.oid as Oid;
    const inserted = await tamper(project, tip, at, [{ ...file('b.txt', 'b\n'), before: 'Mine\n' }]);
    const above = (await store.readCommit(inserted)).parents[0] as Oid;
    const report = (known: Report): Report => ({
      ...known,
      changes: known.changes.filter(({ path }) => path !== 'src/app.ts'),
    });
    const moved = await tamper(project, inserted, above, swap(evil));
    const found = await judge(await forge(project, moved, { files: swap(evil), by: 1, report }));
    expect([found.passes, found.named.includes('src/app.ts' as RepoPath)]).toEqual([false, true]);
  });
});
