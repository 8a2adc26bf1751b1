import { afterAll, beforeAll, expect, test } from 'vitest';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { emptyGcTally, reportGc, runBesideGc } from './gc.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

test('what is said on a line gets there beside a git that packs and prunes all the time', async () => {
  const tally = emptyGcTally();
  await runBesideGc(stage, stage.scenes.chat, 30, tally);
  reportGc(tally);
  expect(tally.failures).toEqual([]);
  expect(tally.done.get('say')).toBe(30);
});
