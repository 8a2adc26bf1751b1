/** A killed run: the next command reports where it stopped, and the run is resumed, kept as is, or rolled back. */
import { describe, expect } from 'vitest';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import type { Project } from '../../../src/ports/project.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import type { ExecuteRequest } from '../../../src/workflow/run/execute-plan.ts';
import { rollBackRun } from '../../../src/workflow/run/settle.ts';
import { InterruptedRun } from '../../../src/workflow/line/unfinished-run.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import {
  approveAll,
  approver,
  command,
  create,
  edit,
  memos,
  planOf,
  run,
  say,
  session,
  storyOfLine,
} from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}/01`;

/** Commands are `path=content`; `long` prints more than a report shows. */
async function pending(actions: string[], ...sections: string[]): Promise<MemoryProject> {
  const project = await given.session({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  await say(project, 'Do it', planOf(actions, ...sections));
  scripted(project);
  return project;
}

const lines = Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join('');

function scripted(project: MemoryProject): string[] {
  const ran: string[] = [];
  project.command.run = async (script) => {
    const [path = '', text = ''] = script.trim().split('=');
    ran.push(script.trim());
    if (path === 'long') return { stdout: lines };
    if (path === 'fail') return { exitCode: 3 };
    await project.write({ [path]: `${text}\n` });
    return {};
  };
  return ran;
}

/** Dies in the command equal to `script`, after it was run. */
async function killIn(project: MemoryProject, script: string, more: Partial<ExecuteRequest> = {}): Promise<void> {
  const { run: before } = project.command;
  project.command.run = async (...args) => {
    const result = await before(...args);
    if (args[0].trim() === script) throw new Error('killed');
    return result;
  };
  await expect(run(project, more)).rejects.toThrow('killed');
  project.command.run = before;
}

/** Dies inside teddy itself: in the first call of `name` on the files that `at` accepts. */
async function killInFiles(project: MemoryProject, name: 'install' | 'inspect', at: (path: string) => boolean) {
  const killed: Project = {
    ...project,
    filesOf: (root) => {
      const files = project.filesOf(root);
      return {
        ...files,
        async install(path, ...more) {
          if (name === 'inspect' && at(path)) throw new Error('killed');
          await files.install(path, ...more);
          if (at(path)) throw new Error('killed');
        },
      };
    },
  };
  await expect(run(killed)).rejects.toThrow('killed');
}

/** Dies after the last action, before the report. */
async function killBeforeReport(project: MemoryProject, more: Partial<ExecuteRequest> = {}): Promise<void> {
  const { publish } = project.repository.workspace;
  project.repository.workspace.publish = () => Promise.reject(new Error('killed'));
  await expect(run(project, more)).rejects.toThrow('killed');
  project.repository.workspace.publish = publish;
}

const statuses = ({ report }: Awaited<ReturnType<typeof run>>) =>
  report.action_logs.map(({ index, status }) => `${index} ${status}`);
const changes = ({ report }: Awaited<ReturnType<typeof run>>) =>
  report.changes.map(({ path, action }) => `${path} by ${action}`);
const resume = (project: MemoryProject, more: Partial<ExecuteRequest> = {}) =>
  run(project, { interrupted: 'resume', ...more });
const keep = (project: MemoryProject) => run(project, { interrupted: 'keep' });

const three = [command('one.txt=1'), command('two.txt=2'), command('three.txt=3')];

describe('after a crash in the second of three commands', () => {
  async function crashed(): Promise<MemoryProject> {
    const project = await pending(three);
    await killIn(project, 'two.txt=2');
    return project;
  }

  slowTest('executing reports the interrupted action, and changes nothing until that is settled', async () => {
    const project = await crashed();
    const error: unknown = await run(project).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InterruptedRun);
    expect(error).toMatchObject({ code: 'RUN_INTERRUPTED', run: { interrupted: { action: 2 } } });
    expect((error as Error).message).toContain('action 2');
    await expect(say(project, 'More', planOf([]))).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });
    await expect(branchSession(project, { turn: '01', switch: false })).rejects.toMatchObject({
      code: 'RUN_INTERRUPTED',
    });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'plan 01']);
  });

  slowTest('resuming reports it as a failure, runs the third and never repeats the first two', async () => {
    const project = await crashed();
    const ran = scripted(project);
    const outcome = await resume(project);
    expect(ran).toEqual(['three.txt=3']);
    expect(statuses(outcome)).toEqual(['1 SUCCESS', '2 FAILURE', '3 SUCCESS']);
    expect(outcome.report.run_summary).toMatchObject({
      status: 'FAILURE',
      error: 'the run was interrupted in action 2',
    });
    expect(changes(outcome)).toEqual(['one.txt by 1', 'three.txt by 3', 'two.txt by 2']);
    expect(project.left.size).toBe(0);
    await expect(resume(project)).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
  });

  slowTest('keeping reports it as aborted with its changes, and the rest as skipped', async () => {
    const project = await crashed();
    const ran = scripted(project);
    const outcome = await keep(project);
    expect(ran).toEqual([]);
    expect(statuses(outcome)).toEqual(['1 SUCCESS', '2 ABORTED', '3 SKIPPED']);
    expect(outcome.report.run_summary.status).toBe('ABORTED');
    expect(changes(outcome)).toEqual(['one.txt by 1', 'two.txt by 2']);
    expect(project.left.size).toBe(0);
  });

  slowTest('rolling back leaves the plan pending, and a second time there is nothing to roll back', async () => {
    const project = await crashed();
    await rollBackRun(project, {});
    expect(await project.repository.workspace.status({ untracked: true })).toMatchObject({ edits: [], untracked: [] });
    await expect(rollBackRun(project, {})).rejects.toMatchObject({ code: 'NO_INTERRUPTED_RUN' });
    await expect(resume(project)).rejects.toMatchObject({ code: 'NO_INTERRUPTED_RUN' });
    expect(statuses(await run(project))).toEqual(['1 SUCCESS', '2 SUCCESS', '3 SUCCESS']);
  });

  test('resuming with selected actions runs the remaining ones among them', async () => {
    const project = await pending([...three, command('four.txt=4')]);
    await killIn(project, 'two.txt=2');
    const ran = scripted(project);
    const outcome = await resume(project, { only: [1, 4] });
    expect(ran).toEqual(['four.txt=4']);
    expect(statuses(outcome)).toEqual(['1 SUCCESS', '2 FAILURE', '3 SKIPPED', '4 SUCCESS']);
  });

  slowTest('resuming is refused while actions are left and nobody can be asked, and changes nothing', async () => {
    const project = await crashed();
    const before = [...project.left.values()].map(({ text }) => text);
    await expect(resume(project, { approver: null })).rejects.toMatchObject({ code: 'NOT_APPROVED' });
    expect([...project.left.values()].map(({ text }) => text)).toEqual(before);
    expect(await project.read('two.txt')).toBe('2\n');
    const chosen = await resume(project, { approver: null, only: [1, 2] });
    expect(statuses(chosen)).toEqual(['1 SUCCESS', '2 FAILURE', '3 SKIPPED']);
  });

  slowTest('a second crash loses nothing from the first, wherever it comes', async () => {
    const project = await crashed();
    await killIn(project, 'three.txt=3', { interrupted: 'resume' });
    const outcome = await resume(project);
    expect(statuses(outcome)).toEqual(['1 SUCCESS', '2 FAILURE', '3 FAILURE']);
    expect(changes(outcome)).toEqual(['one.txt by 1', 'three.txt by 3', 'two.txt by 2']);
    const other = await crashed();
    await killBeforeReport(other, { interrupted: 'resume' });
    expect((await resume(other)).report.run_summary).toMatchObject({
      status: 'FAILURE',
      error: 'the run was interrupted in action 2',
    });
    const kept = await crashed();
    await killBeforeReport(kept, { interrupted: 'keep' });
    expect((await keep(kept)).report.run_summary.status).toBe('ABORTED');
  });

  slowTest('a user’s later edit is in the report with the action’s changes', async () => {
    const project = await crashed();
    await project.write({ 'a.txt': 'mine\n' });
    const outcome = await keep(project);
    expect(changes(outcome)).toContain('a.txt by 2');
  });
});

describe('after a crash in a write', () => {
  test.each([
    ['CREATE', create('new.txt'), 'new.txt'],
    ['EDIT', edit('a.txt', 'a', 'A'), 'a.txt'],
  ])('that had finished its %s, the report has the file', async (_, action, path) => {
    const project = await pending([action, create('z.txt')]);
    await killInFiles(project, 'install', (at) => at === path);
    const outcome = await resume(project);
    expect(statuses(outcome)).toEqual(['1 FAILURE', '2 SUCCESS']);
    expect(outcome.report.action_logs[0]?.details?.reason).toBe(`the run was interrupted in it; ${path} was written`);
    expect(changes(outcome)).toEqual([`${path} by 1`, 'z.txt by 2']);
  });

  test.each([
    ['CREATE', create('new.txt'), 'new.txt'],
    ['EDIT', edit('a.txt', 'a', 'A'), 'a.txt'],
  ])('that had not finished its %s, the report says so', async (_, action, path) => {
    const project = await pending([action]);
    await killInFiles(project, 'inspect', (at) => at === path);
    const outcome = await keep(project);
    expect(statuses(outcome)).toEqual(['1 ABORTED']);
    expect(outcome.report.action_logs[0]?.details?.reason).toBe(
      `the run was interrupted in it; ${path} was not written`,
    );
    expect(changes(outcome)).toEqual([]);
  });
});

describe('a crash while files are restored', () => {
  const dying = (project: MemoryProject): Project => ({
    ...project,
    filesOf: (root) => ({ ...project.filesOf(root), putState: () => Promise.reject(new Error('killed')) }),
  });

  slowTest('after a failure: resuming restores the rest, and the report marks the run as failed', async () => {
    const project = await pending([edit('a.txt', 'a', 'A'), create('new.txt'), command('fail'), create('z.txt')]);
    await expect(run(dying(project), { rollback: true })).rejects.toThrow('killed');
    await expect(run(project)).rejects.toThrow(
      'The run of turn 01 was interrupted while its files were being restored.',
    );
    const outcome = await resume(project);
    expect(outcome.report.run_summary).toMatchObject({ status: 'FAILURE', error: 'action 3 (EXECUTE) failed' });
    expect(outcome.report.rollback?.restored.toSorted()).toEqual(['a.txt', 'new.txt']);
    expect([await project.read('a.txt'), await project.read('new.txt')]).toEqual(['a\n', null]);
    expect(changes(outcome)).toEqual([]);
  });

  slowTest('after a complete run: all of it is undone, so it is not a success', async () => {
    const project = await pending([edit('a.txt', 'a', 'A')]);
    await killBeforeReport(project);
    await expect(rollBackRun(dying(project), {})).rejects.toThrow('killed');
    const outcome = await resume(project);
    expect(outcome.report.run_summary).toMatchObject({ status: 'FAILURE', error: 'it was rolled back' });
    expect(await project.read('a.txt')).toBe('a\n');
  });

  slowTest('with keeping leaves the files that are not restored yet, and reports them', async () => {
    const project = await pending([edit('a.txt', 'a', 'A'), command('fail')]);
    await expect(run(dying(project), { rollback: true })).rejects.toThrow('killed');
    const outcome = await keep(project);
    expect(outcome.report.rollback).toBeUndefined();
    expect(changes(outcome)).toEqual(['a.txt by 1']);
  });
});

slowTest('a crash before the first action leaves nothing to settle', async () => {
  const project = await pending(three);
  const dying = { ...approveAll(), action: () => Promise.reject(new Error('killed')) };
  await expect(run(project, { approver: dying })).rejects.toThrow('killed');
  expect(project.left.size).toBe(0);
  expect(statuses(await run(project))).toEqual(['1 SUCCESS', '2 SUCCESS', '3 SUCCESS']);
});

slowTest('after a crash between two actions, neither is reported as interrupted', async () => {
  const project = await pending(three);
  const asked = approver();
  const dying = {
    ...asked,
    action: (shown: Parameters<typeof asked.action>[0]) =>
      shown.action.index === 2 ? Promise.reject(new Error('killed')) : asked.action(shown),
  };
  await expect(run(project, { approver: dying })).rejects.toThrow('killed');
  await expect(run(project)).rejects.toThrow(/after action 1/);
  const outcome = await resume(project);
  expect(statuses(outcome)).toEqual(['1 SUCCESS', '2 SUCCESS', '3 SUCCESS']);
  expect(outcome.report.run_summary.status).toBe('SUCCESS');
});

test.each([
  ['succeeded', three, 'SUCCESS', null],
  ['failed', [command('one.txt=1'), command('fail'), command('three.txt=3')], 'FAILURE', 'action 2 (EXECUTE) failed'],
])('after a crash in a run that had %s, keeping reports the result', async (_, actions, status, error) => {
  const project = await pending(actions);
  await killBeforeReport(project);
  const outcome = await keep(project);
  expect(outcome.report.run_summary).toMatchObject({ status, error });
});

test('a resumed run has the outputs, times and memos from before the crash, without asking for them again', async () => {
  const project = await pending([command('long'), command('two.txt=2')], memos('[+] a fact'));
  await killIn(project, 'two.txt=2', { memos: { kind: 'yes' } });
  const { commit, report } = await resume(project, {
    memos: { kind: 'ask', ask: () => Promise.reject(new Error('asked again')) },
  });
  expect(report.memos.added).toEqual(['a fact']);
  expect(await project.readAt(commit, `${dir}/output/1.log`)).toContain('line 0\n');
  expect(report.action_logs[0]?.details).toMatchObject({ output_file: 'output/1.log' });
  expect(parseReport((await project.readAt(commit, `${dir}/report.md`)) ?? '')).toEqual(report);
  expect(report.run_summary.start_time < report.run_summary.end_time).toBe(true);
});

slowTest('a journal whose turn has its report is removed silently', async () => {
  const project = await pending(three);
  const saved = new Map<string, unknown>();
  await killIn(project, 'two.txt=2');
  for (const [name, journal] of project.left) saved.set(name, journal);
  await resume(project);
  for (const [name, journal] of saved) project.left.set(name, journal as never);
  project.said.length = 0;
  await say(project, 'More', planOf([]));
  expect(project.left.size).toBe(0);
  expect(project.said.filter((text) => text.startsWith('warning'))).toEqual([]);
});

test('a running plan’s line is locked, and not taken for interrupted', async () => {
  const project = await pending(three);
  let refused: unknown;
  const { run: before } = project.command;
  project.command.run = async (...args) => {
    refused ??= await say(project, 'More', planOf([])).catch((error: unknown) => error);
    return before(...args);
  };
  await run(project);
  expect(refused).toMatchObject({ code: 'LOCKED' });
});

test('a command that rewrites the same bytes does not take a file from the action before it', async () => {
  const project = await pending([edit('a.txt', 'a', 'A'), create('n.txt'), command('a.txt=A'), command('n.txt=n.txt')]);
  expect(changes(await run(project))).toEqual(['a.txt by 1', 'n.txt by 2']);
});

test('a file that no command has touched is copied once in a run, however many commands there are', async () => {
  const project = await pending([command('own.txt=1'), command('two.txt=2'), command('two.txt=3')]);
  await project.write({ 'own.txt': 'own\n', 'other.txt': 'other\n' });
  const kept: string[] = [];
  const watched: Project = {
    ...project,
    journals: {
      ...project.journals,
      begin(place) {
        const journal = project.journals.begin(place);
        return { ...journal, keep: (bytes) => (kept.push(Buffer.from(bytes).toString().trim()), journal.keep(bytes)) };
      },
    },
  };
  await run(watched);
  expect(kept).toEqual(['other', 'own', '1', '2']);
});

slowTest('a run with --rollback restores its files after a crash as well, without the option', async () => {
  const project = await pending([edit('a.txt', 'a', 'A'), command('two.txt=2'), command('fail'), create('z.txt')]);
  await killIn(project, 'two.txt=2', { rollback: true });
  const outcome = await resume(project);
  expect(statuses(outcome)).toEqual(['1 SUCCESS', '2 FAILURE', '3 FAILURE', '4 SKIPPED']);
  expect(outcome.report.rollback?.left).toEqual([]);
  expect(changes(outcome)).toEqual([]);
  expect([await project.read('a.txt'), await project.read('two.txt')]).toEqual(['a\n', null]);
});

test('a dry run after a crash warns that the run has begun', async () => {
  const project = await pending(three);
  await killIn(project, 'two.txt=2');
  const { previewPlan } = await import('../../../src/workflow/run/preview-plan.ts');
  await previewPlan(project, {});
  expect(project.said.at(-1)).toBe(
    'warning: A run of turn 01 has already reached action 2 (EXECUTE two.txt=2); its changes are shown as if they were yours.',
  );
});
