/**
 * The fast part of the kills while lines move from one place to another, of teddy and of its git processes that hold a
 * lock.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killAt, type Fault } from './fault.ts';
import { sharingSteps } from './known-steps.ts';
import { diedOrWentOn, expectKills, findLockedCalls, toJobs } from './lock-kills.ts';
import { emptyTally, report, wasKilled, type Job, everyNth } from './sweep.ts';
import { planKills, sweepSync } from './sync-kills.ts';
import { openSyncStage, type SyncSceneName, type SyncStage } from './sync-scenes.ts';
import { canTrace } from './system-calls.ts';

let stage: SyncStage;
beforeAll(async () => void (stage = await openSyncStage()));
afterAll(() => stage.close());

/** Between here and there, and between the refs and the steps after them. */
const kills: Partial<Record<SyncSceneName, Fault[]>> = {
  sync: [killAt('fetched'), killAt('ref-moved'), killAt('pushed')],
  pull: [killAt('checked-out'), killAt('fast-forwarded'), { kind: 'kill-in-transaction', at: 2 }],
  land: [killAt('ref-moved')],
  archive: [killAt('ref'), { kind: 'kill-in-transaction', at: 1 }, killAt('ref-moved')],
};

test('a kill of a sync, pull, landing or archiving leaves each ref old or new, and the next run completes it', async () => {
  const names = Object.keys(kills) as SyncSceneName[];
  const plans = await Promise.all(names.map((name) => planKills(stage, stage.scenes[name])));
  const jobs = names.flatMap((name) => (kills[name] ?? []).map((fault): Job => ({ scene: stage.scenes[name], fault })));
  const tally = emptyTally();
  await sweepSync(stage, plans, jobs, tally, wasKilled);
  report('SIGKILL while lines go from one place to another', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()]).toEqual(expect.arrayContaining([...sharingSteps, 'update-ref']));
});

test.for([
  ['alone', false],
  ['together with teddy', true],
] as const)('a git that is killed %s in a landing leaves no lock and no file', async ([, everything], { skip }) => {
  skip(!(await canTrace()), 'strace is not installed');
  const scene = stage.scenes['land-here'];
  const calls = await findLockedCalls(stage, scene);
  const some = everyNth(calls.length, Math.ceil(calls.length / 4)).flatMap((at) => calls[at - 1] ?? []);
  const tally = emptyTally();
  await sweepSync(stage, [await planKills(stage, scene)], toJobs(scene, some, everything), tally, diedOrWentOn);
  report(`gits killed while they hold a lock in a landing (${calls.length} such moments)`, tally);
  expect(tally.problems).toEqual([]);
  expectKills(tally);
});
