/** The fast part of the faults in a drain. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkDrain, openDrainStage, type DrainStage } from './drain-scenes.ts';
import { countOf, killAt } from './fault.ts';
import { emptyTally, everyNth, readPoints, report, sweepWith, wasKilledOrDone, type Job } from './sweep.ts';

let stage: DrainStage;
beforeAll(async () => void (stage = await openDrainStage()));
afterAll(() => stage.close());

/** Between the lines and the notes about them: a log's state, and the processed calls. */
const ownCalls = ['rename follower state', 'unlink spool', 'rename drainer claim'];

test('an undisturbed drain leaves a waiting turn to the user, and the agent continues beside it', () => {
  const found = stage.expected.filter(({ ref }) => ref.includes('ask-6')).map(({ records }) => records);
  expect(found).toEqual(['u5,a5,u7', 'u5,a5,u6,a6']);
});

test('a killed drain leaves every record to the next one, which stores each of them once', async () => {
  const { scene } = stage;
  const { points } = await readPoints(stage, scene);
  const jobs: Job[] = [
    ...everyNth(countOf(points.step, 'ref-moved'), 3).map((nth): Job => ({ scene, fault: killAt('ref-moved', nth) })),
    ...ownCalls.map((call): Job => ({ scene, fault: killAt(call, countOf(points.call, call), 'call') })),
    { scene, fault: { kind: 'kill-in-transaction', at: 3 } },
  ];
  const tally = emptyTally();
  await sweepWith(stage, jobs, tally, wasKilledOrDone, (_, ...args) => checkDrain(stage, ...args));
  report('SIGKILL of a drain', tally);
  expect(tally.problems).toEqual([]);
  expect(tally.hits.get('ref-moved')).toBeGreaterThan(2);
});
