/** Runs faults in many copies of a scene, two at a time, and counts the points that were hit. */
import { killAt, type Fault, type Points } from './fault.ts';
import { checkRun } from './check-run.ts';
import { runChild, type ChildJob, type ChildRun } from './run-child.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import type { Copies, Scene, Stage } from './scenes.ts';

export interface Tally {
  runs: number;
  /** How often each point failed. */
  hits: Map<string, number>;
  problems: string[];
}

/** `name`: the process's, if another one has run there before. */
export type Job = { scene: Scene; name?: string } & ({ fault: Fault } | { kill: NonNullable<ChildJob['kill']> });

export type CheckOutcome = (run: ChildRun, job: Job) => string[];

const lanes = 2;

export function emptyTally(): Tally {
  return { runs: 0, hits: new Map(), problems: [] };
}

/** Returns the faults after a run, one sentence each; empty if all is right. */
type Check = (scene: Scene, repository: ScratchRepository, run: ChildRun) => Promise<string[]>;

export async function sweep(stage: Stage, jobs: Job[], tally: Tally, checkOutcome: CheckOutcome): Promise<void> {
  await sweepWith(stage, jobs, tally, checkOutcome, (...args) => checkRun(stage, ...args));
}

export async function sweepWith(
  copies: Copies,
  jobs: Job[],
  tally: Tally,
  checkOutcome: CheckOutcome,
  check: Check,
): Promise<void> {
  const rest = [...jobs];
  const lane = async () => {
    for (let job = rest.shift(); job !== undefined; job = rest.shift())
      await runJob(copies, job, tally, checkOutcome, check);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function runJob(copies: Copies, job: Job, tally: Tally, checkOutcome: CheckOutcome, check: Check): Promise<void> {
  const { scene, ...wish } = job;
  const repository = await copies.copy(scene);
  const run = await runChild({ program: copies.program, operation: scene.operation, root: repository.root, ...wish });
  tally.runs += 1;
  if (run.hit !== null) tally.hits.set(run.hit, (tally.hits.get(run.hit) ?? 0) + 1);
  const found = [...checkOutcome(run, job), ...(await check(scene, repository, run).catch(toProblems))];
  const where = `${scene.name}, ${JSON.stringify(wish)} at ${run.hit ?? 'no point'}`;
  for (const problem of found) {
    // Immediately, since a sweep takes minutes.
    console.log(`  ${where}: ${problem}`);
    tally.problems.push(`${where}: ${problem}`);
  }
  await copies.discard(repository);
}

function toProblems(error: unknown): string[] {
  return [`the check itself failed: ${String(error)}`];
}

/** The points in a run without faults, and its duration. */
export async function readPoints(
  copies: Copies,
  scene: Scene,
  name?: string,
): Promise<{ points: Points; durationMs: number }> {
  const { root } = await copies.copy(scene);
  const { program } = copies;
  const { points, failure, durationMs } = await runChild({ program, operation: scene.operation, root, name });
  if (points === null || failure !== null) throw new Error(`${scene.name} fails by itself: ${failure?.text}`);
  return { points, durationMs };
}

/** A kill at the first step of each of these names. */
export function killAtFirst(scene: Scene, names: readonly string[]): Job[] {
  return names.map((name) => ({ scene, fault: killAt(name) }));
}

/** Every second one with its git processes. Nothing happens before the program has been loaded. */
export function atRandomTimes(scene: Scene, durationMs: number, count: number): Job[] {
  return Array.from({ length: count }, (_, at) => {
    return { scene, kill: { afterMs: durationMs * (0.25 + 0.8 * Math.random()), everything: at % 2 === 0 } };
  });
}

export function wasKilled({ signal, hit }: ChildRun): string[] {
  return signal === 'SIGKILL' && hit !== null ? [] : [`it was not killed (${String(signal)})`];
}

/** The number of calls in a run varies a little with simultaneous events; the last ones may not be reached. */
export function wasKilledOrDone(run: ChildRun): string[] {
  return run.hit === null && run.exitCode === 0 ? [] : wasKilled(run);
}

/** 1, 1 + stride, ... up to `count`. */
export function everyNth(count: number, stride = 1): number[] {
  return Array.from({ length: Math.ceil(count / stride) }, (_, at) => 1 + at * stride);
}

/** One line for the README, then the points with their counts. */
export function report(title: string, tally: Tally): void {
  const rows = [...tally.hits].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${name} ${count}`);
  console.log(`faults: ${title}: ${tally.runs} runs, ${tally.problems.length} problems`);
  if (rows.length > 0) console.log(`  hit: ${rows.join(', ')}`);
}
