import type { Workspace } from '../../../src/ports/git.ts';
import { describe, expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import type { Oid } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import {
  approveAll,
  approver,
  command,
  create,
  line,
  planOf,
  run,
  say,
  session,
  storyOfLine,
} from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;

/** A session with a pending plan for these actions. */
const pending = (actions: string[], ...sections: string[]) =>
  given.plannedTurn(actions, sections, { 'README.md': '# Notes\n', 'src/a.ts': 'const a = 1;\n' });

async function changedPaths(project: MemoryProject, commit: Oid): Promise<string[]> {
  const { store } = project.repository;
  const { parents } = await store.readCommit(commit);
  const changes = await store.diffTrees(parents[0] ?? null, commit);
  return changes.map(({ change, path }) => `${change} ${path}`);
}

const edit =
  '### EDIT\n- **File Path:** [src/a.ts](/src/a.ts)\n\n#### FIND:\n```\nconst a = 1;\n```\n#### REPLACE:\n```\nconst a = 2;\n```\n';

describe('a run', () => {
  test('that succeeds is one commit with its report and exactly the changed code', async () => {
    const project = await pending([create('src/b.ts', 'b\n'), edit, command('make')]);
    await project.write({ 'untracked.txt': 'mine\n' });
    project.command.run = async () => {
      await project.write({ 'made.txt': 'made\n' });
      return { stdout: 'built\n' };
    };
    const { commit, report, leftOut } = await run(project);
    expect(report.run_summary).toMatchObject({ status: 'SUCCESS', error: null });
    expect(await changedPaths(project, commit)).toEqual([
      `added ${dir}/01/report.md`,
      'added made.txt',
      'modified src/a.ts',
      'added src/b.ts',
    ]);
    expect(report.changes.map(({ path, change, action }) => [path, change, action])).toEqual([
      ['made.txt', 'added', 3],
      ['src/a.ts', 'modified', 2],
      ['src/b.ts', 'added', 1],
    ]);
    expect(leftOut).toEqual([]);
    const text = (await project.readAt(commit, `${dir}/01/report.md`)) ?? '';
    expect(parseReport(text)).toEqual(report);
    const entry = decodeEntry((await project.repository.store.readCommit(commit)).message);
    expect(entry).toMatchObject({
      kind: 'report',
      turn: '01',
      status: 'SUCCESS',
      sha256: project.hash(text),
      agent: 'pathfinder',
    });
    expect(await project.read('src/a.ts')).toBe('const a = 2;\n');
    const status = await project.repository.workspace.status({ untracked: true });
    expect(status).toEqual({ edits: [], unmerged: [], untracked: ['untracked.txt'] });
  });

  test('names the planner, the times, and the approver of each action', async () => {
    const project = await pending([create('a.txt')]);
    const { report } = await run(project);
    expect(report.plan).toEqual({
      title: 'Do it',
      sha256: project.hash(planOf([create('a.txt')])),
      grammar: 3,
      agent: 'pathfinder',
      model: 'scripted',
    });
    expect(report.run_summary.start_time < report.run_summary.end_time).toBe(true);
    expect(report.action_logs).toMatchObject([{ index: 1, approved_by: 'flag', status: 'SUCCESS' }]);
    expect((report.action_logs[0]?.duration_ms ?? 0) > 0).toBe(true);
  });

  test('stops at a failed action: the rest is skipped, and the finished work is committed', async () => {
    const project = await pending([create('a.txt'), command('false'), create('b.txt')]);
    project.command.run = async () => ({ exitCode: 3, stderr: 'no\n', failedCommand: 'false', failedLine: 1 });
    const { report, commit } = await run(project);
    expect(report.run_summary).toMatchObject({ status: 'FAILURE', error: 'action 2 (EXECUTE) failed' });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'FAILURE', 'SKIPPED']);
    expect(report.action_logs[1]?.details).toMatchObject({ return_code: 3, failed_command: 'false', stderr: 'no\n' });
    expect(report.action_logs[2]).toMatchObject({
      approved_by: 'none',
      details: { reason: 'an earlier action failed' },
    });
    expect(await changedPaths(project, commit)).toEqual([`added ${dir}/01/report.md`, 'added a.txt']);
  });

  test('continues after a failure that is allowed', async () => {
    const project = await pending([command('false', '- **Allow Failure:** true'), create('b.txt')]);
    project.command.run = async () => ({ exitCode: 1 });
    const { report } = await run(project);
    expect(report.action_logs.map(({ status }) => status)).toEqual(['FAILURE', 'SUCCESS']);
    expect(report.run_summary.status).toBe('SUCCESS');
  });

  test.each(['Yes', 'ok', true, undefined])('does nothing on the decision %j, which is not a yes', async (decision) => {
    const project = await pending([create('a.txt')]);
    const asking = { ...approver(), action: async () => ({ decision: decision as 'yes' }) };
    const { report } = await run(project, { approver: asking });
    expect(report.action_logs).toMatchObject([{ status: 'SKIPPED', details: { reason: 'declined' } }]);
  });

  test('never overwrites an edit that somebody made during the approval question', async () => {
    const project = await pending([create('a.txt')]);
    const asking = {
      ...approver(),
      action: async () => {
        await project.write({ 'a.txt': 'theirs\n' });
        return { decision: 'yes' as const };
      },
    };
    const { report } = await run(project, { approver: asking });
    expect(report.run_summary.status).toBe('FAILURE');
    expect(report.action_logs[0]?.details?.reason).toContain('a.txt was changed while teddy was asking for approval');
    const left = await project.repository.workspace.readDisk('a.txt' as Parameters<Workspace['readDisk']>[0]);
    expect(new TextDecoder().decode(left ?? undefined)).toBe('theirs\n');
  });

  test('checks again before each action: a command’s changes may fail the next', async () => {
    const project = await pending([command('touch b.txt'), create('b.txt')]);
    project.command.run = async () => {
      await project.write({ 'b.txt': 'theirs\n' });
      return {};
    };
    const { report } = await run(project);
    expect(report.action_logs[1]).toMatchObject({ status: 'FAILURE', approved_by: 'none' });
    expect(await project.read('b.txt')).toBe('theirs\n');
  });

  test('leaves out ignored files, files named like a secret, and big new files', async () => {
    const project = await pending([command('make')]);
    await project.write({ '.gitignore': '*.log\n' });
    project.command.run = async () => {
      await project.write({
        '.env': 'KEY=1\n',
        'big.bin': 'x'.repeat(1024 * 1024 + 1),
        'small.txt': 's\n',
        'x.log': 'l\n',
      });
      return {};
    };
    const { leftOut, report } = await run(project);
    expect(leftOut).toEqual([
      { path: '.env', reason: 'named like a secret' },
      { path: 'big.bin', reason: 'over 1 MiB' },
    ]);
    expect(report.changes.map(({ path }) => path)).toEqual(['small.txt']);
    expect(await project.read('.env')).toBe('KEY=1\n');
  });

  test('keeps the complete long output beside the report, and its last lines in the report', async () => {
    const project = await pending([command('seq 300', '- **Tail:** 2')]);
    project.command.run = async () => ({ stdout: '1\n2\n3\n4\n' });
    const { report, commit } = await run(project);
    expect(report.action_logs[0]?.details).toMatchObject({ stdout: '3\n4\n', output_file: 'output/1.log' });
    expect(await project.readAt(commit, `${dir}/01/output/1.log`)).toBe('--- stdout\n1\n2\n3\n4\n--- stderr\n');
  });

  test('with memos but no actions has a report as well', async () => {
    const project = await pending([], '## Memos\n\n- [+] tabs', '## Message\n\nRemember.');
    const { report } = await run(project, { approver: null });
    expect(report.run_summary.status).toBe('SUCCESS');
    expect(report.memos.proposed).toEqual(['tabs']);
  });
});

