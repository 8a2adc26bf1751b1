import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildChild } from './build-child.ts';
import { openChatStage } from './chat-scenes.ts';
import { raceAppends, reportRace } from './race.ts';
import { raceToSay } from './say-race.ts';
import { openStage, readStatus, type Stage } from './scenes.ts';
import { raceToBegin } from './write-race.ts';
import { openWriteStage } from './write-scenes.ts';

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

describe('eight processes that append to one session', () => {
  test('lose none of 256 entries off the line', async () => {
    const scene = stage.scenes['append-off-line'];
    const repository = await stage.copy(scene);
    const result = await raceAppends(stage.program, scene, repository, { writers: 8, each: 32 });
    reportRace('8 processes x 32 appends, off the line', result);
    expect(result.failures).toEqual([]);
    expect(result.reachable.toSorted()).toEqual(result.acknowledged.toSorted());
    expect(result).toMatchObject({ notes: 256, merges: 0 });
    expect(result.entryIds.size).toBe(256);
    await repository.fsck();
  });

  test('lose none of 64 entries on the line, and leave the index and the user’s files unchanged', async () => {
    const scene = stage.scenes['append-on-line'];
    const repository = await stage.copy(scene);
    const result = await raceAppends(stage.program, scene, repository, { writers: 8, each: 8 });
    reportRace('8 processes x 8 appends, on the line', result);
    expect(result.failures).toEqual([]);
    expect(result.reachable.toSorted()).toEqual(result.acknowledged.toSorted());
    expect(result).toMatchObject({ notes: 64, merges: 0 });
    expect(await readStatus(repository)).toEqual(scene.status);
    await repository.fsck();
  });

  test('would lose entries without the old value in the ref transaction', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'teddy-control-'));
    const program = await buildChild(dir, 'without-old-value');
    const scene = stage.scenes['append-off-line'];
    const result = await raceAppends(program, scene, await stage.copy(scene), { writers: 8, each: 32 });
    reportRace('the same without the old value (control)', result);
    expect(result.failures).toEqual([]);
    expect(result.acknowledged).toHaveLength(256);
    expect(result.notes).toBeLessThan(256);
    await rm(dir, { recursive: true });
  });
});

test('eight processes that send messages to one line, half of them the same, are each recorded once', async () => {
  const chat = await openChatStage();
  const scene = chat.scenes.chat;
  const repository = await chat.copy(scene);
  const { failures, acknowledged, commits, ids, wanted } = await raceToSay(chat, scene, repository, {
    writers: 8,
    each: 16,
  });
  expect(failures).toEqual([]);
  expect(ids.toSorted()).toEqual(wanted.toSorted());
  expect(acknowledged).toHaveLength(128);
  expect(new Set(acknowledged)).toEqual(new Set(commits));
  expect(commits).toHaveLength(72);
  await repository.fsck();
  await chat.close();
});

test('exactly one of two processes that begin at the same time gets its session, 200 times', async () => {
  const writes = await openWriteStage();
  const repository = await writes.copy(writes.scenes['write-create']);
  const { begun, refused, failures } = await raceToBegin(writes, repository, 200);
  expect(failures).toEqual([]);
  expect({ begun, refused }).toEqual({ begun: 200, refused: 200 });
  expect(await repository.list('.git/teddy/write_sessions')).toEqual([]);
  await writes.close();
});
