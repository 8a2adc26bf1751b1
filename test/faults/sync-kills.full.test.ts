/** SIGKILL everywhere while lines go from one place to another. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharingSteps } from './known-steps.ts';
import { atGits, atSteps, planKills, sweepSync, type KillPlan } from './sync-kills.ts';
import { openSyncStage, type SyncSceneName, type SyncStage } from './sync-scenes.ts';
import { atRandomTimes, emptyTally, report, wasKilled, wasKilledOrDone } from './sweep.ts';

let stage: SyncStage;
const plans: KillPlan[] = [];
beforeAll(async () => {
  stage = await openSyncStage();
  for (const scene of Object.values(stage.scenes)) plans.push(await planKills(stage, scene));
});
afterAll(() => stage.close());

const titles: Record<SyncSceneName, string> = {
  sync: 'a sync',
  pull: 'a pull',
  push: 'a push',
  land: 'a landing',
  'land-here': 'a landing on a branch that is checked out',
  'land-over': 'a landing of what is in the work tree already',
  archive: 'an archiving',
};
const passed = new Set<string>();

test.each(Object.keys(titles) as SyncSceneName[])(
  'a kill at each step and git of %s leaves each ref old or new, and the next one ends as if nothing had been',
  async (name) => {
    const own = plans.filter(({ scene }) => scene.name === name);
    const tally = emptyTally();
    await sweepSync(stage, own, own.flatMap(atSteps), tally, wasKilled);
    await sweepSync(stage, own, own.flatMap(atGits), tally, wasKilledOrDone);
    report(`SIGKILL at each step of ${titles[name]}`, tally);
    for (const step of tally.hits.keys()) passed.add(step);
    expect(tally.problems).toEqual([]);
  },
);

test('every step that the product names for them was hit', () => {
  expect(sharingSteps.filter((step) => !passed.has(step))).toEqual([]);
});

test('a kill at any time, with the gits or without them, does as well', async () => {
  const tally = emptyTally();
  const jobs = plans.flatMap(({ scene, durationMs }) => atRandomTimes(scene, durationMs, 16));
  await sweepSync(stage, plans, jobs, tally, () => []);
  report('SIGKILL of syncs and landings at random times', tally);
  expect(tally.problems).toEqual([]);
});
