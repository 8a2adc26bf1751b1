/** `index.lock`, taken as git takes it; recorded first, so that a crash of ours can be told from somebody else's lock. */
import { copyFile, link, open, readdir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Oid, RefName } from '../session/names.ts';
import { replaceFile, toWriteError } from './durable-file.ts';
import { toLockError } from './refs.ts';

const lockWaitMs = 2000;

/** What a publication is about to do; on disk before its lock is. */
export interface AppendRecord {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  pid: number;
  bootId: string;
  /** The lock's identity: the file that is linked to `index.lock`. */
  lock: { dev: number; ino: number };
}

export interface AppendFiles {
  record: string;
  /** The file that becomes `index.lock` by a link. */
  claim: string;
  /** The new index, complete before the ref moves. */
  index: string;
}

/** One record for each process: two of them may append at the same time, to different lines. */
export function appendFiles(gitDir: string, pid: number): AppendFiles {
  const dir = join(gitDir, 'teddy');
  return { record: join(dir, `append-${pid}.json`), claim: join(dir, `lock-${pid}`), index: join(dir, `index-${pid}`) };
}

let bootId: Promise<string> | undefined;

/** Changes with every start of the machine, so that a pid from before a power cut is not taken for a living process. */
export function readBootId(): Promise<string> {
  bootId ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => 'unknown',
  );
  return bootId;
}

export async function writeRecord(
  gitDir: string,
  publication: { ref: RefName; old: Oid | null; new: Oid },
): Promise<AppendFiles> {
  const files = appendFiles(gitDir, process.pid);
  await replaceFile(files.claim, '');
  const { dev, ino } = await stat(files.claim);
  const { ref, old } = publication;
  const record: AppendRecord = {
    ref,
    old,
    new: publication.new,
    pid: process.pid,
    bootId: await readBootId(),
    lock: { dev, ino },
  };
  await replaceFile(files.record, JSON.stringify(record));
  return files;
}

/** Waits for a foreign lock, then reports it (LOCKED). */
export async function takeIndexLock(gitDir: string, files: AppendFiles): Promise<void> {
  const lock = join(gitDir, 'index.lock');
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    try {
      await link(files.claim, lock);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toWriteError(error, lock);
    }
    if (performance.now() > deadline) throw await toLockError(lock);
    await sleep(10 + Math.random() * 30);
  }
}

export async function releaseIndexLock(gitDir: string, files: AppendFiles): Promise<void> {
  await removeFile(join(gitDir, 'index.lock'));
  await removeRecord(files);
}

export async function removeRecord(files: AppendFiles): Promise<void> {
  await Promise.all([removeFile(files.claim), removeFile(files.index)]);
  // Last: while the record stands, the other files can be explained.
  await removeFile(files.record);
}

export async function holdsLock(gitDir: string, record: AppendRecord): Promise<boolean> {
  const found = await stat(join(gitDir, 'index.lock')).catch(() => null);
  return found !== null && found.dev === record.lock.dev && found.ino === record.lock.ino;
}

/** A copy of the index to work on. The mtime has to stay: by it git finds edits made in the second of the last write. */
export async function copyIndex(gitDir: string, to: string): Promise<void> {
  const from = join(gitDir, 'index');
  try {
    await copyFile(from, to);
    const { atime, mtimeMs } = await stat(from);
    // Rounded down: an older time makes git look twice, a newer one would make it miss an edit.
    await utimes(to, atime, Math.floor(mtimeMs) / 1000);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toWriteError(error, to);
    await removeFile(to);
  }
}

export interface DeadRecord extends AppendRecord {
  /** When it was written, for comparing with a lock's age. */
  writtenMs: number;
}

/**
 * Records of publications whose process is gone, each claimed for this process by a rename, so that of several
 * commands that start after a crash exactly one repairs it.
 */
export async function claimDeadRecords(gitDir: string): Promise<DeadRecord[]> {
  const dir = join(gitDir, 'teddy');
  const names = await readdir(dir).catch(() => [] as string[]);
  const claimed: DeadRecord[] = [];
  for (const name of names) {
    const holder = /^append-(\d+)\.json$/.exec(name)?.[1];
    const record = holder === undefined ? null : await readRecord(join(dir, name));
    if (record === null || (await isAlive(Number(holder), record.bootId))) continue;
    if (await claimRecord(join(dir, name), record)) claimed.push(record);
  }
  return claimed;
}

async function readRecord(path: string): Promise<DeadRecord | null> {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as AppendRecord;
    const { mtimeMs } = await stat(path);
    return typeof record.pid === 'number' && typeof record.ref === 'string' ? { ...record, writtenMs: mtimeMs } : null;
  } catch {
    // Gone meanwhile, or not a file of ours: records are written atomically, so a crash leaves no half of one.
    return null;
  }
}

async function claimRecord(path: string, record: DeadRecord): Promise<boolean> {
  const mine = join(path, '..', `append-${process.pid}.json`);
  try {
    if (path !== mine) await rename(path, mine);
    const { writtenMs: _, ...kept } = record;
    await replaceFile(mine, JSON.stringify({ ...kept, bootId: await readBootId() }));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function isAlive(pid: number, recordedBootId: string): Promise<boolean> {
  // A record under our own pid is of a process that had it before us: our own publications come after the repair.
  if (recordedBootId !== (await readBootId()) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Once a claimed record is dealt with. The claim carries this process's name, the other files that of the dead one. */
export async function removeClaimed(gitDir: string, record: AppendRecord): Promise<void> {
  const dead = appendFiles(gitDir, record.pid);
  await removeRecord({ ...dead, record: appendFiles(gitDir, process.pid).record });
}

export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

export async function fileExists(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null);
  await file?.close();
  return file !== null;
}
