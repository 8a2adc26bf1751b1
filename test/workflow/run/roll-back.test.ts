/**
 * `--rollback`: a run that does not finish restores the files it has changed. With real git:
 * test/git/roll-back.test.ts.
 */
import { expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { Project } from '../../../src/ports/project.ts';
import { rollBackRun } from '../../../src/workflow/run/settle.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { approver, command, create, edit, planOf, run, runUntilKilled, say } from '../../support/turns.ts';

async function pending(...actions: string[]): Promise<MemoryProject> {
  const project = await given.session({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  await say(project, 'Do it', planOf(actions));
  project.command.run = async (script) => {
    if (script.trim() === 'fail') return { exitCode: 3 };
    await project.write({ 'a.txt': 'by the command\n', 'b.txt': null, 'made.txt': 'made\n', 'own.txt': 'edited\n' });
    return {};
  };
  await project.write({ 'own.txt': 'own\n' });
  return project;
}

const actions = [edit('a.txt', 'a', 'A'), create('p/new.txt'), command('work'), command('fail'), create('never.txt')];

async function expectBack(project: MemoryProject): Promise<void> {
  expect(await project.repository.workspace.status({ untracked: true })).toEqual({
    edits: [],
    unmerged: [],
    untracked: ['own.txt'],
  });
  expect(await project.read('own.txt')).toBe('own\n');
}

test('a failed run is reported with the restored files, and no change', async () => {
  const project = await pending(...actions);
  const { report } = await run(project, { rollback: true });
  expect(report.run_summary).toMatchObject({ status: 'FAILURE', error: 'action 4 (EXECUTE) failed' });
  expect(report.rollback?.restored.toSorted()).toEqual(['a.txt', 'b.txt', 'made.txt', 'own.txt', 'p/new.txt']);
  expect(report.changes).toEqual([]);
  expect(project.left.size).toBe(0);
  await expectBack(project);
});

test.each([
  ['without the option', {}],
  ['with success', { rollback: true, only: [1, 2, 3] }],
])('a run that ends %s keeps its changes', async (_, more) => {
  const project = await pending(...actions);
  const { report } = await run(project, more);
  expect(report.rollback).toBeUndefined();
  expect(await project.read('a.txt')).toBe('by the command\n');
});

test('a run that the user stops is rolled back', async () => {
  const project = await pending(...actions);
  const { report } = await run(project, { rollback: true, approver: approver(['yes', 'yes', 'yes', 'quit']) });
  expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'stopped by the user' });
  await expectBack(project);
});

test('a rollback that is killed in the middle is finished by the next one, and is not resumed as a run', async () => {
  const project = await pending(...actions);
  await runUntilKilled(project);
  let count = 0;
  const dying: Project = {
    ...project,
    filesOf: (root) => {
      const files = project.filesOf(root);
      return {
        ...files,
        async putState(...args) {
          count += 1;
          if (count === 2) throw new Error('killed');
          await files.putState(...args);
        },
      };
    },
  };
  await expect(rollBackRun(dying, {})).rejects.toThrow('killed');
  await expect(run(project)).rejects.toThrow(/while its files were being restored/);
  expect((await rollBackRun(project, {})).failed).toEqual([]);
  await expectBack(project);
});

test('a command’s changes are restored even if they could not be examined when the command ended', async () => {
  const project = await pending(command('work'));
  const { workspace } = project.repository;
  const { headAndScan } = workspace;
  const { run: work } = project.command;
  project.command.run = async (...args) => {
    workspace.headAndScan = () => {
      workspace.headAndScan = headAndScan;
      return Promise.reject(new TeddyError('SNAPSHOT_FAILED', 'No.'));
    };
    return work(...args);
  };
  const { report } = await run(project, { rollback: true });
  expect(report.action_logs[0]).toMatchObject({ status: 'FAILURE', details: { reason: 'No. [SNAPSHOT_FAILED]' } });
  expect(report.rollback?.restored.toSorted()).toEqual(['a.txt', 'b.txt', 'made.txt', 'own.txt']);
  await expectBack(project);
});

test('a run counts as rolled back only once every file is: saved content stays, and a retry finishes it', async () => {
  const project = await pending(...actions);
  const closed: string[] = [];
  const full: Project = {
    ...project,
    journals: {
      ...project.journals,
      async find(place) {
        const left = await project.journals.find(place);
        return left && { ...left, journal: { ...left.journal, close: async () => void closed.push(place.turn) } };
      },
    },
    filesOf: (root) => {
      const files = project.filesOf(root);
      return {
        ...files,
        async putState(path, state) {
          if (path === 'own.txt') throw new TeddyError('DISK_FULL', 'own.txt could not be put back: it is full.');
          await files.putState(path, state);
        },
      };
    },
  };
  await expect(run(full, { rollback: true })).rejects.toMatchObject({
    code: 'ROLLBACK_INCOMPLETE',
    message: 'Turn 01 could not be rolled back completely. Not restored: own.txt.',
  });
  await expect(rollBackRun(full, {})).rejects.toMatchObject({ code: 'ROLLBACK_INCOMPLETE' });
  expect(closed).toContain('01');
  const { report } = await run(project, { interrupted: 'resume' });
  expect(report.rollback).toMatchObject({ restored: ['own.txt'], left: [] });
  expect(report.run_summary).toMatchObject({ status: 'FAILURE', error: 'action 4 (EXECUTE) failed' });
  await expectBack(project);
});

test('somebody’s later edit to one of the run’s files is moved aside, and reported', async () => {
  const project = await pending(...actions);
  await runUntilKilled(project);
  await project.write({ 'p/new.txt': 'mine\n' });
  const [journal] = project.left.values();
  const { aside } = await rollBackRun(project, {});
  expect(aside.map(({ path }) => path)).toContain('p/new.txt');
  expect(Buffer.from(journal?.aside.get('p/new.txt') ?? []).toString()).toBe('mine\n');
  expect(project.said.at(-1)).toContain('p/new.txt');
  await expectBack(project);
});
