/** The fast part of the faults that happen to an answer while it arrives. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkRun, readAdded } from './check-run.ts';
import { checkAnswer, readConfirmed } from './check-answer.ts';
import { runChild } from './run-child.ts';
import { openStage, type Stage } from './scenes.ts';
import { emptyTally, readPoints, report, sweep, type Job } from './sweep.ts';

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

const stagingSteps = ['staging-metadata', 'staging-made', 'staging-content', 'staging-state'];

test('a kill while an answer arrives, at each step of a save and at any time, keeps what was saved, once', async () => {
  const scene = stage.scenes.answer;
  const { points, durationMs } = await readPoints(stage, scene);
  expect(new Set(points.steps)).toEqual(new Set([...points.steps, ...stagingSteps]));
  const atSteps = stagingSteps.map((step): Job => ({ scene, fault: { kind: 'kill-at-first', step } }));
  const atTimes = Array.from({ length: 8 }, (_, at): Job => {
    return { scene, kill: { afterMs: durationMs * (0.2 + 0.8 * Math.random()), everything: at % 2 === 0 } };
  });
  const tally = emptyTally();
  await sweep(stage, [...atSteps, ...atTimes], tally, () => []);
  report('SIGKILL while an answer arrives', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(stagingSteps.toSorted());
});

test('a kill of the command that recovers an answer, at each of its steps, keeps the answer once', async () => {
  const scene = stage.scenes.answer;
  const { program } = stage;
  const killed = await stage.copy(scene);
  const fault = { kind: 'kill-at-first' as const, step: 'staging-state' };
  expect(await runChild({ program, operation: 'answer', root: killed.root, fault })).toMatchObject({ hit: fault.step });
  const confirmed = await readConfirmed(killed);
  expect(confirmed.length).toBeGreaterThan(0);

  const template = { ...scene, template: killed.root };
  const whole = await stage.copy(template);
  const recovery = await runChild({ program, operation: 'plan', root: whole.root });
  expect(await readAdded(whole, scene)).toEqual(['snapshot', 'message', 'reply', 'plan']);
  const steps = [...new Set(recovery.points?.steps)].toSorted();
  expect(steps.length).toBeGreaterThan(8);
  const tally = emptyTally();
  for (const step of steps) {
    const repository = await stage.copy(template);
    const { root } = repository;
    // The first of each name is one of the recovery.
    const run = await runChild({ program, operation: 'plan', root, fault: { kind: 'kill-at-first', step } });
    tally.runs += 1;
    if (run.hit !== null) tally.hits.set(run.hit, (tally.hits.get(run.hit) ?? 0) + 1);
    const known = { ...template, entries: ['snapshot', 'message', 'reply', 'plan'] };
    const problems = [
      ...(await checkRun(stage, { ...known, name: 'plan' }, repository, run)),
      ...(await checkAnswer(repository, scene, confirmed)),
    ];
    tally.problems.push(...problems.map((problem) => `at ${run.hit}: ${problem}`));
    await stage.discard(repository);
  }
  report('SIGKILL while an answer is recovered', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(steps);
});
