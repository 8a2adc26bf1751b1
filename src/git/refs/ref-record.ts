/** Records which refs a process is about to move. If git and teddy die, a later command can then recognize their locks. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GitKilledError, TeddyError } from '../../errors.ts';
import type { Oid } from '../../names.ts';
import { removeFile, replaceFile } from '../../disk/replace-file.ts';
import { isHeld, readBootId, toReleasedName } from '../../disk/process-identity.ts';
import { fallBackTo } from '../../disk/system-error.ts';
import { type RepositoryLayout, readWorkTreeDirs } from '../run/layout.ts';
import { findLivingGits } from '../run/living-gits.ts';
import { findHolders } from '../../disk/lock-holders.ts';
import { findLock, probeUpdates, type ProbedUpdate } from './refs.ts';
import { maxDeaths, type Environment, type GitRunner } from '../run/run.ts';

const lockWaitMs = 1000;
/** If the system reveals running git processes and there are none, a short wait is enough. */
const settledMs = 100;
const crashWindowMs = 5000;
/** File times advance in steps. */
const clockStepMs = 50;

/** A lock that git may hold for teddy, with its possible content. */
interface ExpectedLock {
  path: string;
  values: readonly string[] | typeof any;
}

/** When teddy wrote the note that git may take locks, and when git was last seen at work. */
export interface AtWork {
  notedMs: number;
  latestMs: number;
}

/** Accepts any content, because this lock's content proves nothing. */
const any = Symbol('any');

/** Releases a dead git's locks. Returns false when some of them are not settled. */
type ReleaseLocks = (atWork: AtWork) => Promise<boolean>;

/**
 * Runs `move` under a note of the refs that it moves. Passes `move` a function that releases the locks of a git that
 * died during the move. Keeps the note while one of these locks may still exist.
 */
export async function withRefRecord<Value>(
  git: GitRunner,
  layout: LockDirs,
  updates: readonly NotedUpdate[],
  move: (release: ReleaseLocks) => Promise<Value>,
): Promise<Value> {
  return settleNote(await noteUpdates(layout, updates), move, (atWork) =>
    releaseRefLocks(git, layout, updates, atWork),
  );
}

async function settleNote<Value>(
  note: string,
  move: (release: ReleaseLocks) => Promise<Value>,
  release: ReleaseLocks,
): Promise<Value> {
  let isSettled = true;
  try {
    return await move(async (atWork) => {
      isSettled = false;
      isSettled = await release(atWork);
      return isSettled;
    });
  } finally {
    // The next command checks the note again, even in this process.
    await (isSettled ? removeFile(note) : rename(note, toReleasedName(note)));
  }
}

/** Writes the note and returns its path. Throws WRITE_FAILED, DISK_FULL. */
async function noteUpdates({ commonDir, gitDir }: GitDirs, updates: readonly NotedUpdate[]): Promise<string> {
  const name = `refs-${process.pid}-${await readBootId()}-${randomBytes(4).toString('hex')}.json`;
  const path = join(commonDir, 'teddy', name);
  const noted = updates.map((update) => ({ ref: update.ref, new: update.new, gitDir: update.gitDir ?? gitDir }));
  await replaceFile(path, JSON.stringify(noted));
  return path;
}

/** Asks git as `probeUpdates` does. A git killed meanwhile leaves no lock, unless teddy could not write the note. */
export async function probeNoted(
  git: GitRunner,
  layout: LockDirs,
  updates: NotedUpdate[],
  env: Environment,
): Promise<string> {
  const note = await noteUpdates(layout, updates).catch(nullIfUnwritten);
  if (note === null) return probeUpdates(git, updates, env);
  const probe = async (release: ReleaseLocks): Promise<string> => {
    for (let deaths = 1; ; deaths += 1) {
      const notedMs = Date.now();
      try {
        return await probeUpdates(git, updates, env);
      } catch (error) {
        if (!(error instanceof GitKilledError)) throw error;
        await release({ notedMs, latestMs: Date.now() });
        if (deaths === maxDeaths) throw error;
      }
    }
  };
  return settleNote(note, probe, (atWork) => releaseRefLocks(git, layout, updates, atWork));
}

function nullIfUnwritten(error: unknown): null {
  if (error instanceof TeddyError && ['WRITE_FAILED', 'DISK_FULL'].includes(error.code)) return null;
  throw error;
}

