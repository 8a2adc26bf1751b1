/** Takes `index.lock` as git does. Records the lock first, so that after a crash teddy can recognize its own lock. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { copyFile, link, lstat, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName } from '../../names.ts';
import { isAlive, readBootId, toReleasedName, type Holder } from '../../disk/process-identity.ts';
import { fileExists, removeFile, renameIfExists, replaceFile, toWriteError } from '../../disk/replace-file.ts';
import { fallBackTo, nullIfGone } from '../../disk/system-error.ts';
import { toLockError } from '../refs/refs.ts';

const lockWaitMs = 2000;

/** Describes a planned publication. This record is on disk before the publication takes the lock. */
export interface AppendRecord extends Holder {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  /** Set when git changes files, index and HEAD between two commits (`from` null: none); afterwards HEAD is on `ref`. */
  checkout?: Checkout;
}

export interface Checkout {
  from: Oid | null;
  to: Oid;
}

export interface AppendFiles {
  /** The record file. Its name identifies the holder, so a rename is enough to take over a dead process's record. */
  record: string;
  /** The file that becomes `index.lock` through a link. While it exists, no other file can have its inode. */
  claim: string;
  /** The new index, complete before the ref moves. */
  index: string;
}

/** Names the files of one publication. Several processes may publish to different lines at the same time. */
function appendFiles(gitDir: string, { pid, bootId, nonce }: Holder): AppendFiles {
  const dir = join(gitDir, 'teddy');
  return {
    record: join(dir, `append-${pid}-${bootId}-${nonce}.json`),
    claim: join(dir, `lock-${nonce}`),
    index: join(dir, `index-${nonce}`),
  };
}

/**
 * The records that this process is working on. The pid alone is not enough, because records that this process took over
 * contain it too.
 */
const underWay = new Set<string>();

export async function writeRecord(
  gitDir: string,
  publication: Pick<AppendRecord, 'ref' | 'old' | 'new' | 'checkout'>,
): Promise<AppendFiles> {
  const holder = { pid: process.pid, bootId: await readBootId(), nonce: randomBytes(4).toString('hex') };
  const files = appendFiles(gitDir, holder);
  const { ref, old, checkout } = publication;
  const record: AppendRecord = { ref, old, new: publication.new, ...holder, ...(checkout && { checkout }) };
  underWay.add(holder.nonce);
  try {
    // Write the record first, because it explains everything else that a crash leaves behind.
    await replaceFile(files.record, JSON.stringify(record));
    await writeFile(files.claim, '', { flag: 'wx' });
  } catch (error) {
    await removeRecord(files);
    throw toWriteError(error, files.record);
  }
  return files;
}

/** Takes the lock. Waits while another process holds it, then throws LOCKED. */
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

/** Notes the child that works on this record's index, before the child can have changed anything. */
export function noteChild(files: AppendFiles, pid: number): void {
  // Only the claim's inode matters, so its content is free for the pid.
  try {
    writeFileSync(files.claim, String(pid));
  } catch {
    // On a full disk the child still runs; after a crash at this moment, the next command merely does not know about
    // the child.
  }
}

/** Throws LOCKED while the noted child is still at work, because a kill may have hit only the child's parent. */
export async function awaitChild(files: AppendFiles, record: Pick<AppendRecord, 'bootId'>): Promise<void> {
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    const pid = Number(await readFile(files.claim, 'utf8').catch(() => ''));
    if (!(pid > 0) || !(await isAlive(pid, record.bootId))) return;
    if (performance.now() > deadline) throw toChildError(pid);
    await sleep(20);
  }
}

function toChildError(pid: number): TeddyError {
  const message = `A git process that a killed command started is still running (process ${pid}).`;
  return new TeddyError('LOCKED', message, 'Wait for it to finish and run the command again.');
}

/** Waits until no process writes the index, up to a limit. */
export async function waitForIndex(gitDir: string): Promise<void> {
  const deadline = performance.now() + lockWaitMs;
  while (performance.now() < deadline && (await fileExists(join(gitDir, 'index.lock')))) await sleep(10);
}

export async function releaseIndexLock(gitDir: string, files: AppendFiles): Promise<void> {
  await removeFile(join(gitDir, 'index.lock'));
  await removeRecord(files);
}

export async function removeRecord(files: AppendFiles): Promise<void> {
  await Promise.all([files.claim, files.index, `${files.index}.lock`].map(removeFile));
  // Remove the record last, because until then it explains the other files.
  await removeFile(files.record);
  endWork(files);
}

/** Returns the pid of the process that was writing this file in `teddy/`; null for a complete file. */
export function parseHolderPid(name: string): number | null {
  const [, snapshot, file] =
    /^(?:snapshot-(\d+)-[0-9a-f]{8}(?:\.lock)?|(?:.+\.tmp-)?file-(\d+)-[0-9a-f]{12})$/.exec(name) ?? [];
  const pid = snapshot ?? file;
  return pid === undefined ? null : Number(pid);
}

