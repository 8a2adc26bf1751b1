/** Checks a clone and its remote after a kill, and after rerunning the same command. */
import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { dirname } from 'node:path';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { findLeftovers } from './check-run.ts';
import type { Points } from './fault.ts';
import { runChild, type ChildRun } from './run-child.ts';
import type { Scene } from './scenes.ts';
import { sweepWith, type CheckOutcome, type Job, type Tally } from './sweep.ts';
import { sharedOf, type SyncStage } from './sync-scenes.ts';

/** Ref, or the clone's HEAD, to its value; `shared ` precedes those of the remote. */
type State = ReadonlyMap<string, string>;

export interface KillPlan {
  scene: Scene;
  points: Points;
  durationMs: number;
  before: State;
  after: State;
}

const maxOrphanMs = 5000;

/** Records the steps and the result of a run without faults. */
export async function planKills(stage: SyncStage, scene: Scene): Promise<KillPlan> {
  const repository = await stage.copy(scene);
  const before = await readState(repository);
  const { points, failure, durationMs } = await runChild({ ...toChild(stage, scene), root: repository.root });
  if (points === null || failure !== null) throw new Error(`${scene.name} fails by itself: ${failure?.text}`);
  const after = await readState(repository);
  await stage.discard(repository);
  return { scene, points, durationMs, before, after };
}

export async function sweepSync(
  stage: SyncStage,
  plans: readonly KillPlan[],
  jobs: Job[],
  tally: Tally,
  checkOutcome: CheckOutcome,
): Promise<void> {
  await sweepWith(stage, jobs, tally, checkOutcome, (...args) => checkShared(stage, plans, ...args));
}

export async function checkShared(
  stage: SyncStage,
  plans: readonly KillPlan[],
  scene: Scene,
  repository: ScratchRepository,
  run: Pick<ChildRun, 'acknowledged'>,
): Promise<string[]> {
  const plan = plans.find((one) => one.scene.name === scene.name);
  if (plan === undefined) throw new Error(`Nobody has planned ${scene.name}.`);
  return checkKilled(stage, plan, repository, run);
}

async function checkKilled(
  stage: SyncStage,
  { scene, before, after }: KillPlan,
  repository: ScratchRepository,
  { acknowledged }: Pick<ChildRun, 'acknowledged'>,
): Promise<string[]> {
  const problems: string[] = [];
  const shared = sharedOf(repository);
  await orphansEnded(dirname(repository.root));
  const torn = await readState(repository);
  for (const name of new Set([...before.keys(), ...after.keys(), ...torn.keys()])) {
    const value = torn.get(name);
    // The tracking branch shows the remote before something was pushed there.
    const seen = before.get(name.replace(/^refs\/remotes\/origin\//, 'shared refs/heads/'));
    if (name !== 'status' && ![before.get(name), after.get(name), seen].includes(value))
      problems.push(`${name} is ${value}: neither ${before.get(name)} nor ${after.get(name)}`);
  }
  if (acknowledged.length > 0) problems.push(...compare(after, torn, 'acknowledged, but '));
  for (const one of [repository, shared]) problems.push(...(await findLost(scene, one)));
  problems.push(...(await runAgain(stage, scene, repository)));
  problems.push(...compare(after, await readState(repository), 'after the next one '));
  const left = await repository.git('for-each-ref', '--format=%(refname)', 'refs/teddy/quarantine/');
  if (left !== '') problems.push(`${left} is left`);
  problems.push(...(await findLeftovers(repository)));
  for (const one of [repository, shared]) await one.fsck().catch((error: Error) => problems.push(error.message));
  return problems;
}

async function runAgain(stage: SyncStage, scene: Scene, repository: ScratchRepository): Promise<string[]> {
  const { failure } = await runChild({ ...toChild(stage, scene), root: repository.root });
  const isDone = failure === null || (scene.name.startsWith('land') && failure.code === 'NOTHING_TO_LAND');
  return isDone ? [] : [`the next one fails: ${failure?.text}`];
}

function compare(wanted: State, found: State, what: string): string[] {
  const names = [...new Set([...wanted.keys(), ...found.keys()])];
  const differing = names.filter((name) => wanted.get(name) !== found.get(name));
  return differing.map((name) => `${what}${name} is ${found.get(name)} instead of ${wanted.get(name)}`);
}

function toChild({ program }: SyncStage, { operation }: Scene): { program: string; operation: string } {
  return { program, operation };
}

async function readState(repository: ScratchRepository): Promise<State> {
  const state = new Map([
    ['HEAD', await repository.git('symbolic-ref', 'HEAD')],
    ['status', await repository.git('status', '--porcelain')],
  ]);
  for (const [prefix, one] of [['', repository] as const, ['shared ', sharedOf(repository)] as const]) {
    const rows = await one.git('for-each-ref', '--format=%(refname) %(objectname) %(tree)');
    for (const row of rows.split('\n')) {
      const [ref = '', oid = '', tree = ''] = row.split(' ');
      if (!ref.startsWith('refs/teddy/quarantine/')) state.set(`${prefix}${ref}`, toValue(ref, oid, tree));
    }
  }
  return state;
}

/** A repeated merge or landing has another time; a mark only has to exist. */
function toValue(ref: string, oid: string, tree: string): string {
  if (ref.startsWith('refs/teddy/keep/')) return 'there';
  return /\/(?:main|global)$/.test(ref) ? tree : oid;
}

/** Commits that a branch or an archive had, and that none has now. */
async function findLost(scene: Scene, repository: ScratchRepository): Promise<string[]> {
  const list = ['rev-list', '--branches', '--glob=refs/teddy/archive/*'];
  const place = repository.root.endsWith('.git') ? 'shared.git' : 'work';
  const template = `--git-dir=${scene.template}/${place === 'work' ? 'work/.git' : place}`;
  const now = new Set((await repository.git(...list)).split('\n'));
  const had = (await repository.git(template, ...list)).split('\n');
  const lost = had.filter((oid) => !now.has(oid));
  return lost.length === 0 ? [] : [`${place} has lost ${lost.join()}`];
}

/** Git processes whose teddy was killed run to their end. */
async function orphansEnded(dir: string): Promise<void> {
  const deadline = performance.now() + maxOrphanMs;
  while (performance.now() < deadline && (await hasProcessIn(dir))) await sleep(10);
}

async function hasProcessIn(dir: string): Promise<boolean> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(ids.map((id) => readlink(`/proc/${id}/cwd`).catch(() => '')));
  return places.some((place) => place.startsWith(`${dir}/`));
}