describe('approval', () => {
  test('for each action separately skips declined ones, and the run is a success', async () => {
    const project = await pending([create('a.txt'), create('b.txt'), create('c.txt')]);
    const person = approver(['no', 'yes', 'yes']);
    const { report } = await run(project, { approver: person });
    expect(person.asked).toEqual(['1 CREATE', '2 CREATE', '3 CREATE']);
    expect(report.action_logs.map(({ status, approved_by }) => [status, approved_by])).toEqual([
      ['SKIPPED', 'none'],
      ['SUCCESS', 'user'],
      ['SUCCESS', 'user'],
    ]);
    expect(report.run_summary.status).toBe('SUCCESS');
    expect(await project.read('a.txt')).toBeNull();
  });

  test('declined for all actions is SKIPPED', async () => {
    const project = await pending([create('a.txt'), create('b.txt')]);
    const { report, commit } = await run(project, { approver: approver(['no', 'no']) });
    expect(report.run_summary.status).toBe('SKIPPED');
    expect(report.action_logs[0]?.details?.reason).toBe('declined');
    expect(await changedPaths(project, commit)).toEqual([`added ${dir}/01/report.md`]);
  });

  test('for all remaining actions ends the questions', async () => {
    const project = await pending([create('a.txt'), create('b.txt'), create('c.txt')]);
    const person = approver(['no', 'all']);
    await run(project, { approver: person });
    expect(person.asked).toEqual(['1 CREATE', '2 CREATE']);
    expect(await project.read('c.txt')).toBe('c.txt\n');
  });

  test('with quit stops there: the rest is skipped, the run aborted, the turn closed', async () => {
    const project = await pending([create('a.txt'), create('b.txt')]);
    const { report } = await run(project, { approver: approver(['yes', 'quit']) });
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'stopped by the user' });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'SKIPPED']);
    await expect(run(project)).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
  });

  test('by no one runs nothing, writes nothing, and the plan stays pending', async () => {
    const project = await pending([create('a.txt')]);
    const tip = await project.tipOf(line);
    await expect(run(project, { approver: null })).rejects.toMatchObject({ code: 'NOT_APPROVED' });
    expect(await project.tipOf(line)).toBe(tip);
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
  });

  test('that is refused closes the turn with the reason, and nothing runs', async () => {
    const project = await pending([create('a.txt')], '## Memos\n\n- [+] tabs');
    const { report } = await run(project, { approver: null, reject: 'too big' });
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'too big' });
    expect(report.action_logs).toMatchObject([{ status: 'SKIPPED', approved_by: 'none' }]);
    expect(report.memos).toEqual({ added: [], removed: [], rejected: ['tabs'] });
    expect(await project.read('a.txt')).toBeNull();
  });
});

