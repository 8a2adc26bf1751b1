import { expect, test } from 'vitest';
import type { RepoPath } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { approver, command, create, line, memos, planOf, run, say, turn } from '../../support/turns.ts';

const editOfMade =
  '### EDIT\n- **File Path:** made.txt\n\n#### FIND:\n```\nmade\n```\n#### REPLACE:\n```\nedited\n```\n';

const pending = (...actions: string[]) => given.plannedTurn(actions);

test('actions that are not selected are skipped, and the others keep their numbers', async () => {
  const project = await pending(create('one.txt'), create('two.txt'), create('three.txt'));
  const person = approver();
  const { report } = await run(project, { approver: person, only: [1, 2], skip: [1] });
  expect(person.asked).toEqual(['2 CREATE']);
  expect(report.run_summary.status).toBe('SUCCESS');
  expect(report.action_logs.map(({ status, details }) => [status, details?.reason])).toEqual([
    ['SKIPPED', 'not selected'],
    ['SUCCESS', undefined],
    ['SKIPPED', 'not selected'],
  ]);
  expect(report.changes.map(({ path, action }) => [path, action])).toEqual([['two.txt', 2]]);
});

test('only the selected actions have to be valid', async () => {
  const project = await pending(create('one.txt'), editOfMade);
  expect((await run(project, { only: [1] })).report.run_summary.status).toBe('SUCCESS');
});

test('an edit of a file that a skipped action would have made is invalid', async () => {
  const project = await pending(create('made.txt', 'made\n'), editOfMade);
  await project.write({ 'README.md': 'an edit\n' });
  const tip = await project.tipOf(line);
  const person = approver();
  await expect(run(project, { approver: person, skip: [1] })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    message: expect.stringMatching(
      /^The chosen actions are not valid on their own: plan\.md:\d+:\d+: EDIT made\.txt: /,
    ),
    hint: expect.stringContaining('the plan is still pending'),
  });
  expect(person.asked).toEqual([]);
  expect(await project.tipOf(line)).toBe(tip);
  expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
});

test('if all actions are selected, an invalid plan is reported', async () => {
  const project = await pending(create('one.txt'), editOfMade);
  const { report } = await run(project, { only: [1, 2] });
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(report.validation_errors.map(({ action }) => action)).toEqual([2]);
});

test('several problems in a selection are counted, and memos are not asked about', async () => {
  const project = await given.session();
  await say(project, 'Do it', planOf([create('made.txt', 'made\n'), editOfMade, editOfMade], memos('[+] A fact')));
  let questions = 0;
  const ask = async () => (questions += 1) > 0;
  await expect(run(project, { skip: [1], memos: { kind: 'ask', ask } })).rejects.toMatchObject({
    message: expect.stringContaining('It is the first of 2 problems.'),
  });
  expect(questions).toBe(0);
});

test('a selected file outside the sparse checkout is refused before the snapshot', async () => {
  const project = await given.session();
  await turn(project, 'Hide', create('hidden.txt'));
  await say(project, 'Do it', planOf([create('one.txt'), create('hidden.txt')]));
  await project.write({ 'README.md': 'an edit\n' });
  const { workspace } = project.repository;
  const missing = (path: string) => path === 'hidden.txt';
  const sparse = {
    ...project,
    filesOf: (root: string) => {
      const files = project.filesOf(root);
      const inspect: typeof files.inspect = async (path) => (missing(path) ? { kind: 'absent' } : files.inspect(path));
      return { ...files, inspect };
    },
    repository: {
      ...project.repository,
      workspace: {
        ...workspace,
        readDisk: async (path: RepoPath) => (missing(path) ? null : workspace.readDisk(path)),
      },
    },
  };
  const tip = await project.tipOf(line);
  await expect(run(sparse, { only: [2] })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    message: expect.stringContaining('outside the sparse checkout'),
  });
  expect(await project.tipOf(line)).toBe(tip);
});

test('after a failure, an action that was not selected keeps that reason', async () => {
  const project = await pending(command('make'), create('one.txt'), create('two.txt'));
  project.command.run = async () => ({ exitCode: 1 });
  const { report } = await run(project, { skip: [2] });
  expect(report.action_logs.map(({ details }) => details?.reason)).toEqual([
    undefined,
    'not selected',
    'an earlier action failed',
  ]);
});

test.each([
  [{ only: [4] }, '--only: there is no action 4.'],
  [{ skip: [0] }, '--skip: there is no action 0.'],
  [{ only: [1], skip: [1] }, 'No action in the plan is left to run.'],
])('%j is refused, and the plan stays pending', async (selection, message) => {
  const project = await pending(create('one.txt'), create('two.txt'));
  const tip = await project.tipOf(line);
  await expect(run(project, selection)).rejects.toMatchObject({ code: 'USAGE', message });
  expect(await project.tipOf(line)).toBe(tip);
  expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
});
