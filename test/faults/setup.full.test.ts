/** A kill before each change of a file, and before each git, in `teddy init` and in its removal. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killSetups, openSetupStage, setupNames, type SetupStage } from './setup-scenes.ts';

let stage: SetupStage;
beforeAll(async () => void (stage = await openSetupStage()));
afterAll(() => stage.close());

test.each(setupNames)('a kill of %s anywhere loses nothing, and the next command completes it', async (name) => {
  const { problems, runs } = await killSetups(stage, name, 1);
  expect(problems).toEqual([]);
  expect(runs).toBeGreaterThan(150);
});
