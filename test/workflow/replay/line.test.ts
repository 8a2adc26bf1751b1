import { beforeEach, describe, expect } from 'vitest';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { replayLine, type ReplayOptions } from '../../../src/workflow/replay/line.ts';
import type { ReplayedLine, ReplayedTurn } from '../../../src/workflow/replay/replayed.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { approver, command, create, edit, line, memos, planOf, run, say, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

let project: MemoryProject;

beforeEach(async () => {
  project = await given.session({ 'README.md': '# Notes\n', 'src/app.ts': 'const port = 80;\nlisten(port);\n' });
});

async function replay(target?: string, options: ReplayOptions = {}): Promise<ReplayedLine> {
  return replayLine(project, await findRecorded(project, target), options);
}

/** `CREATE same`, ... */
function outcomesOf(replayed: ReplayedTurn | undefined): string[] {
  return (replayed?.actions ?? []).map(({ type, outcome }) => `${type} ${outcome}`);
}

async function replayLast(options?: ReplayOptions): Promise<ReplayedTurn> {
  const last = (await replay(undefined, options)).turns.at(-1);
  if (last === undefined) throw new Error('There is no turn.');
  return last;
}

/** Expects the result for a run that was not tampered with. */
async function expectSame(
  outcomes: string[],
  options?: ReplayOptions,
  outcome: ReplayedTurn['outcome'] = 'same',
): Promise<ReplayedTurn> {
  const replayed = await replayLast(options);
  expect(replayed.differences).toEqual([]);
  expect(outcomesOf(replayed)).toEqual(outcomes);
  expect(replayed.outcome).toBe(outcome);
  return replayed;
}

