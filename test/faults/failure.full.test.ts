/** The system says no. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allWays, failEachCall, failEachGit, failedCleanly } from './failure.ts';
import { openStage, otherScenes, type Stage } from './scenes.ts';
import { emptyTally, report, sweep, type Job } from './sweep.ts';

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

test('whichever call to the file system fails, the error has a code, nothing is lost and the next command works', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of otherScenes(stage)) jobs.push(...(await failEachCall(stage, scene)));
  await sweep(stage, jobs, tally, failedCleanly);
  report('each file-system call failing (ENOSPC, EIO, EACCES, short writes)', tally);
  expect(tally.problems).toEqual([]);
});

test('whichever git fails, dies, or does its work and cannot say so, the same is true', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of otherScenes(stage)) jobs.push(...(await failEachGit(stage, scene, allWays)));
  await sweep(stage, jobs, tally, failedCleanly);
  report('each git failing (refused, killed, answer lost)', tally);
  expect(tally.problems).toEqual([]);
});
