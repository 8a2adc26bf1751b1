/** Which refs a process is about to move, so that a lock which git leaves when both are killed can be known as ours. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RefUpdate } from '../ports.ts';
import type { Oid } from '../session/names.ts';
import { removeFile, replaceFile } from './durable-file.ts';
import { isAlive, readBootId } from './index-lock.ts';

const lockWaitMs = 1000;
const crashWindowMs = 5000;

/** A lock that git may hold for us, the value it then contains, and when we began. */
interface ExpectedLock {
  path: string;
  value: Oid | null;
  recordedMs: number;
}

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
export async function repairRefLocks(commonDir: string): Promise<void> {
  for (const { path, updates } of await findDeadRefRecords(commonDir)) {
    const written = await stat(path).catch(() => null);
    const recordedMs = written?.mtimeMs ?? 0;
    // At the same time: of each it is waited whether a living git lets go of it.
    await Promise.all([
      ...updates.map(({ ref, new: value }) =>
        removeGitLock({ path: join(commonDir, `${ref}.lock`), value, recordedMs }),
      ),
      ...(updates.some((update) => update.new === null) ? [removePackedLock(commonDir, recordedMs)] : []),
    ]);
    await removeFile(path);
  }
}

/** To remove a ref git locks the packed ones as well, and a file of the next ones that is there already stops it for good. */
async function removePackedLock(commonDir: string, recordedMs: number): Promise<void> {
  const path = join(commonDir, 'packed-refs.lock');
  await removeGitLock({ path, value: null, recordedMs }, () => removeFile(join(commonDir, 'packed-refs.new')));
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
 * living git lets go of it in milliseconds; and one that was not taken at the time of our crash is not ours.
 */
export async function removeGitLock(
  { path, value, recordedMs }: ExpectedLock,
  removeFirst: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    const found = await stat(path).catch(() => null);
    if (found === null || Math.abs(found.mtimeMs - recordedMs) > crashWindowMs) return;
    const content = await readFile(path, 'utf8').catch(() => '');
    if (content !== '' && content.trim() !== value) return;
    if (performance.now() > deadline) {
      await removeFirst();
      return removeFile(path);
    }
    await sleep(50);
  }
}
