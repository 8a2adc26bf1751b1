/** Code that the plan does not contain, in reports and commits whose hashes all agree. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect } from 'vitest';
import type { Report } from '../../../src/plan/report/report.ts';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import { parseOid, type Oid } from '../../../src/names.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { replayLine } from '../../../src/workflow/replay/line.ts';
import { isSame, isUnproven } from '../../../src/workflow/replay/replayed.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { given } from '../../support/given.ts';
import { file, forge, withLogs, type Forgery } from '../../support/forgery.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { tamper } from '../../support/tampering.ts';
import { command, create, edit, line, session, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const evil = 'const port = 81;\nlisten(port);\nevil();\n';

/** An edit, a command that changes nothing, a new file. */
async function editedProject(run: (project: MemoryProject) => Promise<object> = async () => ({})) {
  const project = await given.session({ 'src/app.ts': 'const port = 80;\nlisten(port);\n', 'b.txt': 'b\n' });
  project.command.run = () => run(project);
  const change = edit('src/app.ts', 'const port = 80;', 'const port = 81;');
  await turn(project, 'One', change, create('a.txt', 'one\n'), command('make'), create('c.txt', 'c\n'));
  return project;
}

async function judge(project: MemoryProject, tip: Oid) {
  const recorded = await findRecorded(project, tip);
  const [replayed, verified] = [await replayLine(project, recorded), await verifyLine(project, recorded)];
  return {
    faults: verified.violations.length,
    passesStrict: isSame(replayed) && !isUnproven(replayed),
    differs: !isSame(replayed),
    open: replayed.turns.flatMap(({ unproven }) => unproven.map(({ path, action }) => `${path} by ${action}`)),
    proven: replayed.turns.reduce((sum, { proven }) => sum + proven, 0),
    differences: replayed.turns.flatMap(({ differences }) => differences),
  };
}

describe('an edit, a new file and a command', () => {
  let project: MemoryProject;
  let tip: Oid;
  beforeAll(async () => {
    project = await editedProject();
    tip = await project.tipOf(line);
  });

  const judged = async (forgery: Forgery) => judge(project, await forge(project, tip, forgery));

  test('are proven for each path that the plan determines, and for nothing else', async () => {
    expect(await judge(project, tip)).toMatchObject({ faults: 0, passesStrict: true, open: [], proven: 3 });
    expect(await judged({})).toMatchObject({ faults: 0, passesStrict: true, open: [], proven: 3 });
  });

  test('do not prove other bytes attributed to a later command, which are named by path', async () => {
    const found = await judged({ files: [file('src/app.ts', evil)], by: 3 });
    expect(found).toMatchObject({ faults: 0, passesStrict: false });
    if (!found.differs) expect(found.open).toEqual(['src/app.ts by 3']);
  });

  test('do not pass in a commit without the changes of successful actions', async () => {
    const nothing = [file('src/app.ts', 'const port = 80;\nlisten(port);\n'), file('a.txt', null), file('c.txt', null)];
    const found = await judged({ files: nothing, by: 3 });
    expect(found).toMatchObject({ faults: 0, passesStrict: false });
    expect(found.differences.map(({ path }) => path)).toContain('c.txt');
  });

  test('do not prove a new file attributed to a command', async () => {
    const found = await judged({ files: [file('src/evil.ts', evil)], by: 3 });
    expect(found).toMatchObject({ faults: 0, passesStrict: false, open: ['src/evil.ts by 3'] });
  });

  test('do not prove bytes attributed to the user in place of the plan', async () => {
    const report = withLogs((log) => (log.index === 1 ? { ...log, modified_by_user: true } : log));
    const found = await judged({ files: [file('src/app.ts', evil)], by: 1, report });
    expect(found).toMatchObject({ faults: 0, passesStrict: false, open: ['src/app.ts by 1'] });
  });
});

test('a command’s changes are named, proven by rerunning it, and a forged byte in them is then detected', async () => {
  const make = (project: MemoryProject) => project.write({ 'b.txt': 'made\n' }).then(() => ({}));
  const project = await editedProject(make);
  const tip = await project.tipOf(line);
  expect(await judge(project, tip)).toMatchObject({ passesStrict: false, differs: false, open: ['b.txt by 3'] });
  const again = async (at: Oid) => replayLine(project, await findRecorded(project, at), { runsCommands: true });
  const replayed = await again(tip);
  expect([isSame(replayed), isUnproven(replayed), replayed.turns[0]?.proven]).toEqual([true, false, 4]);
  const forged = await again(await forge(project, tip, { files: [file('b.txt', 'evil\n')], by: 3 }));
  expect(forged.turns[0]?.differences).toMatchObject([{ path: 'b.txt', action: 3 }]);
});

