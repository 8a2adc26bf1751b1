/** Which refs a process is about to move, so that a lock which git leaves when both are killed can be known as ours. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RefUpdate } from '../ports.ts';
import type { Oid } from '../session/names.ts';
import { removeFile, replaceFile } from './durable-file.ts';
import { isAlive, readBootId } from './index-lock.ts';
import type { RepositoryLayout } from './layout.ts';
import { findLock, probeUpdates } from './refs.ts';
import type { GitRunner } from './run.ts';

const lockWaitMs = 1000;
const crashWindowMs = 5000;

/** A lock that git may hold for us, the value it then contains, and when we began. */
interface ExpectedLock {
  path: string;
  value: Oid | typeof any | null;
  recordedMs: number;
}

/** The content says nothing. */
const any = Symbol('any');

export async function withRefRecord<Value>(
  commonDir: string,
  updates: RefUpdate[],
  move: () => Promise<Value>,
): Promise<Value> {
  const name = `refs-${process.pid}-${await readBootId()}-${randomBytes(4).toString('hex')}.json`;
  const path = join(commonDir, 'teddy', name);
  await replaceFile(path, JSON.stringify(updates.map((update) => ({ ref: update.ref, new: update.new }))));
  try {
    return await move();
  } finally {
    await removeFile(path);
  }
}

/** Removes the locks that dead processes of ours have left on refs. */
export async function repairRefLocks(git: GitRunner, layout: GitDirs): Promise<void> {
  for (const { path, updates } of await findDeadRefRecords(layout.commonDir)) {
    const written = await stat(path).catch(() => null);
    const recordedMs = written?.mtimeMs ?? 0;
    // At the same time: of each it is waited whether a living git lets go of it.
    await Promise.all(updates.map((update) => removeNamedLocks(git, layout, update, recordedMs)));
    await removeFile(path);
  }
}

type GitDirs = Pick<RepositoryLayout, 'gitDir' | 'commonDir'>;

/** Those that git names when it is asked to prepare the same update once more. */
export async function removeNamedLocks(
  git: GitRunner,
  layout: GitDirs,
  update: Pick<RefUpdate, 'ref' | 'new'>,
  recordedMs: number,
): Promise<void> {
  if (update.new !== null && /^0+$/.test(update.new)) return;
  const seen = new Set<string>();
  for (;;) {
    const named = findLock(await probeUpdates(git, [update]));
    if (named === null || seen.has(named)) return;
    seen.add(named);
    const removals = toExpectedLocks(layout, named, update.new).map((lock) => removeGitLock({ ...lock, recordedMs }));
    if (!(await Promise.all(removals)).includes(true)) return;
  }
}

/** git does not say which of its stacks of tables is locked: HEAD is in that of its work tree. */
function toExpectedLocks(
  { gitDir, commonDir }: GitDirs,
  named: string,
  value: Oid | null,
): Omit<ExpectedLock, 'recordedMs'>[] {
  if (named === 'reftable') {
    return [...new Set([gitDir, commonDir])].map((dir) => ({
      path: join(dir, 'reftable', 'tables.list.lock'),
      value: any,
    }));
  }
  // To remove a ref git locks the packed ones as well, and a file of the next ones that is there already stops it for good.
  if (named.endsWith('packed-refs.new')) return [{ path: named, value: any }];
  return [{ path: named, value: named.endsWith('packed-refs.lock') ? null : value }];
}

interface DeadRefRecord {
  path: string;
  updates: Pick<RefUpdate, 'ref' | 'new'>[];
}

/** Records whose process is gone. */
export async function findDeadRefRecords(commonDir: string): Promise<DeadRefRecord[]> {
  const dir = join(commonDir, 'teddy');
  const found: DeadRefRecord[] = [];
  for (const name of await readdir(dir).catch(() => [] as string[])) {
    const [, pid, bootId] = /^refs-(\d+)-(.+)-[0-9a-f]{8}\.json$/.exec(name) ?? [];
    if (pid === undefined || bootId === undefined || Number(pid) === process.pid) continue;
    if (await isAlive(Number(pid), bootId)) continue;
    found.push({ path: join(dir, name), updates: await readUpdates(join(dir, name)) });
  }
  return found;
}

async function readUpdates(path: string): Promise<Pick<RefUpdate, 'ref' | 'new'>[]> {
  try {
    const updates: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Array.isArray(updates) ? (updates as Pick<RefUpdate, 'ref' | 'new'>[]) : [];
  } catch {
    // Another command has dealt with it meanwhile.
    return [];
  }
}

/**
 * git's own lock of a ref, or of HEAD with it, when git died together with us. It holds the new value, or nothing yet; a
 * living git lets go of it in milliseconds; and one that was not taken at the time of our crash is not ours. True: it is gone.
 */
async function removeGitLock({ path, value, recordedMs }: ExpectedLock): Promise<boolean> {
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    const found = await stat(path).catch(() => null);
    if (found === null) return true;
    if (Math.abs(found.mtimeMs - recordedMs) > crashWindowMs) return false;
    const content = value === any ? '' : await readFile(path, 'utf8').catch(() => '');
    if (content !== '' && content.trim() !== value) return false;
    if (performance.now() > deadline) {
      await removeFile(path);
      return true;
    }
    await sleep(50);
  }
}
