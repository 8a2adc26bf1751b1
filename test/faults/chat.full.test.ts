/** SIGKILL at any moment of a conversation, and a system that says no. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkChat, wentOn } from './check-chat.ts';
import { atRandomTimes, countBefore, killRecovery, wasKilledOrDone } from './chat-kills.ts';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { allWays, failCalls, failEachGit, failedCleanly } from './failure.ts';
import type { Fault } from './fault.ts';
import { raceToSay } from './say-race.ts';
import type { Scene } from './scenes.ts';
import {
  chooseCalls,
  emptyTally,
  everyNth,
  readPoints,
  report,
  sweepWith,
  type CheckOutcome,
  type Job,
  type Tally,
} from './sweep.ts';

let stage: ChatStage;
let scenes: Scene[];
beforeAll(async () => {
  stage = await openChatStage();
  scenes = Object.values(stage.scenes);
});
afterAll(() => stage.close());

/** A conversation makes about a thousand calls. */
const callStride = Number(process.env['FAULT_STRIDE'] ?? 5);
const randomKills = 100;
const total = emptyTally();

test('a kill at every step of a conversation loses nothing that was said, and nothing is there twice', async () => {
  const tally = emptyTally();
  const known = new Set<string>();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    points.steps.forEach((step) => known.add(step));
    jobs.push(...everyNth(points.steps.length).map((at) => ({ scene, fault: { kind: 'kill-at-step', at } }) as const));
  }
  await sweepChats(jobs, tally, wasKilledOrDone);
  finish('SIGKILL at each step of a conversation', tally);
  expect(tally.problems).toEqual([]);
  expect([...known].filter((step) => !tally.hits.has(step))).toEqual([]);
});

test('a kill before calls to the file system, everywhere in a conversation, does as well', async () => {
  const tally = emptyTally();
  const known = new Set<string>();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    points.calls.forEach((call) => known.add(call));
    // The first of each name is one of them.
    const places = new Set([...everyNth(points.calls.length, callStride), ...chooseCalls(points.calls, 0, 1)]);
    jobs.push(...[...places].map((at) => ({ scene, fault: { kind: 'kill-at-call', at } }) as const));
  }
  await sweepChats(jobs, tally, wasKilledOrDone);
  finish('SIGKILL before file-system calls of a conversation', tally);
  expect(tally.problems).toEqual([]);
  const ofAnswers = [...known].filter((call) => call.endsWith(' staged answer'));
  expect(ofAnswers.length).toBeGreaterThan(5);
  expect(ofAnswers.filter((call) => !tally.hits.has(call))).toEqual([]);
});

test('git and teddy dying together while git holds the lock of the ref does as well', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    const count = points.gits.filter((name) => name === 'update-ref').length;
    jobs.push(...everyNth(count).map((at) => ({ scene, fault: { kind: 'kill-in-transaction', at } }) as const));
  }
  await sweepChats(jobs, tally, wasKilledOrDone);
  finish('SIGKILL of git and teddy inside a ref transaction of a conversation', tally);
  expect(tally.problems).toEqual([]);
});

test('a kill at any time does as well, with what the conversation has started or without it', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { durationMs } = await readPoints(stage, scene);
    jobs.push(...atRandomTimes(scene, durationMs, randomKills));
  }
  await sweepChats(jobs, tally, () => []);
  finish('SIGKILL of a conversation at random times', tally);
  expect(tally.problems).toEqual([]);
});

test('a kill of the command that goes on does as well, wherever the one before has died', async () => {
  const { chat, 'chat-write': write } = stage.scenes;
  const { points } = await readPoints(stage, chat);
  const at = (step: string, nth: number): Fault => ({ kind: 'kill-at-nth', step, at: nth });
  // Beside the text that came before them stand its calls, noted and not run.
  const withCalls = at('staging-state', countBefore(points, 'staging-state', 2) + 1);
  const deaths = [at('asked', 1), at('staging-state', 1), withCalls, at('heard', 1), at('heard', 2), at('heard', 3)];
  const tally = emptyTally();
  for (const fault of [...deaths, at('asked', 2), at('heard', 4), at('ref-moved', 4)])
    await killRecovery(stage, chat, fault, tally);
  for (const fault of [at('write-made', 1), at('write-content', 2), at('write-dropped', 1)])
    await killRecovery(stage, write, fault, tally);
  finish('SIGKILL of what goes on with a conversation', tally);
  expect(tally.problems).toEqual([]);
  const recovery = ['asked', 'heard', 'ref-moved', 'staging-content', 'staging-made', 'staging-metadata'];
  expect([...tally.hits.keys()]).toEqual(expect.arrayContaining(recovery));
});

test('these were at least 800 runs, and each way on was gone', () => {
  report('SIGKILL of a conversation, all together', { ...total, hits: wentOn });
  expect(total.runs).toBeGreaterThanOrEqual(800);
  expect([...wentOn.keys()].toSorted()).toEqual([
    'after somebody else spoke',
    'another message',
    'the first message',
    'with the same message',
    'without a message',
  ]);
});

test('whichever call to the file system fails, it says so, and what was said is kept', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) {
    const { points } = await readPoints(stage, scene);
    jobs.push(...failCalls(scene, everyNth(points.calls.length, callStride)));
  }
  await sweepChats(jobs, tally, failedCleanly);
  report('file-system calls of a conversation failing (ENOSPC, EIO, EACCES, short writes)', tally);
  expect(tally.problems).toEqual([]);
});

test('whichever git fails, dies, or does its work and cannot say so, the same is true', async () => {
  const tally = emptyTally();
  const jobs: Job[] = [];
  for (const scene of scenes) jobs.push(...(await failEachGit(stage, scene, allWays)));
  await sweepChats(jobs, tally, failedCleanly);
  report('each git of a conversation failing (refused, killed, answer lost)', tally);
  expect(tally.problems).toEqual([]);
});

test('eight processes that speak on one line, half of it the same, are each heard once', async () => {
  const scene = stage.scenes.chat;
  const repository = await stage.copy(scene);
  const { failures, acknowledged, commits, ids, wanted } = await raceToSay(stage, scene, repository, {
    writers: 8,
    each: 16,
  });
  expect(failures).toEqual([]);
  expect(ids.toSorted()).toEqual(wanted.toSorted());
  expect(acknowledged).toHaveLength(128);
  expect(new Set(acknowledged)).toEqual(new Set(commits));
  expect(commits).toHaveLength(72);
  await repository.fsck();
});

async function sweepChats(jobs: Job[], tally: Tally, checkOutcome: CheckOutcome): Promise<void> {
  await sweepWith(stage, jobs, tally, checkOutcome, checkChat);
}

function finish(title: string, tally: Tally): void {
  report(title, tally);
  total.runs += tally.runs;
  total.problems.push(...tally.problems);
}
