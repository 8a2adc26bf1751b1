/** SIGKILL everywhere. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isWriteStep, readKnownSteps } from './known-steps.ts';
import { openStage, otherScenes, type Scene, type Stage } from './scenes.ts';
import { chooseCalls, emptyTally, everyNth, readPoints, report, sweep, type Job, type Tally } from './sweep.ts';
import type { ChildRun } from './run-child.ts';

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

const total = emptyTally();

test('a kill at every step that the product names leaves the old tip or the new one, and the next command works', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of otherScenes(stage)) {
    const { points } = await readPoints(stage, scene);
    jobs.push(...everyNth(points.steps.length).map((at) => ({ scene, fault: { kind: 'kill-at-step', at } }) as const));
  }
  await sweep(stage, jobs, tally, wasKilled);
  finish('SIGKILL at each named step', tally);
  expect(tally.problems).toEqual([]);
  // `write.full.test.ts` hits the others.
  const known = readKnownSteps().filter((step) => !isWriteStep(step));
  expect(known.filter((step) => !tally.hits.has(step))).toEqual([]);
});

test('a kill before every call to the file system does as well', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  const known = new Set<string>();
  for (const scene of otherScenes(stage)) {
    const { points } = await readPoints(stage, scene);
    points.calls.forEach((call) => known.add(call));
    jobs.push(...chooseCalls(points.calls).map((at) => ({ scene, fault: { kind: 'kill-at-call', at } }) as const));
  }
  await sweep(stage, jobs, tally, wasKilledOrDone);
  finish('SIGKILL before each file-system call', tally);
  expect(tally.problems).toEqual([]);
  expect([...known].filter((call) => !tally.hits.has(call))).toEqual([]);
});

test('git and teddy dying together while git holds the lock of the ref does as well', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of otherScenes(stage)) {
    const { points } = await readPoints(stage, scene);
    const count = points.gits.filter((name) => name === 'update-ref').length;
    jobs.push(...everyNth(count).map((at) => ({ scene, fault: { kind: 'kill-in-transaction', at } }) as const));
  }
  await sweep(stage, jobs, tally, wasKilled);
  finish('SIGKILL of git and teddy inside a ref transaction', tally);
  expect(tally.problems).toEqual([]);
});

test('a kill at any time, with the gits or without them, does as well', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of otherScenes(stage)) jobs.push(...(await atRandomTimes(scene, 36)));
  await sweep(stage, jobs, tally, () => []);
  finish('SIGKILL at random times', tally);
  expect(tally.problems).toEqual([]);
});

test('these were at least 1,000 runs', () => {
  report('SIGKILL, all together', { ...total, hits: new Map() });
  expect(total.runs).toBeGreaterThanOrEqual(1000);
});

function wasKilled({ signal, hit }: ChildRun): string[] {
  return signal === 'SIGKILL' && hit !== null ? [] : [`it was not killed (${String(signal)})`];
}

/** How many calls a run makes differs a little, with what happens at the same time; the last ones may not be reached. */
function wasKilledOrDone(run: ChildRun): string[] {
  return run.hit === null && run.exitCode === 0 ? [] : wasKilled(run);
}

async function atRandomTimes(scene: Scene, count: number): Promise<Job[]> {
  const { durationMs } = await readPoints(stage, scene);
  // Nothing happens before the program has been loaded.
  return Array.from({ length: count }, (_, at) => ({
    scene,
    kill: { afterMs: durationMs * (0.3 + 0.8 * Math.random()), everything: at % 2 === 0 },
  }));
}

function finish(title: string, tally: Tally): void {
  report(title, tally);
  total.runs += tally.runs;
  total.problems.push(...tally.problems);
}
