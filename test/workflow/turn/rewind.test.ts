import { expect } from 'vitest';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { findLine } from '../../../src/workflow/line/find.ts';
import { rewindTurn } from '../../../src/workflow/turn/rewind.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { given } from '../../support/given.ts';
import { create, line, planOf, say, session, storyOfLine, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

test('a rewind goes to a turn at its report, not at its undo, and the next turn follows it', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await undoTurn(project, {});
  const rewound = await rewindTurn(project, { turn: '01' });
  const branch = `${line}--02-branch-01`;
  expect(rewound).toMatchObject({ ref: `refs/heads/${branch}`, turn: '01' });
  expect((await storyOfLine(project, branch)).at(-1)).toBe('report 01');
  expect(await project.read('one.txt')).toBe('one.txt\n');
  expect(await findLine(project)).toMatchObject({ ref: `refs/heads/${branch}`, session, found: 'head' });
  expect(await say(project, 'Two', planOf([create('two.txt')]))).toMatchObject({ turn: '02' });
});

test('a turn that has not ended is refused, and nothing is made', async () => {
  const project = await given.session();
  await say(project, 'One', null);
  await expect(rewindTurn(project, { turn: '01' })).rejects.toMatchObject({
    code: 'TURN_OPEN',
    message: expect.stringContaining('you cannot go back to its end: it is waiting for an answer.'),
    hint: `To go back to its beginning: \`teddy branch 01 -s ${line}\`.`,
  });
  await say(project, undefined, planOf([create('one.txt')]));
  await expect(rewindTurn(project, { turn: '01' })).rejects.toMatchObject({ code: 'PLAN_PENDING' });
  expect(await project.repository.store.listRefs(`refs/heads/${line}--`)).toEqual([]);
  await branchSession(project, { turn: '01', switch: true });
  await expect(rewindTurn(project, { turn: '01-branch-01' })).rejects.toMatchObject({
    code: 'TURN_OPEN',
    message: expect.stringContaining('you cannot go back to its end: it has no message yet.'),
  });
});

test('the hint back is a working command: on a detached HEAD, and on a branch whose name needs quoting', async () => {
  const project = await given.session();
  await say(project, 'One', planOf([create('one.txt')]));
  const tip = await project.tipOf(line);
  await project.detach();
  await expect(rewindTurn(project, { turn: '01' })).rejects.toMatchObject({
    message: `Turn 01 of ${session} has not ended, so you cannot go back to its end: its plan is pending.`,
    hint: 'To go back to its beginning: `teddy branch 01`.',
  });
  await project.switchTo('a&b', tip);
  await expect(rewindTurn(project, { turn: '01' })).rejects.toMatchObject({
    hint: "To go back to its beginning: `teddy branch 01 -s 'a&b'`.",
  });
});

slowTest('the branch takes the first free name', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  await branchSession(project, { turn: '02', switch: false });
  expect((await rewindTurn(project, { turn: '01' })).ref).toBe(`refs/heads/${line}--02-branch-02`);
});

test('edits in the way stop the rewind, and the branch is removed again', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  await project.write({ 'two.txt': 'mine\n' });
  await expect(rewindTurn(project, { turn: '01' })).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
  expect(await project.repository.store.resolve(`refs/heads/${line}--02-branch-01`)).toBeNull();
  expect((await findLine(project)).ref).toBe(`refs/heads/${line}`);
});
