/** SIGKILL of the command that continues a killed conversation. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countBefore, killRecovery } from './chat-kills.ts';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { killAt } from './fault.ts';
import { emptyTally, readPoints, report } from './sweep.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

test('a kill of the continuing command is harmless too, wherever the one before has died', async () => {
  const { chat, 'chat-write': write } = stage.scenes;
  const { points } = await readPoints(stage, chat);
  // The earlier text is followed by its calls, recorded and not run.
  const withCalls = killAt('answer-noted', countBefore(points, 'answer-noted', 2) + 1);
  const deaths = [
    killAt('asked', 1),
    killAt('answer-noted', 1),
    withCalls,
    killAt('heard', 1),
    killAt('heard', 2),
    killAt('heard', 3),
  ];
  const tally = emptyTally();
  for (const fault of [...deaths, killAt('asked', 2), killAt('heard', 4), killAt('ref-moved', 4)])
    await killRecovery(stage, chat, fault, tally);
  for (const fault of [killAt('write-made', 1), killAt('write-content', 2), killAt('write-dropped', 1)])
    await killRecovery(stage, write, fault, tally);
  report('SIGKILL of what goes on with a conversation', tally);
  expect(tally.problems).toEqual([]);
  const recovery = ['asked', 'heard', 'ref-moved', 'answer-staged', 'answer-made', 'answer-begun'];
  expect([...tally.hits.keys()]).toEqual(expect.arrayContaining(recovery));
});
