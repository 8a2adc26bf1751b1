import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTeddy } from '../support/run-teddy.ts';
import { readAdded } from './check-run.ts';
import { raceAppends, reportRace } from './race.ts';
import { openStage, type Stage } from './scenes.ts';

const rounds = 3;

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

test('three processes that append to one line at the same time lose nothing', async () => {
  const scene = stage.scenes['append-off-line'];
  const repository = await stage.copy(scene);
  const result = await raceAppends(stage.program, scene, repository, { writers: 3, each: 6 });
  reportRace('3 processes x 6 appends, off the line', result);
  expect(result.failures).toEqual([]);
  expect(result).toMatchObject({ notes: 18, merges: 0 });
  expect(result.reachable.toSorted()).toEqual(result.acknowledged.toSorted());
  await repository.fsck();
});

test('of two plans at the same time exactly one gets its turn, and the other is refused with a reason', async () => {
  for (let round = 1; round <= rounds; round += 1) {
    const scene = stage.scenes.plan;
    const repository = await stage.copy(scene);
    const plan = (message: string) =>
      runTeddy(['session', 'plan', '-m', message, '--from', stage.answer], { cwd: repository.root });
    const results = await Promise.all([plan('One.'), plan('Another.')]);
    expect(results.map(({ exitCode }) => exitCode).toSorted(), JSON.stringify(results)).toEqual([0, 3]);
    const loser = results.find(({ exitCode }) => exitCode === 3);
    expect(loser?.stderr).toMatch(/^error: .*\[(PLAN_PENDING|REF_MOVED|LOCKED)\]$/m);
    expect(await readAdded(repository, scene)).toEqual(scene.entries);
    await repository.fsck();
  }
});

test('of two executes at the same time exactly one runs the plan, and the other is refused with a reason', async () => {
  for (let round = 1; round <= rounds; round += 1) {
    const scene = stage.scenes.execute;
    const repository = await stage.copy(scene);
    const execute = () => runTeddy(['session', 'execute', '-y'], { cwd: repository.root });
    const results = await Promise.all([execute(), execute()]);
    expect(results.map(({ exitCode }) => exitCode).toSorted(), JSON.stringify(results)).toEqual([0, 3]);
    const loser = results.find(({ exitCode }) => exitCode === 3);
    expect(loser?.stderr).toMatch(/^error: .*\[(NO_PENDING_PLAN|REF_MOVED|LOCKED)\]$/m);
    expect(await readAdded(repository, scene)).toEqual(scene.entries);
    expect(await repository.read('src/made.txt')).toBe('made by the plan\n');
    await repository.fsck();
  }
});
