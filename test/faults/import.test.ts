import { afterAll, beforeAll, expect, test } from 'vitest';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { readImportSteps } from './known-steps.ts';
import { killImports, openImportScene } from './import-kills.ts';
import { runChild } from './run-child.ts';
import { atRandomTimes, emptyTally, report, type Job } from './sweep.ts';

let stage: ChatStage;
beforeAll(async () => void (stage = await openChatStage()));
afterAll(() => stage.close());

test('a kill of an import leaves no session or the whole one, and the next import makes it once', async () => {
  const scene = await openImportScene(stage);
  const { program } = stage;
  const { root } = await stage.copy(scene);
  const { points, durationMs, failure } = await runChild({ program, operation: 'import', root, name: scene.source });
  expect(failure).toBeNull();
  const names = [...new Set(points?.steps)].toSorted();
  expect(names).toEqual(expect.arrayContaining(['ref', 'ref-moved', ...readImportSteps()]));
  const jobs = names.map((step): Job => ({ scene, fault: { kind: 'kill-at-first', step } }));
  jobs.push({ scene, fault: { kind: 'kill-in-transaction', at: 1 } });
  const tally = emptyTally();
  await killImports(stage, scene, [...jobs, ...atRandomTimes(scene, durationMs, 1)], tally, () => []);
  report('SIGKILL of an import', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual([...names, 'update-ref']);
});
