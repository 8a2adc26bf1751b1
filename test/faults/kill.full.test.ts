/** SIGKILL everywhere. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerSteps, isWriteStep, readKnownSteps } from './known-steps.ts';
import { openStage, otherScenes, type Stage } from './scenes.ts';
import {
  atEachStep,
  chooseCalls,
  emptyTally,
  finish,
  inEachTransaction,
  planJobs,
  planRandomKills,
  report,
  sweep,
  wasKilled,
  wasKilledOrDone,
} from './sweep.ts';

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

const total = emptyTally();

test('a kill at every step that the product names leaves the old tip or the new one, and the next command works', async () => {
  const tally = emptyTally();
  const jobs = await planJobs(stage, otherScenes(stage), atEachStep);
  await sweep(stage, jobs, tally, wasKilled);
  finish(total, 'SIGKILL at each named step', tally);
  // `write.full.test.ts` hits the others.
  const known = [...answerSteps, ...readKnownSteps().filter((step) => !isWriteStep(step))];
  expect(known.filter((step) => !tally.hits.has(step))).toEqual([]);
});

test('a kill before every call to the file system does as well', async () => {
  const tally = emptyTally();
  const known = new Set<string>();
  const jobs = await planJobs(stage, otherScenes(stage), ({ calls }) => {
    calls.forEach((call) => known.add(call));
    return chooseCalls(calls).map((at) => ({ kind: 'kill-at-call', at }));
  });
  await sweep(stage, jobs, tally, wasKilledOrDone);
  finish(total, 'SIGKILL before each file-system call', tally);
  expect([...known].filter((call) => !tally.hits.has(call))).toEqual([]);
});

test('git and teddy dying together while git holds the lock of the ref does as well', async () => {
  const tally = emptyTally();
  const jobs = await planJobs(stage, otherScenes(stage), inEachTransaction);
  await sweep(stage, jobs, tally, wasKilled);
  finish(total, 'SIGKILL of git and teddy inside a ref transaction', tally);
});

test('a kill at any time, with the gits or without them, does as well', async () => {
  const tally = emptyTally();
  await sweep(stage, await planRandomKills(stage, otherScenes(stage), 36), tally, () => []);
  finish(total, 'SIGKILL at random times', tally);
});

test('these were at least 1,000 runs', () => {
  report('SIGKILL, all together', { ...total, hits: new Map() });
  expect(total.runs).toBeGreaterThanOrEqual(1000);
});