describe('a question to the user', () => {
  const question = '### CHAT_WITH_USER\n\nWhich colour?\n';

  test('has its answer in the report, and thus in the model’s next request', async () => {
    const project = await pending([question]);
    const person = approver([], 'blue, please');
    const { report } = await run(project, { approver: person });
    expect(person.shown[0]).toContain('Which colour?');
    expect(report.action_logs).toMatchObject([{ status: 'SUCCESS', details: { answer: 'blue, please' } }]);
    const model = scriptedModel('Blue.');
    await say(project, 'Go on', model);
    expect(model.requests[0]?.messages[1]?.content).toContain('blue, please');
  });

  test('that gets no answer stays open: nothing has run, or the run stops there', async () => {
    const gone = { ...approver(), answer: () => Promise.reject(new TeddyError('INTERRUPTED', 'gone')) };
    const project = await pending([question, command('make')]);
    const tip = await project.tipOf(line);
    await expect(run(project, { approver: gone })).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await project.tipOf(line)).toBe(tip);
    // Without --interrupted, which would be needed if there were a run to settle.
    const { report } = await run(project, { approver: approver([], 'blue') });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'SUCCESS']);

    await say(project, 'More', planOf([create('a.txt'), question, command('make')]));
    const { report: stopped } = await run(project, { approver: gone });
    expect(stopped.run_summary.status).toBe('ABORTED');
    expect(stopped.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'SKIPPED', 'SKIPPED']);
  });

  test('succeeds without an answer under -y', async () => {
    const project = await pending([question]);
    const { report } = await run(project);
    expect(report.action_logs[0]?.status).toBe('SUCCESS');
    expect(report.action_logs[0]?.details?.answer).toBeUndefined();
  });
});

