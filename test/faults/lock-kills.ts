/** Kills of gits that hold a lock, found in a trace of a run in which nothing goes wrong. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changingCalls } from './fault.ts';
import { runChild } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';
import type { CheckOutcome, Job } from './sweep.ts';

/** A git, the change of a file in it, and the lock that it holds there. */
export interface LockedCall {
  at: number;
  call: number;
  lock: string;
}

const changing = new Set(changingCalls.split(','));

/** They change files of the user's, index and HEAD: each moment of them counts. */
const checkouts = ['switch', 'merge', 'worktree'];

/** Locks of indexes that are teddy's own, and nobody else's, do not count. */
export async function findLockedCalls(copies: Copies, scene: Scene): Promise<LockedCall[]> {
  const { root } = await copies.copy(scene);
  const dir = await mkdtemp(join(tmpdir(), 'teddy-trace-'));
  const fault = { kind: 'trace-gits', dir } as const;
  const { failure, points } = await runChild({ program: copies.program, operation: scene.operation, root, fault });
  if (failure !== null) throw new Error(`${scene.name} fails by itself: ${failure.text}`);
  const found: LockedCall[] = [];
  for (const name of await readdir(dir)) {
    const isCheckout = checkouts.includes(points?.gits[Number(name) - 1] ?? '');
    const calls = readLockedCalls(await readFile(join(dir, name), 'utf8'), isCheckout);
    found.push(...calls.map((call) => ({ at: Number(name), ...call })));
  }
  await rm(dir, { recursive: true });
  return found.toSorted((a, b) => a.at - b.at || a.call - b.call);
}

function readLockedCalls(trace: string, isCheckout: boolean): Omit<LockedCall, 'at'>[] {
  const found: Omit<LockedCall, 'at'>[] = [];
  const held = new Set<string>();
  let call = 0;
  for (const row of trace.split('\n')) {
    const [, name = '', rest = ''] = /^\d+\s+(\w+)\((.*)/.exec(row) ?? [];
    const [, path = ''] = /"([^"]*\.(?:lock|new))"/.exec(rest) ?? [];
    if (name === 'openat' && rest.includes('O_CREAT') && !path.includes('/teddy/index-') && isLock(path))
      held.add(path);
    if (!changing.has(name)) continue;
    call += 1;
    const [lock] = held;
    if (lock !== undefined || isCheckout) found.push({ call, lock: lock?.replace(/^.*\.git\//, '') ?? 'none' });
    if (/^(?:rename|unlink)/.test(name)) held.delete(path);
  }
  return found;
}

function isLock(path: string): boolean {
  return path.endsWith('.lock') && !path.includes('/teddy/snapshot-');
}

/** `every`: of the calls, so many are left out between two. */
export function toJobs(scene: Scene, calls: LockedCall[], everything: boolean): Job[] {
  return calls.map(({ at, call }) => ({ scene, fault: { kind: 'kill-in-git', at, call, everything } }));
}

/** Whoever lost a git has come to its end without it, or says so with a code; killed with it, it says nothing. */
export const diedOrWentOn: CheckOutcome = ({ failure, signal, timedOut, acknowledged }) => {
  if (timedOut) return ['it hangs'];
  if (signal !== null || acknowledged.length > 0) return [];
  return failure?.code == null ? [`not an error of ours: ${failure?.text}`] : [];
};
