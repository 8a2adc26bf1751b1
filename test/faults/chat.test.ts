/** The fast part of the faults and races in a conversation, and in an imported one. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countBefore } from './chat-kills.ts';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { checkChat } from './check-chat.ts';
import { countOf, killAt, type Fault } from './fault.ts';
import { emptyGcTally, reportGc, runBesideGc } from './gc.ts';
import { killImports, openImportScene } from './import-kills.ts';
import { appendSteps, readImportSteps } from './known-steps.ts';
import { runChild } from './run-child.ts';
import { raceToSay } from './say-race.ts';
import { readStatus } from './scenes.ts';
import { atRandomTimes, emptyTally, killAtFirst, readPoints, report, sweepWith, type Job } from './sweep.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

/** How the last answer reaches the line. */
const lastOfInterest = ['answer-noted', 'ref-moved', 'done'];

test('a kill at the steps of a conversation, or at any time, loses no message and doubles none', async () => {
  const scene = stage.scenes.chat;
  const { points, durationMs } = await readPoints(stage, scene);
  const names = [...new Set(points.step)].filter((step) => !appendSteps.includes(step)).toSorted();
  const toJob = (fault: Fault): Job => ({ scene, fault });
  const firsts = names.map((step) => toJob(killAt(step, countBefore(points, step) + 1)));
  const lasts = lastOfInterest.map((step) => toJob(killAt(step, countOf(points.step, step))));
  const withCalls = toJob(killAt('answer-noted', countBefore(points, 'answer-noted', 2) + 1));
  const tally = emptyTally();
  const jobs = [...firsts, withCalls, ...lasts, ...atRandomTimes(scene, durationMs, 1)];
  await sweepWith(stage, jobs, tally, () => [], checkChat);
  report('SIGKILL in a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual([...new Set([...names, ...lastOfInterest])].toSorted());
});

test('a kill while the model writes a file leaves its call with a result, and commits the file at most once', async () => {
  const scene = stage.scenes['chat-write'];
  const { points, durationMs } = await readPoints(stage, scene);
  const names = [...new Set(points.step)].filter((step) => step.startsWith('write-')).toSorted();
  const firsts = killAtFirst(scene, names);
  const tally = emptyTally();
  await sweepWith(stage, [...firsts, ...atRandomTimes(scene, durationMs, 1)], tally, () => [], checkChat);
  report('SIGKILL while a model writes a file in a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(names);
});

test('four processes that send messages to one line, half of them the same, are each recorded once', async () => {
  const scene = stage.scenes.chat;
  const repository = await stage.copy(scene);
  const { failures, acknowledged, commits, ids, wanted } = await raceToSay(stage, scene, repository, {
    writers: 4,
    each: 8,
  });
  expect(failures).toEqual([]);
  expect(ids.toSorted()).toEqual(wanted.toSorted());
  expect(acknowledged).toHaveLength(32);
  expect(new Set(acknowledged)).toEqual(new Set(commits));
  expect(commits).toHaveLength(20);
  expect(await readStatus(repository)).toEqual(scene.status);
  await repository.fsck();
});

test('messages reach a line while a git packs and prunes all the time', async () => {
  const tally = emptyGcTally();
  await runBesideGc(stage, stage.scenes.chat, 30, tally);
  reportGc(tally);
  expect(tally.failures).toEqual([]);
  expect(tally.done.get('say')).toBe(30);
});

test('a kill of an import leaves no session or a complete one, and the next import makes it once', async () => {
  const scene = await openImportScene(stage);
  const { program } = stage;
  const { root } = await stage.copy(scene);
  const { points, durationMs, failure } = await runChild({ program, operation: 'import', root, name: scene.source });
  expect(failure).toBeNull();
  const names = [...new Set(points?.step)].toSorted();
  expect(names).toEqual(expect.arrayContaining(['ref', 'ref-moved', ...readImportSteps()]));
  const hit = names.filter((step) => !appendSteps.includes(step) || step.startsWith('ref'));
  const jobs = killAtFirst(scene, hit);
  jobs.push({ scene, fault: { kind: 'kill-in-transaction', at: 1 } });
  const tally = emptyTally();
  await killImports(stage, scene, [...jobs, ...atRandomTimes(scene, durationMs, 1)], tally, () => []);
  report('SIGKILL of an import', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual([...hit, 'update-ref']);
});
