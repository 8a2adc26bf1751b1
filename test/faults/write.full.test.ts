/** SIGKILL at any moment of a write session, and a system that says no. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkWrite, wentOn } from './check-write.ts';
import { allWays, failCalls, failEachGit, failedCleanly } from './failure.ts';
import { readKnownSteps, readWriteSteps } from './known-steps.ts';
import type { Scene } from './scenes.ts';
import { raceToBegin } from './write-race.ts';
import { openWriteStage, type WriteStage } from './write-scenes.ts';
import {
  atEachStep,
  chooseCalls,
  emptyTally,
  finish,
  inEachTransaction,
  planJobs,
  planRandomKills,
  readPoints,
  report,
  sweepWith,
  wasKilledOrDone,
  type CheckOutcome,
  type Job,
  type Tally,
} from './sweep.ts';

let stage: WriteStage;
let scenes: Scene[];
beforeAll(async () => {
  stage = await openWriteStage();
  scenes = Object.values(stage.scenes);
});
afterAll(() => stage.close());

const total = emptyTally();
/** The number for each scene. */
const randomKills = 50;
/** A write session makes some hundred calls, most of them many times. */
const mostOfEach = 2;
/** With more than 1, only every so many of these calls: then not every place is hit, and there are fewer runs. */
const stride = Number(process.env['FAULT_STRIDE'] ?? 1);
const isWhole = stride === 1;
const isSampled = (_: number, at: number) => at % stride === 0;

test('a kill at every step of a write session leaves the old target or the new one, and one entry in the end', async () => {
  const tally = emptyTally();
  const jobs = await planJobs(stage, scenes, atEachStep);
  await sweepWrites(jobs, tally, wasKilledOrDone);
  finish(total, 'SIGKILL at each step of a write session', tally);
  const steps = [...readWriteSteps(), ...readKnownSteps().filter(isOfAnEntry)];
  expect(steps.filter((step) => !tally.hits.has(step))).toEqual([]);
});

test('a kill before calls to the file system, everywhere in a write session, does as well', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  const known = new Map<string, Job>();
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    const toJob = (at: number): Job => ({ scene, fault: { kind: 'kill-at-call', at } });
    points.calls.forEach((call, at) => known.set(call, toJob(at + 1)));
    jobs.push(...chooseCalls(points.calls, 0, mostOfEach).filter(isSampled).map(toJob));
  }
  await sweepWrites(jobs, tally, wasKilledOrDone);
  // A save more or less moves all calls behind it, and then a call that is made once may have been missed.
  const listMissed = () => [...known].filter(([call]) => !tally.hits.has(call));
  for (let tries = 0; tries < 5 && isWhole; tries += 1)
    await sweepWrites(
      listMissed().map(([, job]) => job),
      tally,
      wasKilledOrDone,
    );
  finish(total, 'SIGKILL before file-system calls of a write session', tally);
  if (isWhole) expect(listMissed().map(([call]) => call)).toEqual([]);
});

test('git and teddy dying together while git holds the lock of the ref does as well', async () => {
  const tally = emptyTally();
  const jobs = await planJobs(stage, scenes, inEachTransaction);
  await sweepWrites(jobs, tally, wasKilledOrDone);
  finish(total, 'SIGKILL of git and teddy inside a ref transaction of a write session', tally);
});

test('a kill at any time does as well, with the gits or without them', async () => {
  const tally = emptyTally();
  const jobs = await planRandomKills(stage, scenes, randomKills);
  await sweepWrites(jobs, tally, () => []);
  finish(total, 'SIGKILL of a write session at random times', tally);
});

test('these were at least 1,000 runs, and each way on was gone', () => {
  report('SIGKILL of a write session, all together', { ...total, hits: wentOn });
  if (isWhole) expect(total.runs).toBeGreaterThanOrEqual(1000);
  const ways = ['ask again', 'begin anew', 'continue', 'discard', 'finalize'];
  expect([...wentOn.keys()]).toEqual(expect.arrayContaining(ways));
});

test('whichever call to the file system fails, the error has a code, and nothing that was acknowledged is lost', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) jobs.push(...(await failSomeCalls(scene)));
  await sweepWrites(jobs, tally, failedCleanly);
  report('file-system calls of a write session failing (ENOSPC, EIO, EACCES, short writes)', tally);
  expect(tally.problems).toEqual([]);
});

test('whichever git fails, dies, or does its work and cannot say so, the same is true', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) jobs.push(...(await failEachGit(stage, scene, allWays)));
  await sweepWrites(jobs, tally, failedCleanly);
  report('each git of a write session failing (refused, killed, answer lost)', tally);
  expect(tally.problems).toEqual([]);
});

test('of two processes that begin at the same time exactly one gets its session, 200 times', async () => {
  const repository = await stage.copy(stage.scenes['write-create']);
  const { begun, refused, failures } = await raceToBegin(stage, repository, 200);
  expect(failures).toEqual([]);
  expect({ begun, refused }).toEqual({ begun: 200, refused: 200 });
  expect(await repository.list('.git/teddy/write_sessions')).toEqual([]);
});

async function failSomeCalls(scene: Scene): Promise<Job[]> {
  const { points } = await readPoints(stage, scene);
  const places = chooseCalls(points.calls, 0, mostOfEach).filter(isSampled);
  return failCalls(scene, places);
}

async function sweepWrites(jobs: Job[], tally: Tally, checkOutcome: CheckOutcome): Promise<void> {
  await sweepWith(stage, jobs, tally, checkOutcome, checkWrite);
}

/** Publishing an entry passes these steps; a run and an answer pass others. */
function isOfAnEntry(step: string): boolean {
  return !/^(?:write|claim|staging|journal)/.test(step) && step !== 'journaled';
}
