/** The fast part of the faults that happen to a conversation. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkChat } from './check-chat.ts';
import { atRandomTimes, countAll, countBefore, killAt, killRecovery } from './chat-kills.ts';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { emptyTally, readPoints, report, sweepWith } from './sweep.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

/** The recovery is killed at these as well, and `crash.test.ts` at all of them. */
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
  const jobs = [...firsts, withCalls, ...lasts, ...atRandomTimes(scene, durationMs, 3)];
  await sweepWith(stage, jobs, tally, () => [], checkChat);
  report('SIGKILL in a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(names);
}, 120_000);

test('a kill while the model writes a file leaves its call with a result, and the file is committed once or never', async () => {
  const scene = stage.scenes['chat-write'];
  const { points, durationMs } = await readPoints(stage, scene);
  const names = [...new Set(points.steps)].filter((step) => step.startsWith('write-')).toSorted();
  const firsts = names.map((step) => killAt(scene, step, 1));
  const tally = emptyTally();
  await sweepWith(stage, [...firsts, ...atRandomTimes(scene, durationMs, 2)], tally, () => [], checkChat);
  report('SIGKILL while a model writes a file in a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(names);
}, 120_000);

test('a kill of the command that goes on, at each step of its recovery, keeps calls and results once', async () => {
  const tally = emptyTally();
  // The command has run, and the last call has no result.
  const steps = await killRecovery(stage, stage.scenes.chat, { kind: 'kill-at-nth', step: 'heard', at: 2 }, tally);
  report('SIGKILL of what goes on with a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(steps);
  expect(steps).toEqual(expect.arrayContaining(['asked', 'heard', 'ref-moved', 'staging-state']));
}, 120_000);
