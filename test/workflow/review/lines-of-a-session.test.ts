/** Holds what the view tells of several lines of one session. */
import { expect } from 'vitest';
import type { RefName, SessionId } from '../../../src/names.ts';
import { listLines } from '../../../src/session/lines.ts';
import { findPlanned, readLines } from '../../../src/view/view.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test } from '../../support/slow-test.ts';

const beside = `${line}--01-branch-01`;

/** One turn, an attempt beside it that goes on with words, and a plan that waits on the main line. */
async function open(): Promise<MemoryProject> {
  const project = await memoryProject();
  await start(project);
  await turn(project, 'One', create('one.txt'));
  await branchSession(project, { turn: '01', switch: false });
  await say(project, 'Otherwise', 'Words.', { selector: beside });
  await say(project, 'Two', planOf([create('two.txt')]));
  return project;
}

test('each commit is a step of the first line that has it, and a later line says where it leaves that', async () => {
  const project = await open();
  const lines = await Promise.all(
    [line, beside, line, 'main'].map(async (name) => ({ name, tip: await project.tipOf(name) })),
  );
  const parts = await readLines(project.repository.store, session as SessionId, lines);
  const told = parts.map(({ line: { name }, steps, hasStart }) => ({
    name,
    steps: steps.map(({ entry }) => `${entry?.kind} ${entry?.turn ?? '-'}`),
    hasStart,
  }));
  const [main, other, again] = parts;
  expect(told).toEqual([
    {
      name: line,
      steps: ['start -', 'message 01', 'plan 01', 'report 01', 'message 02', 'plan 02'],
      hasStart: true,
    },
    { name: beside, steps: ['branch 01-branch-01', 'message 01-branch-01', 'reply 01-branch-01'], hasStart: false },
    { name: line, steps: [], hasStart: false },
  ]);
  expect([main?.leaves, main?.below]).toEqual([null, await project.tipOf('main')]);
  const left = main?.steps.find(({ commit }) => commit === other?.below);
  expect(left?.entry?.kind).toBe('start');
  expect(other?.leaves).toEqual({ commit: other?.below, part: main });
  expect(again?.leaves).toEqual({ commit: lines[0]?.tip, part: main });
});

test('the lines on which a plan waits are found, the newest first, also where a question came after it', async () => {
  const project = await open();
  const refsOf = async () => {
    const lines = (await listLines(project)).filter(({ remote }) => remote === null);
    return (await findPlanned(project, lines)).map(({ ref }) => ref);
  };
  const [main, other] = [`refs/heads/${line}`, `refs/heads/${beside}`] as RefName[];
  expect(await refsOf()).toEqual([main]);
  await say(project, 'Three', planOf([create('three.txt')]), { selector: beside });
  expect(await refsOf()).toEqual([other, main]);
  await say(project, 'Why two?', 'So.', { selector: line, mode: 'ask' });
  expect(await refsOf()).toEqual([main, other]);
});