/** Removes the ref locks that dead teddy processes left. */
export async function repairRefLocks(git: GitRunner, layout: LockDirs): Promise<void> {
  for (const { path, updates } of await findDeadRefRecords(layout.commonDir)) {
    const written = await stat(path).catch(() => null);
    if (written === null) continue;
    // The note's ctime is the time at which its git processes were last seen at work.
    const atWork = { notedMs: written.mtimeMs, latestMs: written.ctimeMs };
    try {
      // If a git process is at work now, the next command checks again.
      if (await releaseRefLocks(git, layout, updates, atWork)) await removeFile(path);
    } catch (error) {
      await utimes(path, written.atime, written.mtime).catch(fallBackTo(undefined, 'ENOENT'));
      throw error;
    }
  }
}

type GitDirs = Pick<RepositoryLayout, 'gitDir' | 'commonDir'>;
export type LockDirs = GitDirs & Pick<RepositoryLayout, 'root'>;

/** Represents the configuration, which has its own lock. */
const configDir = 'config';

/**
 * A ref that git is about to move; `config` is the repository's configuration. `values` lists the lock's possible
 * contents other than the new ID. `gitDir` belongs to the work tree whose HEAD git may lock along with the ref.
 */
export interface NotedUpdate {
  ref: ProbedUpdate['ref'];
  new: Oid | null;
  values?: readonly string[];
  gitDir?: string;
}

/** Releases the locks of a child that died while moving these refs. Returns false while a running git may hold them. */
export async function releaseRefLocks(
  git: GitRunner,
  layout: LockDirs,
  updates: readonly NotedUpdate[],
  atWork: AtWork,
): Promise<boolean> {
  let quiet: Promise<number | null> | undefined;
  const release: Release = { git, layout, atWork, awaitQuiet: () => (quiet ??= awaitQuiet(layout)) };
  const noted = updates.filter((update) => update.new === null || !/^0+$/.test(update.new));
  const dirs = new Map<string, NotedUpdate[]>();
  for (const update of noted) {
    const gitDir = update.ref === 'config' ? configDir : (update.gitDir ?? layout.gitDir);
    dirs.set(gitDir, [...(dirs.get(gitDir) ?? []), update]);
  }
  const config: ExpectedLock = { path: join(layout.commonDir, 'config.lock'), values: any };
  let isOver = !dirs.delete(configDir) || (await removeGitLock(release, config)) !== 'busy';
  for (const [gitDir, all] of dirs) isOver = (await removeNamedLocks(release, gitDir, all)) && isOver;
  return isOver;
}

interface Release {
  git: GitRunner;
  layout: LockDirs;
  atWork: AtWork;
  /** Returns when teddy saw that no git is at work in this repository; null while one is. */
  awaitQuiet(): Promise<number | null>;
}

/** Asks git to prepare the updates again, and removes each lock that git names, one after the other. */
async function removeNamedLocks(release: Release, gitDir: string, updates: NotedUpdate[]): Promise<boolean> {
  const { git, layout } = release;
  const env = gitDir === layout.gitDir ? {} : { GIT_DIR: gitDir };
  const seen = new Set<string>();
  for (;;) {
    const refusal = await probeUpdates(git, updates, env);
    const named = findLock(refusal);
    if (named === null && refusal !== '' && updates.length > 1) {
      // One update has another problem, which must not hide the locks of the others.
      let isOver = true;
      for (const update of updates) isOver = (await removeNamedLocks(release, gitDir, [update])) && isOver;
      return isOver;
    }
    if (named === null || seen.has(named)) return true;
    seen.add(named);
    const locks = toExpectedLocks({ ...layout, gitDir }, named, updates);
    const removals = await Promise.all(locks.map((lock) => removeGitLock(release, lock)));
    if (removals.includes('busy')) return false;
    if (!removals.includes('gone')) return true;
  }
}

/**
 * Lists the locks that git may mean. git does not report which reftable stack is locked: HEAD is in its work tree's
 * stack.
 */
