/** The fast part of the faults that happen to a conversation. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkChat } from './check-chat.ts';
import { countAll, countBefore, killAt } from './chat-kills.ts';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { atRandomTimes, emptyTally, readPoints, report, sweepWith } from './sweep.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

/** `crash.test.ts` kills an append at each of these, and the full sweep a conversation and its recovery. */
const ofAnyEntry = ['object', 'object-written', 'record', 'lock', 'index', 'ref', 'unlocked', 'files-written'];
/** How the last answer comes to the line. */
const lastOfInterest = ['staging-state', 'ref-moved', 'done'];

test('a kill at the steps of a conversation and at any time loses nothing that was said, and nothing is there twice', async () => {
  const scene = stage.scenes.chat;
  const { points, durationMs } = await readPoints(stage, scene);
  const names = [...new Set(points.steps)].filter((step) => !ofAnyEntry.includes(step)).toSorted();
  const firsts = names.map((step) => killAt(scene, step, countBefore(points, step) + 1));
  const lasts = lastOfInterest.map((step) => killAt(scene, step, countAll(points, step)));
  const withCalls = killAt(scene, 'staging-state', countBefore(points, 'staging-state', 2) + 1);
  const tally = emptyTally();
  const jobs = [...firsts, withCalls, ...lasts, ...atRandomTimes(scene, durationMs, 1)];
  await sweepWith(stage, jobs, tally, () => [], checkChat);
  report('SIGKILL in a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(names);
});

test('a kill while the model writes a file leaves its call with a result, and the file is committed once or never', async () => {
  const scene = stage.scenes['chat-write'];
  const { points, durationMs } = await readPoints(stage, scene);
  const names = [...new Set(points.steps)].filter((step) => step.startsWith('write-')).toSorted();
  const firsts = names.map((step) => killAt(scene, step, 1));
  const tally = emptyTally();
  await sweepWith(stage, [...firsts, ...atRandomTimes(scene, durationMs, 1)], tally, () => [], checkChat);
  report('SIGKILL while a model writes a file in a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(names);
});