describe('replaying honest turns', () => {
  test('reproduces files that a plan makes and edits, one of them twice', async () => {
    await turn(
      project,
      'One',
      create('a.txt'),
      edit('a.txt', 'a.txt', 'b.txt'),
      edit('src/app.ts', 'const port = 80;', 'const port = 81;'),
    );
    await turn(project, 'Two', edit('src/app.ts', 'const port = 81;', 'const port = 82;'));
    const { turns, derived, session } = await replay();
    expect(turns.map(({ turn: name, outcome, differences }) => [name, outcome, differences])).toEqual([
      ['01', 'same', []],
      ['02', 'same', []],
    ]);
    expect(outcomesOf(turns[0])).toEqual(['CREATE same', 'EDIT same', 'EDIT same']);
    expect([derived > 0, session]).toEqual([true, '20260124-add-login']);
  });

  test('takes a command’s changes from the record, and continues with an edit on top', async () => {
    project.command.run = () =>
      project.write({ 'src/app.ts': 'const port = 90;\nlisten(port);\n', 'made.txt': 'x\n' }).then(() => ({}));
    await turn(project, 'Run', command('make'), edit('README.md', '# Notes', '# News'), create('z.txt'));
    const outcomes = ['EXECUTE not_run', 'EDIT same', 'CREATE same'];
    const { proven, unproven } = await expectSame(outcomes, {}, 'not_compared');
    expect([proven, unproven.map(({ path, reason }) => [path, reason])]).toEqual([
      2,
      [
        ['made.txt', 'action 1, a command, changed it'],
        ['src/app.ts', 'action 1, a command, changed it'],
      ],
    ]);
  });

  test('does not compare an edit of a command’s intermediate result, and gives the reason', async () => {
    project.command.run = () =>
      project.write({ 'src/app.ts': 'const port = 80;\nlisten(port, host);\n' }).then(() => ({}));
    await turn(project, 'Run', command('make'), edit('src/app.ts', 'const port = 80;', 'const port = 91;'));
    const { actions } = await expectSame(['EXECUTE not_run', 'EDIT not_compared'], {}, 'not_compared');
    expect(actions[1]?.note).toContain('action 1, a command, ran before it');
  });

  test('does not compare a file that a user’s commit captured during the run, but compares the others', async () => {
    const made = { 'src/app.ts': 'const port = 81;\nlisten(port);\n' };
    project.command.run = () => project.commit('Mine\n', made).then(() => ({}));
    await turn(
      project,
      'Run',
      edit('src/app.ts', 'const port = 80;', 'const port = 81;'),
      command('git commit -a'),
      create('b.txt'),
    );
    const outcomes = ['EDIT not_compared', 'EXECUTE not_run', 'CREATE same'];
    const { actions, unproven } = await expectSame(outcomes, {}, 'not_compared');
    expect(actions[0]?.note).toContain('a commit by the user');
    expect(unproven.map(({ path }) => path)).toEqual(['src/app.ts']);
  });

  test('takes the record’s word for files by the plan that a command changes or removes', async () => {
    project.command.run = () => project.write({ 'a.txt': 'formatted\n', 'b.txt': null }).then(() => ({}));
    await turn(project, 'Run', create('a.txt'), create('b.txt'), command('format'));
    const outcomes = ['CREATE same', 'CREATE same', 'EXECUTE not_run'];
    const { unproven } = await expectSame(outcomes, {}, 'not_compared');
    expect(unproven.map(({ path, action }) => [path, action])).toEqual([
      ['a.txt', 3],
      ['b.txt', 2],
    ]);
  });

  test('takes the user’s replacement for the plan from the record, and labels it', async () => {
    await say(project, 'Edit', planOf([create('a.txt'), command('old')]));
    await run(project, {
      approver: approver([
        { decision: 'yes', edited: 'mine\n' },
        { decision: 'yes', edited: 'new' },
      ]),
    });
    const { unproven } = await expectSame(['CREATE edited_by_user', 'EXECUTE edited_by_user'], {}, 'not_compared');
    expect(unproven).toMatchObject([
      { path: 'a.txt', action: 1, reason: expect.stringContaining('the user wrote it') },
    ]);
  });

  test('agrees with the report about declined actions and actions that change no file', async () => {
    await say(
      project,
      'Look',
      planOf(['### READ\n- **Resource:** README.md\n', '### PROMPT\n\nShall we?\n', create('a.txt'), create('b.txt')]),
    );
    await run(project, { approver: approver(['yes', 'yes', 'no', 'yes'], 'Yes.') });
    await expectSame(['READ same', 'PROMPT same', 'CREATE skipped', 'CREATE same']);
  });

  test('reproduces a failed run, and a run that was rolled back', async () => {
    project.command.run = async () => ({ exitCode: 3, stderr: 'no\n' });
    await turn(project, 'Fail', create('a.txt'), command('test'), create('b.txt'));
    await expectSame(['CREATE same', 'EXECUTE not_run', 'CREATE skipped']);
    await say(project, 'Again', planOf([create('c.txt'), command('test')]));
    await run(project, { rollback: true });
    const { actions, status } = await expectSame(['CREATE same', 'EXECUTE not_run']);
    expect([status, actions[0]?.note]).toEqual(['FAILURE', 'rolled back']);
  });

  test('changes nothing for a rejected plan and a stopped run', async () => {
    await say(project, 'No', planOf([create('a.txt')]));
    await run(project, { reject: 'not like that' });
    expect((await expectSame(['CREATE skipped'])).status).toBe('ABORTED');
    await say(project, 'Stop', planOf([create('a.txt'), create('b.txt')]));
    await run(project, { approver: approver(['yes', 'quit']) });
    expect((await expectSame(['CREATE same', 'CREATE skipped'])).status).toBe('ABORTED');
  });

  test('finds the same problems in an invalid plan, and counts those with other causes', async () => {
    await turn(project, 'Wrong', edit('src/app.ts', 'nothing like it', 'x'), create('README.md'));
    const { status, note } = await expectSame(['EDIT skipped', 'CREATE skipped']);
    expect([status, note]).toEqual(['VALIDATION_FAILED', null]);
    await project.write({ 'untracked.txt': 'here\n' });
    await turn(project, 'Wrong', create('untracked.txt'));
    expect((await expectSame(['CREATE skipped'])).note).toContain("1 of the plan's problems");
  });

  test('keeps the number of an unreadable action, and reproduces the actions after it', async () => {
    await turn(project, 'Wrong', create('../outside.txt'), create('README.md'), create('b.txt'));
    expect((await expectSame(['CREATE skipped', 'CREATE skipped'])).status).toBe('VALIDATION_FAILED');
  });

  test('does not miss files that a run left out of its commit', async () => {
    await project.commit('Ignore\n', { '.gitignore': '*.log\n' });
    await turn(project, 'Make', create('.env', 'A=1\n'), create('b.txt'));
    const { actions } = await expectSame(['CREATE not_compared', 'CREATE same']);
    expect(actions[0]?.note).toContain('named like a secret');
  });

  test('resolves absolute paths in the project where the plan was run', async () => {
    await turn(project, 'Make', edit('/project/src/app.ts', 'const port = 80;', 'const port = 81;'), create('b.txt'));
    await expectSame(['EDIT same', 'CREATE same']);
  });

  slowTest(
    'counts turns without a report as not comparable, also on a line with memos and edits by the user',
    async () => {
      await say(project, 'Hello', 'Good morning.\n');
      await project.write({ 'src/app.ts': 'const port = 99;\n' });
      await say(
        project,
        'Remember',
        planOf([edit('src/app.ts', 'const port = 99;', 'const port = 1;')], memos('[+] It is late.')),
      );
      await run(project, { memos: { kind: 'yes' } });
      await say(project, 'More', planOf([create('x.txt')]));
      const { turns } = await replay();
      expect(turns.map(({ turn: name, outcome, note }) => [name, outcome, note])).toEqual([
        ['01', 'nothing_to_compare', 'it has no plan'],
        ['02', 'same', null],
        ['03', 'nothing_to_compare', 'its plan has no report'],
      ]);
    },
  );

  slowTest('limits a range to its reports, and accepts a commit for its line up to there', async () => {
    await turn(project, 'One', create('a.txt'));
    const first = await project.tipOf(line);
    await turn(project, 'Two', create('b.txt'));
    const names = async (target: string) => (await replay(target)).turns.map((one) => one.turn);
    expect([await names(`${first}..`), await names(first), await names(line)]).toEqual([['02'], ['01'], ['01', '02']]);
  });

  test('with commands reruns the same plan on its original code, with secrets in the output masked', async () => {
    project.secrets.set('hunter2', 'password');
    project.command.run = () => project.write({ 'made.txt': 'x\n' }).then(() => ({ stdout: 'hunter2\n' }));
    await turn(project, 'Run', create('a.txt'), command('make'), edit('a.txt', 'a.txt', 'b.txt'));
    await expectSame(['CREATE same', 'EXECUTE same', 'EDIT same'], { runsCommands: true });
    project.command.run = async () => ({ exitCode: 1, stdout: 'hunter2, twice\n' });
    const { outcome, differences } = await replayLast({ runsCommands: true });
    expect(outcome).toBe('different');
    expect(differences).toMatchObject([
      { turn: '01', action: 2, path: null, message: 'The exit code was 0, but is now 1.' },
      {
        action: 2,
        path: null,
        diff: expect.stringContaining('-[masked: password]\n+[masked: password], twice\n') as string,
      },
      { action: 2, path: 'made.txt' },
    ]);
    expect(await project.read('made.txt')).toBe('x\n');
  });

  test('reports an interruption', async () => {
    await turn(project, 'One', create('a.txt'));
    await expect(replay(undefined, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});