function toExpectedLocks(
  { gitDir, commonDir }: GitDirs,
  named: string,
  updates: readonly NotedUpdate[],
): ExpectedLock[] {
  if (named === 'reftable') {
    return [...new Set([gitDir, commonDir])].map((dir) => ({
      path: join(dir, 'reftable', 'tables.list.lock'),
      values: any,
    }));
  }
  // To remove a ref, git also locks packed-refs, and a leftover packed-refs.new would block that forever.
  if (named.endsWith('packed-refs.new')) return [{ path: named, values: any }];
  if (named.endsWith('packed-refs.lock')) return [{ path: named, values: [] }];
  // Only teddy uses refs with these names.
  if (named.includes('/refs/teddy/quarantine/')) return [{ path: named, values: any }];
  const values = updates.flatMap((update) => [...(update.values ?? []), ...(update.new === null ? [] : [update.new])]);
  return [{ path: named, values }];
}

interface DeadRefRecord {
  path: string;
  updates: NotedUpdate[];
}

/** Finds the records of dead processes. */
export async function findDeadRefRecords(commonDir: string): Promise<DeadRefRecord[]> {
  const dir = join(commonDir, 'teddy');
  const found: DeadRefRecord[] = [];
  for (const name of await readdir(dir).catch(() => [] as string[])) {
    const [, pid, bootId] = /^refs-(\d+)-(.+)-[0-9a-f]{8}\.json$/.exec(name) ?? [];
    if (pid === undefined || bootId === undefined || (await isHeld(Number(pid), bootId))) continue;
    found.push({ path: join(dir, name), updates: await readUpdates(join(dir, name)) });
  }
  return found;
}

async function readUpdates(path: string): Promise<NotedUpdate[]> {
  try {
    const updates: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Array.isArray(updates) ? (updates as NotedUpdate[]) : [];
  } catch {
    // Another command has handled the record meanwhile.
    return [];
  }
}

/**
 * Removes a lock that belongs to a dead child of ours. git does not record in a lock who holds it, so all of the
 * following must be true; otherwise the lock stays, and `doctor` reports it:
 * - A note says that a child of ours may take the lock, and the note is older than the lock, so older locks of other
 *   programs are never touched.
 * - The child is dead: the caller has seen it die, or has found the note of a dead process. The lock was made within
 *   seconds after the child was last known to be at work, which rules out a lock that another program took later.
 * - The lock holds what that child would have written, or nothing yet. Another git would write another value.
 * - No git is at work in the repository, and no process has the lock open: any other owner would still be running. A
 *   living git releases a ref within milliseconds, so this waits for it. Where the system does not show processes, only
 *   the time decides.
 */
async function removeGitLock(
  { atWork, awaitQuiet }: Release,
  { path, values }: ExpectedLock,
): Promise<'gone' | 'foreign' | 'busy'> {
  const { notedMs, latestMs } = atWork;
  const before = await stat(path).catch(() => null);
  if (before === null) return 'gone';
  if (before.mtimeMs < notedMs - clockStepMs || before.mtimeMs > latestMs + crashWindowMs) return 'foreign';
  const quietMs = await awaitQuiet();
  const found = await stat(path).catch(() => null);
  if (found === null) return 'gone';
  if (quietMs === null || found.mtimeMs > quietMs || found.ino !== before.ino) return 'busy';
  const content = values === any ? '' : await readFile(path, 'utf8').catch(() => '');
  if (content !== '' && values !== any && !values.includes(content.trim())) return 'foreign';
  if ((await findHolders(path)).length > 0) return 'busy';
  await removeFile(path);
  return 'gone';
}

/** Waits, and returns when teddy saw that no git is at work in this repository; null if one still is. */
async function awaitQuiet({ root, gitDir, commonDir }: LockDirs): Promise<number | null> {
  const linked = await readWorkTreeDirs(commonDir).catch(() => new Map<string, string>());
  const dirs = [root, gitDir, commonDir, ...linked.keys()].filter((dir) => dir !== null);
  const deadline = performance.now() + lockWaitMs;
  for (let quietMs: number | null = null; ;) {
    const nowMs = Date.now();
    const gits = await findLivingGits(dirs);
    if (gits === null) return sleep(lockWaitMs, nowMs);
    quietMs = gits.length === 0 ? (quietMs ?? nowMs) : null;
    if (quietMs !== null && nowMs - quietMs >= settledMs) return quietMs;
    if (quietMs === null && performance.now() > deadline) return null;
    await sleep(settledMs / 2);
  }
}
