/** Kills of git processes that hold a lock, found in a trace of a run without faults. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { changingCalls } from './fault.ts';
import { runChild } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';
import type { CheckOutcome, Job, Tally } from './sweep.ts';
import { sharedName } from './sync-scenes.ts';

/** A git, and one of its file changes while a lock is held. */
export interface LockedCall {
  at: number;
  name: string;
  /** Counted separately for each name in each process, like strace does. */
  call: number;
  /** It is a process that this git has started. */
  isChild: boolean;
}

const changing = new Set(changingCalls.split(','));

/** These change the user's files, index and HEAD: each moment counts. */
const checkouts = ['switch', 'merge', 'worktree'];

/** Locks on indexes that are only teddy's own do not count, nor do a remote's: its server handles them. */
export async function findLockedCalls(copies: Copies, scene: Scene): Promise<LockedCall[]> {
  const { root } = await copies.copy(scene);
  const dir = await mkdtemp(join(tmpdir(), 'teddy-trace-'));
  const fault = { kind: 'trace-gits', dir } as const;
  const { failure, points } = await runChild({ program: copies.program, operation: scene.operation, root, fault });
  if (failure !== null) throw new Error(`${scene.name} fails by itself: ${failure.text}`);
  const found: LockedCall[] = [];
  for (const name of (await readdir(dir)).toSorted((a, b) => Number(a) - Number(b))) {
    const isCheckout = checkouts.includes(points?.git[Number(name) - 1] ?? '');
    const calls = readLockedCalls(await readFile(join(dir, name), 'utf8'), isCheckout);
    found.push(...calls.map((call) => ({ at: Number(name), ...call })));
  }
  await rm(dir, { recursive: true });
  return found;
}

function readLockedCalls(trace: string, isCheckout: boolean): Omit<LockedCall, 'at'>[] {
  const found: Omit<LockedCall, 'at'>[] = [];
  const held = new Set<string>();
  const counts = new Map<string, number>();
  for (const row of trace.split('\n')) {
    const [, pid = '', name = '', rest = ''] = /^(\d+)\s+(\w+)\((.*)/.exec(row) ?? [];
    const [, path = ''] = /"([^"]*\.(?:lock|new))"/.exec(rest) ?? [];
    if (name === 'openat' && rest.includes('O_CREAT') && isLock(path) && !rest.includes(`/${sharedName}>`))
      held.add(path);
    if (!changing.has(name)) continue;
    const call = (counts.get(`${pid} ${name}`) ?? 0) + 1;
    counts.set(`${pid} ${name}`, call);
    if (held.size > 0 || isCheckout) found.push({ name, call, isChild: !trace.startsWith(`${pid} `) });
    if (/^(?:rename|unlink)/.test(name)) held.delete(path);
  }
  return found;
}

function isLock(path: string): boolean {
  return path.endsWith('.lock') && !/\/teddy\/(?:snapshot|index)-/.test(path);
}

/** `every`: this many calls are skipped between two. */
export function toJobs(scene: Scene, calls: LockedCall[], everything: boolean): Job[] {
  return calls.map((call) => ({ scene, fault: { kind: 'kill-in-git', ...call, everything } }));
}

/**
 * A process that lost its git has finished without it, or reports that with a code; killed with it, it reports nothing.
 */
export const diedOrWentOn: CheckOutcome = ({ failure, signal, timedOut, acknowledged }) => {
  if (timedOut) return ['it hangs'];
  if (signal !== null || acknowledged.length > 0) return [];
  return failure?.code == null ? [`not an error of ours: ${failure?.text}`] : [];
};

/** Occasionally a run makes one call less, and nothing is killed; if that is usual, the sweep proves nothing. */
export function expectKills({ runs, hits }: Tally): void {
  const kills = [...hits.values()].reduce((sum, count) => sum + count, 0);
  expect(kills).toBeGreaterThan(0.9 * runs);
}
