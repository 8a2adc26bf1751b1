/**
 * A lock file between processes and within one. The process that makes the file holds it until that process releases it
 * or dies.
 */
import { randomBytes } from 'node:crypto';
import { link, open, readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeFile, replaceDurably } from './durable-file.ts';
import { fallBackTo, ignoreSystemError } from './system-error.ts';

export interface Processes {
  /** Changes each time the machine boots. */
  bootId(): Promise<string>;
  /** Checks a process other than this one. Without `startTime`, a later process that reuses the pid counts as alive. */
  isAlive(pid: number, bootId: string, startTime?: string | null): Promise<boolean>;
  /**
   * Reads this process's start time in the system's own unit; null when the system does not report it. In that case,
   * only the pid identifies the process.
   */
  startTime?(): Promise<string | null>;
}

export interface ClaimOptions extends Processes {
  /** Called after each step of a takeover, so that a test can simulate a crash at that step. */
  onStep?: ((step: string) => void) | undefined;
}

export interface Claim {
  release(): Promise<void>;
}

/** The process that holds a file, as recorded in the file's JSON. */
export interface Holder {
  pid: number;
  bootId: string;
  /** Distinguishes processes that had the same pid; null when it was not recorded. */
  startTime: string | null;
  /** Unique to each claim, so a vanished claim never reappears. */
  nonce: string;
}

interface OwnFile {
  path: string;
  holder: Holder;
}

interface TakeOptions extends ClaimOptions {
  /** Makes the new content of a file that must already exist. By default, claiming creates a missing file. */
  renew?: (holder: Holder, before: string) => string;
}

/** This process's own claims. Any other claim under its pid belongs to an earlier process with the same pid. */
const own = new Set<string>();

/** Claims `path`, in a directory that must exist. Throws system errors, and then claims nothing. */
export async function claimFile(path: string, options: ClaimOptions): Promise<Claim | { heldBy: number }> {
  const outcome = await take(path, options);
  if ('holder' in outcome) return { release: () => releaseClaim(path, outcome.holder) };
  if (outcome.heldBy === null) throw new Error(`${path} is neither claimed nor held.`);
  return { heldBy: outcome.heldBy };
}

/**
 * Takes over a file that records more than its holder, once the holder is dead. The takeover is durable, and a crash
 * never loses the file. `heldBy` is null when the file is gone.
 */
export function takeOverFile(
  path: string,
  options: Required<Pick<TakeOptions, 'renew'>> & ClaimOptions,
): Promise<{ holder: Holder } | { heldBy: number | null }> {
  return take(path, options);
}

/** Describes this process as the holder of a file that it is about to write. */
export async function newHolder({ bootId, startTime }: Processes): Promise<Holder> {
  const nonce = randomBytes(16).toString('hex');
  own.add(nonce);
  return { pid: process.pid, bootId: await bootId(), startTime: (await startTime?.()) ?? null, nonce };
}

/** Gives the file up: from now on, this process treats it as a dead process's file. */
export function releaseHolder({ nonce = '' }: Partial<Holder>): void {
  own.delete(nonce);
}

/** Returns the pid of the living process that holds the file, or null when none does. */
export async function findHolder(path: string, options: Processes): Promise<number | null> {
  const holder = await readHolder(path);
  return holder !== null && (await isHeld(holder, options)) ? holder.pid : null;
}

/** Like `claimFile`, but waits for others to release the file; `heldBy` is the process that still holds it after `waitMs`. */
export function waitForClaim(path: string, waitMs: number, options: ClaimOptions): Promise<Claim | { heldBy: number }> {
  return waitWhileHeld(waitMs, () => claimFile(path, options));
}

export async function waitWhileHeld<Taken extends object>(
  waitMs: number,
  attempt: () => Promise<Taken | { heldBy: number }>,
): Promise<Taken | { heldBy: number }> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const taken = await attempt();
    if (!('heldBy' in taken) || taken.heldBy === null || performance.now() >= deadline) return taken;
    await sleep(5 + Math.random() * 15);
  }
}

async function take(path: string, options: TakeOptions): Promise<{ holder: Holder } | { heldBy: number | null }> {
  const before = await readHolder(path);
  if (before !== null && (await isHeld(before, options))) return { heldBy: before.pid };
  if (before === null && options.renew !== undefined) return { heldBy: null };
  const holder = await newHolder(options);
  const mine = { path: attemptAt(path, holder), holder };
  let isTaken = false;
  try {
    await writeFile(mine.path, JSON.stringify(holder), { flag: 'wx' });
    const heldBy = await takeAs(path, mine, options);
    isTaken = heldBy === 'taken';
    if (heldBy !== 'taken') return { heldBy };
    await removeLeftovers(path, options);
    return { holder };
  } catch (error) {
    if (options.renew === undefined) await releaseClaim(path, holder);
    isTaken = false;
    throw error;
  } finally {
    if (!isTaken) releaseHolder(holder);
    await removeFile(mine.path).catch(ignoreSystemError);
  }
}

