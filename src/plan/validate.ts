/** Runs a whole plan, in order, on virtual files: what it will do, and everything that is wrong with it. */
import type { ParsedPlan, Position, Problem } from './plan.ts';
import { type Effect, toEffect } from './validate-action.ts';
import { type Inspect, layerFiles } from './virtual-files.ts';

interface VirtualRun {
  /** The parser's problems and those of the actions, in the order of the plan's text. */
  problems: Problem[];
  /** Of the actions that can run, in order. What a command will change is not known, and left out of account. */
  effects: Effect[];
}

/** A plan with problems is not to be executed. Nothing on disk is changed. */
export async function runVirtually({ plan, problems }: ParsedPlan, inspect: Inspect): Promise<VirtualRun> {
  const files = layerFiles(inspect);
  const run: VirtualRun = { problems: [...problems], effects: [] };
  for (const action of plan.actions) {
    const outcome = await toEffect(action, files.inspect);
    if ('problems' in outcome) {
      // What the parser has found at a place is not said twice, in other words.
      run.problems.push(
        ...outcome.problems.filter((problem) => !problems.some((known) => isSamePlace(known, problem))),
      );
      continue;
    }
    const { effect } = outcome;
    run.effects.push(effect);
    if (effect.kind === 'write') await files.write(effect.path, effect.after);
  }
  run.problems.sort(comparePositions);
  return run;
}

function isSamePlace(a: Problem, b: Problem): boolean {
  return a.action === b.action && comparePositions(a, b) === 0;
}

function comparePositions(a: Position, b: Position): number {
  return a.line - b.line || a.column - b.column;
}
