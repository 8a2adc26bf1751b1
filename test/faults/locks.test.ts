/** The fast part of the kills of gits that hold a lock; all of them are in `locks.full.test.ts`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canTrace } from './system-calls.ts';
import { diedOrWentOn, expectKills, findLockedCalls, toJobs } from './lock-kills.ts';
import { planKills, sweepSync } from './sync-kills.ts';
import { openSyncStage, type SyncStage } from './sync-scenes.ts';
import { emptyTally, everyNth, report } from './sweep.ts';

let stage: SyncStage;
beforeAll(async () => void (stage = await openSyncStage()));
afterAll(() => stage.close());

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
