/** The next step on a line. */
import { expect } from 'vitest';
import type { TurnName } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { findNextStep } from '../../../src/workflow/turn/find-next-step.ts';
import { given } from '../../support/given.ts';
import { chat } from '../../support/chat.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { command, create, line, planOf, run, runUntilKilled, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

async function next(project: MemoryProject, selector?: string): Promise<string> {
  const step = await findNextStep(project, selector);
  return step.kind === 'message' ? step.kind : `${step.kind} ${step.turn}`;
}

slowTest('a new session waits for a message, and so does one whose turn has its report', async () => {
  const project = await given.session();
  expect(await next(project)).toBe('message');
  await turn(project, 'One', create('one.txt'));
  expect(await next(project)).toBe('message');
});

test('a message without an answer is to be asked next, a plan without a report to be executed', async () => {
  const project = await given.session();
  await say(project, 'One', null);
  expect(await next(project)).toBe('ask 01');
  await say(project, undefined, planOf([create('one.txt')]));
  expect(await next(project)).toBe('execute 01');
  await run(project);
  await say(project, 'Two', null);
  expect(await next(project)).toBe('ask 02');
});

test('an answer that is not a plan closes its turn, and so does a report of problems', async () => {
  const project = await given.session();
  await say(project, 'One', 'Which one?');
  expect(await next(project)).toBe('message');
  await say(project, 'Two', planOf([create('README.md')]));
  expect(await next(project)).toBe('execute 02');
  const { report } = await run(project);
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(await next(project)).toBe('message');
});

test('a plan whose run was killed is still to be executed', async () => {
  const project = await given.session();
  await say(project, 'One', planOf([command('make')]));
  await runUntilKilled(project);
  expect(project.left.size).toBe(1);
  expect(await next(project)).toBe('execute 01');
});

slowTest('a turn that a branch has opened without a message waits for one', async () => {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await branchSession(project, { turn: '01' as TurnName, switch: true });
  expect(await next(project)).toBe('message');
  await say(project, 'Otherwise', null);
  expect(await next(project)).toBe('ask 01-branch-01');
});

test('a message in a conversation waits for its answer there', async () => {
  const project = await given.session();
  await chat(project, 'One', null);
  expect(await findNextStep(project, undefined)).toMatchObject({ kind: 'ask', turn: '01', mode: 'chat' });
  await chat(project, undefined, 'Answer.');
  await say(project, 'mode: chat', null);
  expect(await findNextStep(project, undefined)).toMatchObject({ kind: 'ask', turn: '02', mode: 'plan' });
});

test('a killed command’s partial answer is not touched by looking', async () => {
  const project = await given.session();
  await say(project, 'One', null);
  const place = {
    id: '019bf000-0000-7000-8000-00000000abcd',
    session,
    turn: '01',
    ref: `refs/heads/${line}`,
    recordCount: 1,
    provider: 'openai',
    model: 'gpt-test',
    agent: 'pathfinder',
  };
  project.staged.push({ place: place as never, text: 'Half an ans' });
  const tip = await project.tipOf(line);
  expect(await next(project)).toBe('ask 01');
  expect(project.staged).toHaveLength(1);
  expect(await project.tipOf(line)).toBe(tip);
});

test('the named line counts, wherever HEAD is, even one that only a remote has', async () => {
  const project = await given.session();
  await say(project, 'One', null);
  await project.setRef('refs/remotes/origin/teddy/20260125-elsewhere', await project.tipOf(line));
  await project.switchTo('main');
  await start(project, 'other');
  expect(await next(project)).toBe('message');
  expect(await next(project, 'add-login')).toBe('ask 01');
  expect(await next(project, 'elsewhere')).toBe('ask 01');
  expect(await findNextStep(project, 'elsewhere')).toMatchObject({ line: { tip: null, workspace: null } });
  await expect(next(project, 'nowhere')).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
});
