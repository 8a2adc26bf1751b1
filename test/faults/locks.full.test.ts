/** Git processes that are killed while they hold a lock, alone or together with teddy: the next command removes it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { diedOrWentOn, expectKills, findLockedCalls, toJobs } from './lock-kills.ts';
import { openStage, otherScenes, type Scene, type Stage } from './scenes.ts';
import { emptyTally, report, sweep, type Job } from './sweep.ts';
import { planKills, sweepSync } from './sync-kills.ts';
import { openSyncStage, type SyncStage } from './sync-scenes.ts';

/** The sweep tries this many of all kills in each of the two ways. */
const most = Number(process.env['FAULT_LOCK_KILLS'] ?? 500);

/** All of them, or the named ones, separated by commas. */
const names = process.env['FAULT_LOCK_SCENES']?.split(',');

let stage: Stage;
let sharing: SyncStage;
beforeAll(async () => {
  stage = await openStage();
  sharing = await openSyncStage();
}, 300_000);
afterAll(() => Promise.all([stage.close(), sharing.close()]));

test.each([
  ['alone', false],
  ['together with teddy', true],
])('a git that is killed %s while it holds a lock leaves nothing to repair by hand', async (_, everything) => {
  const all = [...otherScenes(stage), ...Object.values(sharing.scenes)];
  const scenes = all.filter(({ name }) => names?.includes(name) ?? true);
  const jobs: Job[] = [];
  for (const scene of scenes) jobs.push(...(await jobsOf(scene, everything)));
  const chosen = choose(jobs);
  const plans = await Promise.all(Object.values(sharing.scenes).map((scene) => planKills(sharing, scene)));
  const tally = emptyTally();
  await sweep(
    stage,
    chosen.filter(({ scene }) => !isShared(scene)),
    tally,
    diedOrWentOn,
  );
  await sweepSync(
    sharing,
    plans,
    chosen.filter(({ scene }) => isShared(scene)),
    tally,
    diedOrWentOn,
  );
  report(`gits ${everything ? 'and teddy ' : ''}killed while they hold a lock (${jobs.length} such moments)`, tally);
  expect(tally.problems).toEqual([]);
  expectKills(tally);
});

function isShared({ name }: Scene): boolean {
  return name in sharing.scenes;
}

async function jobsOf(scene: Scene, everything: boolean): Promise<Job[]> {
  const copies = isShared(scene) ? sharing : stage;
  return toJobs(scene, await findLockedCalls(copies, scene), everything);
}

/** Evenly, from all scenes; again from the start if there are fewer. */
function choose(jobs: Job[]): Job[] {
  const step = jobs.length / most;
  return Array.from({ length: most }, (_, at) => jobs[Math.floor(at * step) % jobs.length]).filter(
    (job) => job !== undefined,
  );
}
