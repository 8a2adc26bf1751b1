/** SIGKILL at any moment of a run, of a roll back, and of what settles a run that was killed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settled } from './check-interrupted.ts';
import { allWays, failEachCall, failEachGit, failedCleanly } from './failure.ts';
import { openStage, type Scene, type Stage } from './scenes.ts';
import {
  atEachStep,
  emptyTally,
  everyNth,
  finish,
  planJobs,
  planRandomKills,
  report,
  sweep,
  wasKilled,
  wasKilledOrDone,
  type Job,
} from './sweep.ts';

let stage: Stage;
let scenes: Scene[];
beforeAll(async () => {
  stage = await openStage();
  scenes = [stage.scenes.run, stage.scenes.failing, stage.scenes.killed];
});
afterAll(() => stage.close());

/** A run makes more than a thousand calls. With 1 each of them is taken, in two hours. */
const callStride = Number(process.env['FAULT_STRIDE'] ?? 5);
const total = emptyTally();

test('a kill at every step of a run, or of its roll back, leaves no riddle: it is resumed, put back or kept', async () => {
  const tally = emptyTally();
  const jobs = await planJobs(stage, scenes, atEachStep);
  // Three times: each way on has its turn.
  await sweep(stage, [...jobs, ...jobs, ...jobs], tally, wasKilled);
  finish(total, 'SIGKILL at each step of a run', tally);
  expect([...tally.hits.keys()]).toEqual(expect.arrayContaining(['journal', 'journaled', 'journal-discarded']));
});

test('a kill before calls to the file system, everywhere in a run, does as well', async () => {
  const tally = emptyTally();
  const jobs = await planJobs(stage, scenes, ({ calls }) =>
    everyNth(calls.length, callStride).map((at) => ({ kind: 'kill-at-call', at })),
  );
  await sweep(stage, jobs, tally, wasKilledOrDone);
  finish(total, 'SIGKILL before file-system calls of a run', tally);
});

test('a kill at any time does as well, with what the run has started or without it', async () => {
  const tally = emptyTally();
  const jobs = await planRandomKills(stage, scenes, 150);
  await sweep(stage, jobs, tally, () => []);
  finish(total, 'SIGKILL of a run at random times', tally);
});

test('these were at least 1,000 runs, and each way on was gone', () => {
  report('SIGKILL of a run, all together', { ...total, hits: settled });
  expect(total.runs).toBeGreaterThanOrEqual(1000);
  expect([...settled.keys()].toSorted()).toEqual(
    expect.arrayContaining(['closed', 'keep', 'not begun', 'resume', 'rollback']),
  );
});

test('whichever call to the file system fails in a run or a roll back, it says so, and the next command leads on', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) jobs.push(...(await failEachCall(stage, scene, callStride)));
  await sweep(stage, jobs, tally, failedCleanly);
  report('file-system calls of a run failing (ENOSPC, EIO, EACCES, short writes)', tally);
  expect(tally.problems).toEqual([]);
});

test('whichever git fails, dies, or does its work and cannot say so, the same is true', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) jobs.push(...(await failEachGit(stage, scene, allWays)));
  await sweep(stage, jobs, tally, failedCleanly);
  report('each git of a run failing (refused, killed, answer lost)', tally);
  expect(tally.problems).toEqual([]);
});
