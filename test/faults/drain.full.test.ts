/** SIGKILL everywhere in a drain, and a system that says no. */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkDrain, openDrainStage, type DrainStage } from './drain-scenes.ts';
import { allWays, failCalls, failEachGit, failedCleanly } from './failure.ts';
import {
  atEachStep,
  chooseCalls,
  emptyTally,
  everyNth,
  inEachTransaction,
  planRandomKills,
  readPoints,
  report,
  sweepWith,
  wasKilledOrDone,
  type CheckOutcome,
  type Job,
  type Tally,
} from './sweep.ts';
import type { Fault, Points } from './fault.ts';
import { runChild } from './run-child.ts';
import { mountSmallDisk, pageBytes } from './small-disk.ts';

let stage: DrainStage;
let points: Points;
beforeAll(async () => {
  stage = await openDrainStage();
  ({ points } = await readPoints(stage, stage.scene));
});
afterAll(() => stage.close());

const maxFreePages = 80;
/** A drain makes about 1,200 calls: FAULT_STRIDE=1 takes all of them, and half an hour on two busy cores. */
const callStride = Number(process.env['FAULT_STRIDE'] ?? 3);

/** Every so many, and the first of each name. */
const places = () => [...new Set([...everyNth(points.calls.length, callStride), ...chooseCalls(points.calls, 0, 1)])];

async function sweepDrains(
  title: string,
  jobs: Job[],
  checkOutcome: CheckOutcome,
  followedBy: 'drain' | 'sweep' = 'drain',
): Promise<Tally> {
  const tally = emptyTally();
  await sweepWith(stage, jobs, tally, checkOutcome, (_, ...args) => checkDrain(stage, ...args, followedBy));
  report(title, tally);
  expect(tally.problems).toEqual([]);
  return tally;
}

test('a kill at every step of a drain, in every ref transaction and before every git loses and repeats nothing', async () => {
  const { scene } = stage;
  const atGits = everyNth(points.gits.length).map((at): Fault => ({ kind: 'kill-at-git', at }));
  const faults = [...atEachStep(points), ...inEachTransaction(points), ...atGits];
  const jobs = faults.map((fault): Job => ({ scene, fault }));
  const { hits } = await sweepDrains('SIGKILL at each step, ref transaction and git of a drain', jobs, wasKilledOrDone);
  expect([...new Set(points.steps)].filter((step) => !hits.has(step))).toEqual([]);
});

test('a kill before every call to the file system does as well', async () => {
  const { scene } = stage;
  const title = 'SIGKILL before file-system calls of a drain';
  const jobs = places().map((at): Job => ({ scene, fault: { kind: 'kill-at-call', at } }));
  const { hits } = await sweepDrains(title, jobs, wasKilledOrDone);
  const own = points.calls.filter((call) => / (?:spool|follower state|drainer claim|agent log)$/.test(call));
  // How many calls a drain makes differs a little, and one that is made once may have been passed over.
  const missed = [...new Set(own)].filter((call) => !hits.has(call));
  const firsts = missed.map((name): Job => ({ scene, fault: { kind: 'kill-at-first-call', name } }));
  const { hits: more } = await sweepDrains(`${title}, of those that were missed`, firsts, wasKilledOrDone);
  expect(missed.filter((call) => !more.has(call))).toEqual([]);
});

test('a kill at any time does as well, with the gits or without them', async () => {
  const jobs = await planRandomKills(stage, [stage.scene], 100);
  await sweepDrains('SIGKILL of a drain at random times', jobs, () => []);
});

test('whichever call to the file system fails, it says so, and the next drain or sweep has every record', async () => {
  const jobs = failCalls(stage.scene, places());
  await sweepDrains(
    'file-system calls of a drain failing (ENOSPC, EIO, EACCES, short writes)',
    jobs,
    failedCleanly,
    'sweep',
  );
});

test('whichever git fails, dies, or does its work and cannot say so, the same is true', async () => {
  const jobs = await failEachGit(stage, stage.scene, allWays);
  await sweepDrains('each git of a drain failing (refused, killed, answer lost)', jobs, failedCleanly, 'sweep');
});

test('however little space a disk has left, a drain and a sweep lose nothing', async ({ skip }) => {
  const disk = await mountSmallDisk('16m');
  if (disk === null) return skip('only root can mount a small file system');
  const problems: string[] = [];
  let full = 0;
  try {
    for (const operation of ['drain', 'sweep'] as const) {
      for (let pages = 0; pages <= maxFreePages; pages += 2) {
        const repository = await stage.copy(stage.scene, disk.dir);
        const filler = await disk.fill(pages * pageBytes);
        const run = await runChild({ program: stage.program, operation, root: repository.root });
        await rm(filler);
        full += run.warnings.length > 0 || run.failure !== null ? 1 : 0;
        const found = [
          ...failedCleanly(run),
          ...(await checkDrain(stage, repository, { ...run, acknowledged: [] }, 'sweep')),
        ];
        problems.push(...found.map((problem) => `${operation}, ${pages} pages free: ${problem}`));
        await stage.discard(repository);
      }
    }
  } finally {
    await disk.close();
  }
  console.log(
    `faults: drains and sweeps on a full tmpfs: ${maxFreePages + 2} runs, ${full} full, ${problems.length} problems`,
  );
  expect(problems).toEqual([]);
  expect(full).toBeGreaterThan(0);
});