/** Returns the pid of the process that holds the file, or null when the file is gone. */
async function takeAs(path: string, mine: OwnFile, options: TakeOptions): Promise<number | 'taken' | null> {
  for (;;) {
    // A link appears with its whole content, so no process ever reads half a claim.
    if (options.renew === undefined && (await linkNew(mine.path, path))) return 'taken';
    const outcome = await takeOver(path, mine, options);
    if (outcome !== 'changed') return outcome;
    if (options.renew !== undefined && (await readHolder(path)) === null) return null;
  }
}

/**
 * Takes over from a dead holder, which has one successor: the process that links `.after-<its nonce>`. If the successor
 * died before it replaced the claim, it has one successor in turn, and so on. Only the end of this chain may replace
 * the claim.
 */
async function takeOver(path: string, mine: OwnFile, options: TakeOptions): Promise<number | 'taken' | 'changed'> {
  const dead: string[] = [];
  for (let at = path; ;) {
    const holder = await readHolder(at);
    if (holder === null) return 'changed';
    if (await isHeld(holder, options)) return holder.pid;
    dead.push(holder.nonce);
    at = successorOf(path, holder.nonce);
    if (await linkNew(mine.path, at)) {
      options.onStep?.('claim-succeeds');
      return (await replaceDead(path, mine, dead, options)) ? 'taken' : 'changed';
    }
  }
}

/** Returns false when another process was faster; it holds the claim or has already released it. */
async function replaceDead(
  path: string,
  { path: minePath, holder }: OwnFile,
  dead: string[],
  { onStep, renew }: TakeOptions,
): Promise<boolean> {
  let isStillDead = false;
  try {
    const before = await readHolder(path);
    isStillDead = before !== null && dead.includes(before.nonce);
    if (before !== null && isStillDead)
      await (renew ? replaceDurably(path, renew(holder, before.text), 0o600) : rename(minePath, path));
    onStep?.('claim-replaced');
  } finally {
    // No other process can take over while this claim exists.
    for (const nonce of isStillDead ? dead : dead.slice(-1)) await removeFile(successorOf(path, nonce));
  }
  return isStillDead;
}

function attemptAt(path: string, { pid, nonce }: Holder): string {
  return `${path}.new-${pid}-${nonce}`;
}

function successorOf(path: string, nonce: string): string {
  return `${path}.after-${nonce}`;
}

async function releaseClaim(path: string, holder: Holder): Promise<void> {
  try {
    if ((await readHolder(path))?.nonce === holder.nonce) await removeFile(path);
    // The system may have refused to remove this file when the process took the claim.
    await removeFile(attemptAt(path, holder)).catch(ignoreSystemError);
  } finally {
    releaseHolder(holder);
  }
}

export async function isHeld({ pid, bootId, startTime, nonce }: Holder, options: Processes): Promise<boolean> {
  return own.has(nonce) || (pid > 0 && pid !== process.pid && options.isAlive(pid, bootId, startTime));
}

/**
 * Removes what dead processes left behind when they tried to claim a file that this process holds or that is gone.
 * Successors of earlier claims notice that the file has changed.
 */
export async function removeLeftovers(path: string, options: Processes): Promise<void> {
  const prefix = `${basename(path)}.`;
  const bootId = await options.bootId();
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix)) continue;
    const [, pid, nonce] = /^new-(\d+)-([0-9a-f]+)$/.exec(name.slice(prefix.length)) ?? [];
    const isLeft =
      pid === undefined
        ? name.startsWith(`${prefix}after-`) || name === `${prefix}tmp`
        : !(await isHeld({ pid: Number(pid), nonce: nonce ?? '', bootId, startTime: null }, options));
    if (isLeft) await removeFile(join(dirname(path), name)).catch(ignoreSystemError);
  }
}

/** Reads the holder of the file; null when the file is missing. A file that a crash has damaged has no living holder. */
export async function readHolder(path: string): Promise<(Holder & { text: string }) | null> {
  const file = await open(path, 'r').catch(fallBackTo(null, 'ENOENT'));
  if (file === null) return null;
  try {
    const { ino, mtimeNs } = await file.stat({ bigint: true });
    const text = await file.readFile('utf8');
    return { ...parseHolder(parseObject(text), `${ino}-${mtimeNs}`), text };
  } finally {
    await file.close();
  }
}

/** Reads the holder from fields that anybody may have written. Uses `otherNonce` when they contain no valid nonce. */
export function parseHolder({ pid, bootId, startTime, nonce }: Record<string, unknown>, otherNonce = ''): Holder {
  return {
    pid: Number.isSafeInteger(pid) && Number(pid) > 0 ? Number(pid) : 0,
    bootId: typeof bootId === 'string' ? bootId : '',
    startTime: typeof startTime === 'string' ? startTime : null,
    // The nonce becomes part of a file name.
    nonce: typeof nonce === 'string' && /^[0-9a-f]{32}$/.test(nonce) ? nonce : otherNonce,
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function linkNew(from: string, to: string): Promise<boolean> {
  return link(from, to).then(() => true, fallBackTo(false, 'EEXIST'));
}
