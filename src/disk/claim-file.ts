/** A lock file, among processes and within one: who has made it holds it, until it lets go or dies. */
import { randomBytes } from 'node:crypto';
import { link, open, readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeFile } from './durable-file.ts';
import { fallBackTo, ignoreSystemError } from './system-error.ts';

export interface Processes {
  /** Changes with every start of the machine. */
  bootId(): Promise<string>;
  /** Another process than this one. Without `startTime` the pid may be of one that came after it. */
  isAlive(pid: number, bootId: string, startTime?: string | null): Promise<boolean>;
  /**
   * Reads the start time of this process in the system's own unit; null when the system does not say. Without it the pid alone
   * tells who it is.
   */
  startTime?(): Promise<string | null>;
}

export interface ClaimOptions extends Processes {
  /** Called after each step of a takeover; a test may crash there. */
  onStep?: ((step: string) => void) | undefined;
}

export interface Claim {
  release(): Promise<void>;
}

interface Holder {
  pid: number;
  bootId: string;
  /** A pid is used again; null: not recorded. */
  startTime: string | null;
  /** No two claims have the same: a claim that was seen once, and is gone, never comes back. */
  nonce: string;
}

interface OwnFile {
  path: string;
  nonce: string;
}

/** Claims of this very process. Any other under its pid is of a process that had the pid before. */
const own = new Set<string>();

/** The directory of `path` has to exist. Throws errors of the system; nothing is claimed then. */
export async function claimFile(path: string, options: ClaimOptions): Promise<Claim | { heldBy: number }> {
  const holder = await readHolder(path);
  if (holder !== null && (await isHeld(holder, options))) return { heldBy: holder.pid };
  const mine = await makeOwnFile(path, options);
  let heldBy: number | null = null;
  try {
    heldBy = await take(path, mine, options);
    if (heldBy === null) await removeLeftovers(path, options);
  } catch (error) {
    await releaseClaim(path, mine);
    throw error;
  } finally {
    await removeFile(mine.path).catch(ignoreSystemError);
    if (heldBy !== null) own.delete(mine.nonce);
  }
  return heldBy === null ? { release: () => releaseClaim(path, mine) } : { heldBy };
}

/** The process that holds it; null: nobody who lives does. */
export async function findHolder(path: string, options: Processes): Promise<number | null> {
  const holder = await readHolder(path);
  return holder !== null && (await isHeld(holder, options)) ? holder.pid : null;
}

/** The same, after others have let go of it; `heldBy` tells who has not after `waitMs`. */
export async function waitForClaim(
  path: string,
  waitMs: number,
  options: ClaimOptions,
): Promise<Claim | { heldBy: number }> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const claim = await claimFile(path, options);
    if ('release' in claim || performance.now() >= deadline) return claim;
    await sleep(5 + Math.random() * 15);
  }
}

async function makeOwnFile(path: string, { bootId, startTime }: Processes): Promise<OwnFile> {
  const nonce = randomBytes(16).toString('hex');
  const mine = { path: `${path}.new-${process.pid}-${nonce}`, nonce };
  const holder: Holder = {
    pid: process.pid,
    bootId: await bootId(),
    startTime: (await startTime?.()) ?? null,
    nonce,
  };
  own.add(nonce);
  try {
    await writeFile(mine.path, JSON.stringify(holder), { flag: 'wx' });
    return mine;
  } catch (error) {
    own.delete(nonce);
    await removeFile(mine.path);
    throw error;
  }
}

/** Null: it is ours. A number: the process that has it. */
async function take(path: string, mine: OwnFile, options: ClaimOptions): Promise<number | null> {
  for (;;) {
    // Linked as a whole: nobody ever reads half a claim.
    if (await linkNew(mine.path, path)) return null;
    const outcome = await takeOver(path, mine, options);
    if (outcome === 'taken') return null;
    if (outcome !== 'changed') return outcome;
  }
}

/**
 * A dead holder has one successor: whoever links `.after-<its nonce>`. Where that one died before it had replaced the claim,
 * it has one successor in turn, and so on. Only the end of this chain may replace the claim.
 */
async function takeOver(path: string, mine: OwnFile, options: ClaimOptions): Promise<number | 'taken' | 'changed'> {
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

/** False: somebody was faster, and has let go of it by now or has it. */
async function replaceDead(path: string, mine: OwnFile, dead: string[], { onStep }: ClaimOptions): Promise<boolean> {
  let isStillDead = false;
  try {
    isStillDead = dead.includes((await readHolder(path))?.nonce ?? '');
    if (isStillDead) await rename(mine.path, path);
    onStep?.('claim-replaced');
  } finally {
    // Nobody else succeeds while our claim stands.
    for (const nonce of isStillDead ? dead : dead.slice(-1)) await removeFile(successorOf(path, nonce));
  }
  return isStillDead;
}

function successorOf(path: string, nonce: string): string {
  return `${path}.after-${nonce}`;
}

/** Its own file is gone already, unless the system refused that once. */
async function releaseClaim(path: string, mine: OwnFile): Promise<void> {
  try {
    if ((await readHolder(path))?.nonce === mine.nonce) await removeFile(path);
  } finally {
    await removeFile(mine.path).catch(ignoreSystemError);
    own.delete(mine.nonce);
  }
}

async function isHeld({ pid, bootId, startTime, nonce }: Holder, options: Processes): Promise<boolean> {
  return own.has(nonce) || (pid > 0 && pid !== process.pid && options.isAlive(pid, bootId, startTime));
}

/** Removes what dead processes left of their attempts. Successors of claims before ours find that it has changed. */
async function removeLeftovers(path: string, options: Processes): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix)) continue;
    const [, pid, nonce] = /^new-(\d+)-([0-9a-f]+)$/.exec(name.slice(prefix.length)) ?? [];
    const isLeft =
      pid === undefined
        ? name.startsWith(`${prefix}after-`)
        : !(await isHeld(await toHolder(Number(pid), nonce ?? '', options), options));
    if (isLeft) await removeFile(join(dirname(path), name)).catch(ignoreSystemError);
  }
}

/** Knows the holder by the name of its file alone. */
async function toHolder(pid: number, nonce: string, { bootId }: Processes): Promise<Holder> {
  return { pid, bootId: await bootId(), startTime: null, nonce };
}

/** Null: there is none. One that is damaged (the machine has crashed) is of nobody who lives. */
async function readHolder(path: string): Promise<Holder | null> {
  const file = await open(path, 'r').catch(fallBackTo(null, 'ENOENT'));
  if (file === null) return null;
  try {
    const { ino, mtimeNs } = await file.stat({ bigint: true });
    return parseHolder(await file.readFile('utf8'), `${ino}-${mtimeNs}`);
  } finally {
    await file.close();
  }
}

function parseHolder(text: string, otherNonce: string): Holder {
  const { pid, bootId, startTime, nonce } = parseObject(text);
  return {
    pid: Number.isSafeInteger(pid) && Number(pid) > 0 ? Number(pid) : 0,
    bootId: typeof bootId === 'string' ? bootId : '',
    startTime: typeof startTime === 'string' ? startTime : null,
    // It becomes part of a file's name.
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