/** Marks a remaining record as interrupted, for every process. */
export async function markInterrupted(files: AppendFiles): Promise<void> {
  const now = new Date();
  // Note the latest time at which a child may have taken locks.
  await utimes(files.claim, now, now).catch(fallBackTo(undefined, 'ENOENT'));
  await renameIfExists(files.record, toReleasedName(files.record));
  endWork(files);
}

function endWork(files: AppendFiles): void {
  underWay.delete(parseRecordName(basename(files.record))?.nonce ?? '');
}

/** Returns true if `index.lock` is the file that this publication made. */
export async function holdsLock(gitDir: string, files: AppendFiles): Promise<boolean> {
  const [lock, claim] = await Promise.all(
    [join(gitDir, 'index.lock'), files.claim].map((path) => stat(path, { bigint: true }).catch(() => null)),
  );
  return !!lock && !!claim && lock.dev === claim.dev && lock.ino === claim.ino;
}

/**
 * Copies the index for further work; false when there is none. Keeps the mtime, because git uses it to detect edits
 * made in the second of the last write.
 */
export async function copyIndex(gitDir: string, to: string): Promise<boolean> {
  const from = join(gitDir, 'index');
  try {
    // Read the time before the copy and round it down: an older time makes git check again, while a newer time would
    // make git miss an edit.
    const { atime, mtimeMs } = await stat(from);
    await copyFile(from, to);
    await utimes(to, atime, Math.floor(mtimeMs) / 1000);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toWriteError(error, to);
    await removeFile(to);
    return false;
  }
}

/** Calls `use` with the path of an index that does not exist yet, and removes the index afterwards. */
export async function withPrivateIndex<Value>(gitDir: string, use: (index: string) => Promise<Value>): Promise<Value> {
  const dir = join(gitDir, 'teddy');
  await mkdir(dir, { recursive: true });
  const path = join(dir, `snapshot-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    return await use(path);
  } finally {
    await removeFile(path);
    await removeFile(`${path}.lock`);
  }
}

export interface DeadRecord extends AppendRecord {
  /** When the record was written, and when a child was last seen at work, for comparison with the age of a lock. */
  writtenMs: number;
  latestMs: number;
  files: AppendFiles;
}

/**
 * Yields the records of dead processes' publications, one by one. A rename claims each record for this process, so when
 * several commands start after a crash, exactly one repairs it.
 */
export async function* claimDeadRecords(gitDir: string): AsyncIterable<DeadRecord> {
  const dir = join(gitDir, 'teddy');
  for (const name of await readdir(dir).catch(() => [] as string[])) {
    const holder = parseRecordName(name);
    if (holder === null || underWay.has(holder.nonce)) continue;
    underWay.add(holder.nonce);
    let mine: AppendFiles | null = null;
    try {
      if (await isAlive(holder.pid, holder.bootId)) continue;
      const files = appendFiles(gitDir, { ...holder, pid: process.pid, bootId: await readBootId() });
      if (!(await renameIfExists(join(dir, name), files.record))) continue;
      mine = files;
      const record = await readRecord(mine.record);
      if (record === null) await removeRecord(mine);
      else {
        const latestMs = (await stat(mine.claim).catch(nullIfGone))?.mtimeMs ?? 0;
        yield { ...record, latestMs: Math.max(record.writtenMs, latestMs), files: mine };
      }
    } finally {
      underWay.delete(holder.nonce);
      // The repair may have failed.
      if (mine !== null) await markInterrupted(mine);
    }
  }
}

export function parseRecordName(name: string): Holder | null {
  const [, pid, bootId, nonce] = /^append-(\d+)-(.+)-([0-9a-f]{8})\.json$/.exec(name) ?? [];
  return pid && bootId && nonce ? { pid: Number(pid), bootId, nonce } : null;
}

/** Reads a record; null when it is not in teddy's format. Records are written atomically, so a crash leaves no partial ones. */
export async function readRecord(path: string): Promise<(AppendRecord & { writtenMs: number }) | null> {
  const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  try {
    const record = JSON.parse(text) as AppendRecord;
    return typeof record.ref === 'string' ? { ...record, writtenMs: mtimeMs } : null;
  } catch {
    return null;
  }
}

/** Returns a text that changes whenever anything touches the file. */
export async function fingerprintFile(path: string): Promise<string> {
  const found = await lstat(path, { bigint: true }).catch(nullIfGone);
  return found ? `${found.ino} ${found.size} ${found.mode} ${found.mtimeNs} ${found.ctimeNs}` : 'gone';
}