describe('HEAD leaving the line', () => {
  /** Says yes, but somebody switches branches before the question about action `at` is answered. */
  function leavingAt(project: MemoryProject, at: number) {
    const person = approver();
    const action: typeof person.action = async (asked) => {
      if (asked.action.index === at) await project.switchTo('main');
      return person.action(asked);
    };
    return { ...person, action };
  }

  test.each([
    ['a write', create('a.txt')],
    ['a command', command('make')],
    ['a question', '### CHAT_WITH_USER\n\nWhich colour?\n'],
  ])('during the question about %s stops the run with nothing done; the plan stays pending', async (_, action) => {
    const project = await pending([action]);
    project.command.run = () => Promise.reject(new Error('It was run.'));
    const tip = await project.tipOf(line);
    const person = leavingAt(project, 1);
    const refused = { code: 'NOT_ON_LINE', hint: expect.stringContaining(`git switch ${line}`) as string };
    await expect(run(project, { approver: person })).rejects.toMatchObject(refused);
    expect([await project.read('a.txt'), person.shown, await project.tipOf(line)]).toEqual([null, [], tip]);
    await project.switchTo(line);
    project.command.run = async () => ({});
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
  });

  test('after an action stops it there, with a report on the finished work and the place of its files', async () => {
    const project = await pending([create('a.txt'), create('b.txt'), create('c.txt')]);
    const { report, commit } = await run(project, { approver: leavingAt(project, 2) });
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'interrupted' });
    expect(report.action_logs.map(({ status, details }) => [status, details?.reason])).toEqual([
      ['SUCCESS', undefined],
      ['SKIPPED', `HEAD has left ${line}`],
      ['SKIPPED', 'the run was interrupted before it'],
    ]);
    expect([await project.read('b.txt'), await project.readAt(commit, 'a.txt')]).toEqual([null, 'a.txt\n']);
    expect(project.said.join('\n')).toMatch(/a\.txt.* work tree/);
  });

  test('by a command in the plan stops it before anything is written on the other branch', async () => {
    const project = await pending([command('git switch main'), edit, create('b.txt')]);
    project.command.run = () => project.switchTo('main').then(() => ({}));
    const { report } = await run(project);
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'SKIPPED', 'SKIPPED']);
    expect([await project.read('src/a.ts'), await project.read('b.txt')]).toEqual(['const a = 1;\n', null]);
  });
});

describe('an interrupted run', () => {
  test('reports the running action as ABORTED and skips the rest', async () => {
    const project = await pending([create('a.txt'), command('sleep 9'), create('b.txt')]);
    const controller = new AbortController();
    project.command.run = async () => {
      controller.abort();
      return { aborted: true, exitCode: 143 };
    };
    const { report } = await run(project, { signal: controller.signal });
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'interrupted' });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'ABORTED', 'SKIPPED']);
  });

  test('before the first action leaves the plan pending', async () => {
    const project = await pending([create('a.txt')]);
    const tip = await project.tipOf(line);
    await expect(run(project, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await project.tipOf(line)).toBe(tip);
    expect(await project.read('a.txt')).toBeNull();
  });
});

describe('an invalid plan', () => {
  test('is not executed; its report gives the reasons, and the line continues', async () => {
    const project = await pending([create('ok.txt'), create('README.md'), create('../out.txt')]);
    const person = approver();
    const { report, commit } = await run(project, { approver: person });
    expect(person.asked).toEqual([]);
    expect(report.run_summary).toMatchObject({ status: 'VALIDATION_FAILED', error: '2 problems found in the plan' });
    expect(report.validation_errors.length).toBe(2);
    expect(report.action_logs.map(({ status }) => status)).toEqual(Array(report.action_logs.length).fill('SKIPPED'));
    expect(await changedPaths(project, commit)).toEqual([`added ${dir}/01/report.md`]);
    expect(await say(project, 'Better', 'Yes.')).toMatchObject({ turn: '02' });
  });

  test('is detected even if nobody can be asked', async () => {
    const project = await pending([create('README.md')]);
    expect((await run(project, { approver: null })).report.run_summary.status).toBe('VALIDATION_FAILED');
  });

  test('because of a later edit is reported for the current files', async () => {
    const project = await pending([edit]);
    await project.write({ 'src/a.ts': 'const b = 1;\n' });
    const { report } = await run(project);
    expect(report.run_summary.status).toBe('VALIDATION_FAILED');
    expect(await storyOfLine(project)).toEqual([
      "'First commit'",
      'start',
      'message 01',
      'plan 01',
      'snapshot 01',
      'report 01',
    ]);
  });
});

