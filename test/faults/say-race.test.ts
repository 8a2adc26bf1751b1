import { afterAll, beforeAll, expect, test } from 'vitest';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { raceToSay } from './say-race.ts';
import { readStatus } from './scenes.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

test('four processes that speak on one line, half of it the same, are each heard once', async () => {
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
