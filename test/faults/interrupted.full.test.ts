/** SIGKILL at any moment of a run, of a roll back, and of what settles a run that was killed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settled } from './check-interrupted.ts';
import { allWays, failEachCall, failEachGit, failedCleanly } from './failure.ts';
import { openStage, type Scene, type Stage } from './scenes.ts';
import { emptyTally, everyNth, readPoints, report, sweep, type Job, type Tally } from './sweep.ts';
import type { ChildRun } from './run-child.ts';

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
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    // Three times: each way on has its turn.
    for (let time = 0; time < 3; time += 1)
      jobs.push(
        ...everyNth(points.steps.length).map((at) => ({ scene, fault: { kind: 'kill-at-step', at } }) as const),
      );
  }
  await sweep(stage, jobs, tally, wasKilled);
  finish('SIGKILL at each step of a run', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()]).toEqual(expect.arrayContaining(['journal', 'journaled', 'journal-discarded']));
});

test('a kill before calls to the file system, everywhere in a run, does as well', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    const places = everyNth(points.calls.length, callStride);
    jobs.push(...places.map((at) => ({ scene, fault: { kind: 'kill-at-call', at } }) as const));
  }
  await sweep(stage, jobs, tally, wasKilledOrDone);
  finish('SIGKILL before file-system calls of a run', tally);
  expect(tally.problems).toEqual([]);
});

test('a kill at any time does as well, with what the run has started or without it', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { durationMs } = await readPoints(stage, scene);
    const kills = Array.from({ length: 150 }, (_, at) => ({
      scene,
      kill: { afterMs: durationMs * (0.25 + 0.8 * Math.random()), everything: at % 2 === 0 },
    }));
    jobs.push(...kills);
  }
  await sweep(stage, jobs, tally, () => []);
  finish('SIGKILL of a run at random times', tally);
  expect(tally.problems).toEqual([]);
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

function wasKilled({ signal, hit }: ChildRun): string[] {
  return signal === 'SIGKILL' && hit !== null ? [] : [`it was not killed (${String(signal)})`];
}

/** How many calls a run makes differs a little, with what happens at the same time; the last ones may not be reached. */
function wasKilledOrDone(run: ChildRun): string[] {
  return run.hit === null && run.exitCode === 0 ? [] : wasKilled(run);
}

function finish(title: string, tally: Tally): void {
  report(title, tally);
  total.runs += tally.runs;
  total.problems.push(...tally.problems);
}
