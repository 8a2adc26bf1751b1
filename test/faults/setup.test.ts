/** The fast part of the faults in `teddy init`, and in its removal; `setup.full.test.ts` has them all. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killSetups, openSetupStage, setupNames, type SetupStage } from './setup-scenes.ts';

let stage: SetupStage;
beforeAll(async () => void (stage = await openSetupStage()));
afterAll(() => stage.close());

test.each(setupNames)(
  'a kill of %s between two changes of files leaves nothing that init does not complete, and --remove not restore',
  async (name) => {
    const { problems, runs } = await killSetups(stage, name, 60);
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(3);
  },
);
