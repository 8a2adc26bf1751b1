/** Kills of gits that hold a lock, found in a trace of a run in which nothing goes wrong. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { changingCalls } from './fault.ts';
import { runChild } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';
import type { CheckOutcome, Job, Tally } from './sweep.ts';
import { sharedName } from './sync-scenes.ts';

/** A git, and one of its changes of a file while a lock is held. */
export interface LockedCall {
  at: number;
  name: string;
  /** Counted for each name in each process by itself, as strace counts. */
  call: number;
  /** It is a process that this git has started. */
  isChild: boolean;
}

const changing = new Set(changingCalls.split(','));

/** They change files of the user's, index and HEAD: each moment of them counts. */
const checkouts = ['switch', 'merge', 'worktree'];

/** Locks of indexes that are teddy's own, and nobody else's, do not count, nor do those of a remote: its server sees to them. */
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

/** `every`: of the calls, so many are left out between two. */
export function toJobs(scene: Scene, calls: LockedCall[], everything: boolean): Job[] {
  return calls.map((call) => ({ scene, fault: { kind: 'kill-in-git', ...call, everything } }));
}

/** Whoever lost a git has come to its end without it, or says so with a code; killed with it, it says nothing. */
export const diedOrWentOn: CheckOutcome = ({ failure, signal, timedOut, acknowledged }) => {
  if (timedOut) return ['it hangs'];
  if (signal !== null || acknowledged.length > 0) return [];
  return failure?.code == null ? [`not an error of ours: ${failure?.text}`] : [];
};

/** Now and then a run makes a call less, and nothing is killed; where that is usual, the sweep proves nothing. */
export function expectKills({ runs, hits }: Tally): void {
  const kills = [...hits.values()].reduce((sum, count) => sum + count, 0);
  expect(kills).toBeGreaterThan(0.9 * runs);
}
