/** The product works while git packs, prunes and removes around it without a pause. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { environmentOf } from '../support/run-teddy.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { runChild } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';

/** The second one does only the harmful part: it removes empty object folders. */
const loops = 'while :; do git gc -q; git repack -adq; git prune-packed; done & while :; do git prune-packed; done';

/** Ends when the work has ended, and throws unless the repository is intact afterwards. */
export async function besideGc<Value>(repository: ScratchRepository, work: () => Promise<Value>): Promise<Value> {
  const child = spawn('sh', ['-c', loops], {
    cwd: repository.root,
    env: environmentOf({}),
    stdio: 'ignore',
    detached: true,
  });
  try {
    return await work();
  } finally {
    const ended = once(child, 'close');
    // With its git processes, which are in its group.
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    await ended;
    // git's commit graph is a cache: a repack that drops unreferenced objects leaves them in there until the next gc.
    await rm(join(repository.root, '.git/objects/info/commit-graph'), { force: true });
    await repository.fsck();
  }
}

export interface GcTally {
  /** Counts the operations done beside git, by the scene's name. */
  done: Map<string, number>;
  /** REF_MOVED and LOCKED: the writer was told to retry. */
  refusals: number;
  failures: string[];
}

export function emptyGcTally(): GcTally {
  return { done: new Map(), refusals: 0, failures: [] };
}

/** `count` times in one process: only appends and messages can be repeated. */
export async function runBesideGc(copies: Copies, scene: Scene, count: number, tally: GcTally): Promise<void> {
  const { program, copy, discard } = copies;
  const operation = scene.name === 'chat' ? 'say' : scene.operation;
  const repository = await copy(scene);
  const { acknowledged, failure, refusals, stderr } = await besideGc(repository, () =>
    runChild({ program, operation, root: repository.root, count }),
  );
  const name = operation === 'say' ? 'say' : scene.name;
  tally.done.set(name, (tally.done.get(name) ?? 0) + acknowledged.length);
  tally.refusals += refusals;
  if (acknowledged.length < count) tally.failures.push(`${name}: ${failure?.text ?? stderr}`);
  await discard(repository);
}

export function reportGc({ done, refusals, failures }: GcTally): void {
  const all = [...done.values()].reduce((sum, count) => sum + count, 0);
  const each = [...done].map(([name, count]) => `${name} ${count}`).join(', ');
  console.log(
    `faults: beside git gc: ${all} done (${each}), ${refusals} refused and repeated, ${failures.length} failures`,
  );
}