test('a command that is marked as cut off is rerun all the same', async () => {
  const project = await editedProject();
  const report = (known: Report): Report => ({
    ...known,
    run_summary: { ...known.run_summary, status: 'ABORTED', error: 'interrupted' },
    action_logs: known.action_logs.map((log) =>
      log.index === 3
        ? { ...log, status: 'ABORTED', details: { reason: 'interrupted' } }
        : log.index === 4
          ? { ...log, status: 'SKIPPED', approved_by: 'none', details: { reason: 'the run was interrupted before it' } }
          : log,
    ),
  });
  const files = [file('src/evil.ts', evil), file('c.txt', null)];
  const tip = await forge(project, await project.tipOf(line), { files, by: 3, report });
  const replayed = await replayLine(project, await findRecorded(project, tip), { runsCommands: true });
  expect(replayed.turns[0]?.unproven).toMatchObject([{ path: 'src/evil.ts', action: 3 }]);
});

test('an undo that leaves a file in a third state is detected, and so is a file that its turn never changed', async () => {
  const project = await editedProject();
  await undoTurn(project, {});
  const tip = await project.tipOf(line);
  expect(await judge(project, tip)).toMatchObject({ passesStrict: true });
  for (const path of ['src/app.ts', 'b.txt']) {
    const found = await judge(project, await tamper(project, tip, tip, [file(path, evil)]));
    expect(found.differences).toMatchObject([{ path, message: expect.stringContaining('The undo of turn 01 leaves') }]);
  }
});

test('code in snapshots and in the user’s own commits is counted, since no plan contains it', async () => {
  const project = await editedProject();
  await project.commit('Mine\n', { 'own.txt': 'mine\n', 'b.txt': 'mine\n' });
  const { unplanned } = await replayLine(project, await findRecorded(project, await project.tipOf(line)));
  expect(unplanned).toEqual({ commits: 1, paths: 2 });
});

describe('the trees in a report', () => {
  const changing = (project: MemoryProject) =>
    project.write({ 'src/app.ts': `${evil}// formatted\n` }).then(() => ({}));
  const outcomes = async (project: MemoryProject, tip: Oid) =>
    (await replayLine(project, await findRecorded(project, tip))).turns[0]?.actions.map(({ outcome }) => outcome);

  test('prove an edit before a command that changed the file, but not the file’s final state', async () => {
    const project = await editedProject(changing);
    const tip = await project.tipOf(line);
    expect(await outcomes(project, tip)).toEqual(['same', 'same', 'not_run', 'same']);
    expect(await judge(project, tip)).toMatchObject({ passesStrict: false, differs: false, open: ['src/app.ts by 3'] });
  });

  test('are optional: a report without them proves the same as before', async () => {
    const project = await editedProject(changing);
    const old = await forge(project, await project.tipOf(line), { isOld: true });
    expect(await outcomes(project, old)).toEqual(['not_compared', 'same', 'not_run', 'same']);
    expect(await judge(project, old)).toMatchObject({ faults: 0, differs: false, open: ['src/app.ts by 3'] });
  });

  slowTest('differ if they contradict the plan, or hide that a command changed a file', async () => {
    const project = await editedProject(changing);
    const tip = await project.tipOf(line);
    const known = await project.readAt(tip, `.teddy/sessions/${session}/01/report.md`);
    const [first] = parseReport(known ?? '').action_logs.map(({ tree }) => tree);
    const wrong = withLogs((log) => (log.index === 2 && first !== undefined ? { ...log, tree: first } : log));
    expect((await judge(project, await forge(project, tip, { report: wrong }))).differences).toMatchObject([
      { action: 2, message: expect.stringContaining('is not the tree that the plan produces') },
    ]);
    const second = parseReport(known ?? '').action_logs[1]?.tree as Oid;
    const quiet = withLogs((log) => (log.index === 3 ? { ...log, tree: second } : log));
    expect((await judge(project, await forge(project, tip, { report: quiet }))).differences).toContainEqual(
      expect.objectContaining({ action: 3, path: 'src/app.ts' }),
    );
  });

  test('of a command without changes do not excuse a different or missing edit after it', async () => {
    const project = await given.session({ 'src/app.ts': 'const port = 80;\nlisten(port);\n' });
    const change = edit('src/app.ts', 'const port = 80;', 'const port = 81;');
    await turn(project, 'One', create('gone.txt'), command('true'), change, command('true'));
    const tip = await project.tipOf(line);
    expect(await judge(project, tip)).toMatchObject({ passesStrict: true, proven: 2 });
    const keepsTrees = { files: [file('src/app.ts', evil)] };
    const report = (known: Report): Report => ({
      ...known,
      changes: known.changes.map((row) =>
        row.path === 'src/app.ts' ? { ...row, after: parseOid(gitBlob(evil)) } : row,
      ),
    });
    expect((await judge(project, await forge(project, tip, { ...keepsTrees, report }))).differences).toContainEqual(
      expect.objectContaining({ path: 'src/app.ts', action: 3 }),
    );
    const without = (known: Report): Report => ({
      ...known,
      changes: known.changes.filter(({ path }) => path !== 'gone.txt'),
    });
    expect(
      (await judge(project, await forge(project, tip, { files: [file('gone.txt', null)], report: without })))
        .differences,
    ).toContainEqual(expect.objectContaining({ path: 'gone.txt', action: 1 }));
  });
});

function gitBlob(text: string): string {
  return createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest('hex');
}
