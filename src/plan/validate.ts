/** Runs a whole plan, in order, on virtual files, to find its effects and all of its problems. */
import type { Position, Problem } from './match/problem.ts';
import type { ParsedPlan, Plan } from './plan.ts';
import type { RepoPath } from '../names.ts';
import type { Effect, PlanWorld } from './effects/effect.ts';
import { perform, toEffect } from './actions/actions.ts';
import { openFileWorld } from './actions/world.ts';
import { layerFiles, type Inspect } from './effects/virtual-files.ts';
import { foldName, pathsTo, twinAmong } from '../session/paths/twin-names.ts';

/** The world for checking a plan. teddy skips the checks for missing parts. */
export interface World extends Omit<PlanWorld, 'ignored' | 'agents' | 'canSearch'> {
  /** Returns the paths that are untracked and ignored. Called at most once, and only for READ's paths. */
  findIgnored?(paths: RepoPath[]): Promise<RepoPath[]>;
  /** Lists the names that INVOKE may use. Called only for a plan with an INVOKE. */
  listAgents?(): Promise<readonly string[]>;
  /** Returns true if RESEARCH has a command. Called only for a plan with a RESEARCH. */
  canSearch?(): Promise<boolean>;
}

interface VirtualRun {
  /** The problems of the parser and of the actions, in the order of the plan's text. */
  problems: Problem[];
  /** The effects of the actions that can run, in order. A command's changes are unknown and ignored. */
  effects: Effect[];
}

/** Changes nothing on disk. teddy must not execute a plan with problems. */
export async function runVirtually({ plan, problems }: ParsedPlan, world: World): Promise<VirtualRun> {
  const files = layerFiles(world.inspect);
  const agents = plan.actions.some(({ type }) => type === 'INVOKE') ? await world.listAgents?.() : undefined;
  const canSearch = plan.actions.some(({ type }) => type === 'RESEARCH') ? await world.canSearch?.() : undefined;
  const ignored = await findIgnored(plan, world);
  const { mask, grammar } = world;
  const written = new Map<string, RepoPath>();
  const inspect: Inspect = async (path) => {
    const found = await files.inspect(path);
    const twin = found.kind === 'absent' ? twinAmong(written, path) : undefined;
    return twin === undefined ? found : { kind: 'absent', twin };
  };
  const seen = {
    inspect,
    ignored,
    ...(agents ? { agents } : {}),
    ...(canSearch === undefined ? {} : { canSearch }),
    ...(mask ? { mask } : {}),
    ...(grammar ? { grammar } : {}),
  };
  const onFiles = openFileWorld(async ({ path, after }) => {
    await files.write(path, after);
    for (const part of pathsTo(path)) written.set(foldName(part), part);
  });
  const run: VirtualRun = { problems: [...problems], effects: [] };
  for (const action of plan.actions) {
    const outcome = await toEffect(action, seen);
    if ('problems' in outcome) {
      // The parser has already reported the mistake at this place.
      run.problems.push(
        ...outcome.problems.filter((problem) => !problems.some((known) => isSamePlace(known, problem))),
      );
      continue;
    }
    const { effect } = outcome;
    run.effects.push(effect);
    if (effect.kind !== 'write') continue;
    await perform(action, effect, onFiles);
  }
  run.problems.sort(comparePositions);
  return run;
}

async function findIgnored({ actions }: Plan, { findIgnored: ask }: World): Promise<ReadonlySet<RepoPath>> {
  const paths = actions.flatMap((action) =>
    action.type === 'READ' && action.resource.kind === 'path' ? [action.resource.path] : [],
  );
  return new Set(ask === undefined || paths.length === 0 ? [] : await ask(paths));
}

function isSamePlace(a: Problem, b: Problem): boolean {
  return a.action === b.action && comparePositions(a, b) === 0;
}

export function comparePositions(a: Position, b: Position): number {
  return a.line - b.line || a.column - b.column;
}