describe('a run is refused', () => {
  slowTest('without a pending plan, with the next step', async () => {
    const project = await given.session();
    await expect(run(project)).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
    await say(project, 'Do it', null);
    await expect(run(project)).rejects.toMatchObject({
      code: 'NO_PENDING_PLAN',
      hint: '`teddy plan` asks the model again; with `--from <file>` it uses an answer of your own.',
    });
    await say(project, undefined, planOf([create('a.txt')]));
    await run(project);
    await expect(run(project)).rejects.toMatchObject({
      code: 'NO_PENDING_PLAN',
      message: expect.stringContaining('closed'),
    });
  });

  test('if the plan was changed since it was published, even by a commit', async () => {
    const project = await pending([create('a.txt')]);
    await project.write({ [`${dir}/01/plan.md`]: planOf([create('evil.txt')]) });
    await expect(run(project)).rejects.toMatchObject({ code: 'PLAN_MODIFIED' });
    await project.commit('Change the plan\n');
    await expect(run(project)).rejects.toMatchObject({ code: 'PLAN_MODIFIED' });
    expect(await project.read('evil.txt')).toBeNull();
  });

  test('in the middle of a merge', async () => {
    const project = await pending([create('a.txt')]);
    project.state.operation = 'merge';
    await expect(run(project)).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
  });

  test('while another process executes the turn, without disturbing that process', async () => {
    const project = await pending([command('slow')]);
    project.command.run = async () => {
      await expect(run(project)).rejects.toMatchObject({ code: 'LOCKED' });
      return {};
    };
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
  });

  test('with a setting that is not a number of seconds', async () => {
    const project = await pending([create('a.txt')]);
    project.configuration.set('teddy.timeout', 'soon');
    await expect(run(project)).rejects.toMatchObject({ code: 'BAD_SETTING' });
  });
});

describe('a lost race', () => {
  test('against a user’s commit keeps that commit, and the report goes on top', async () => {
    const project = await pending([create('a.txt')]);
    const racing = withRace(project, () => project.commit('Mine\n', { 'own.txt': 'x\n' }));
    const { commit, report } = await run(racing);
    expect((await storyOfLine(project)).slice(-3)).toEqual(['plan 01', "'Mine'", 'report 01']);
    expect(await project.readAt(commit, 'own.txt')).toBe('x\n');
    expect(report.changes.map(({ path }) => path)).toEqual(['a.txt']);
  });

  test('against a rewritten line is REF_MOVED, and the actions’ results are kept as a report blob', async () => {
    const project = await pending([create('a.txt')]);
    const { parents } = await project.repository.store.readCommit(await project.tipOf(line));
    const racing = withRace(project, () => project.setRef(`refs/heads/${line}`, parents[0] as Oid));
    await expect(run(racing)).rejects.toMatchObject({
      code: 'REF_MOVED',
      hint: expect.stringMatching(/git cat-file -p [0-9a-f]{40}/),
    });
  });

  test('leaves the journal, from which the next run makes the report without repeating anything', async () => {
    const project = await pending([create('a.txt')]);
    const { repository } = project;
    const failing = { ...repository.workspace, publish: () => Promise.reject(new TeddyError('LOCKED', 'Locked.')) };
    const unlucky = { ...project, repository: { ...repository, workspace: failing } };
    await expect(run(unlucky)).rejects.toMatchObject({ code: 'LOCKED' });
    await expect(run(project)).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });
    const asking = approver();
    const { report } = await run(project, { approver: asking, interrupted: 'resume' });
    expect(asking.asked).toEqual([]);
    expect(report.run_summary.status).toBe('SUCCESS');
    expect(report.changes.map(({ path }) => path)).toEqual(['a.txt']);
    expect(project.left.size).toBe(0);
  });
});

describe('a user’s work since the plan', () => {
  test('is a user’s snapshot before the run, with the turn in its label', async () => {
    const project = await pending([create('a.txt')]);
    await project.write({ 'README.md': '# Mine\n' });
    const { report } = await run(project, { approver: approveAll() });
    expect((await storyOfLine(project)).slice(-3)).toEqual(['plan 01', 'snapshot 01', 'report 01']);
    expect(report.changes.map(({ path }) => path)).toEqual(['a.txt']);
  });

  test('stays untracked if it was not added, even beside the run’s new files', async () => {
    const project = await pending([create('dir/a.txt')]);
    await project.write({ 'dir/mine.txt': 'mine\n' });
    const { commit } = await run(project);
    expect(await project.readAt(commit, 'dir/mine.txt')).toBeNull();
    expect(await project.read('dir/mine.txt')).toBe('mine\n');
  });
});
