/** `index.lock`, taken as git takes it; recorded first, so that a crash of ours can be told from somebody else's lock. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { copyFile, link, lstat, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName } from '../../names.ts';
import { isAlive, readBootId, toLeftName, type Holder } from '../../disk/process-identity.ts';
import { fileExists, removeFile, renameIfThere, replaceFile, toWriteError } from '../../disk/replace-file.ts';
import { fallBackTo, nullIfGone } from '../../disk/system-error.ts';
import { toLockError } from '../refs/refs.ts';

const lockWaitMs = 2000;

/** Says what a publication is about to do. It is on disk before the publication takes the lock. */
export interface AppendRecord extends Holder {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  /** A git of ours changes files, index and HEAD from one commit (null: from none) to another; HEAD is on `ref` in the end. */
  checkout?: Checkout;
}

export interface Checkout {
  from: Oid | null;
  to: Oid;
}

export interface AppendFiles {
  /** Its name says who holds it, so that a rename is all it takes to take over a dead process's record. */
  record: string;
  /** The file that becomes `index.lock` by a link: as long as it stands, nothing else can have its inode. */
  claim: string;
  /** The new index, complete before the ref moves. */
  index: string;
}

/** A record for each publication: several may be under way, in several processes, to different lines. */
function appendFiles(gitDir: string, { pid, bootId, nonce }: Holder): AppendFiles {
  const dir = join(gitDir, 'teddy');
  return {
    record: join(dir, `append-${pid}-${bootId}-${nonce}.json`),
    claim: join(dir, `lock-${nonce}`),
    index: join(dir, `index-${nonce}`),
  };
}

/** Records of publications that this very process is working on: it is alive, but so it is for those it took over. */
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
    // The record first: whatever else is found after a crash is explained by it.
    await replaceFile(files.record, JSON.stringify(record));
    await writeFile(files.claim, '', { flag: 'wx' });
  } catch (error) {
    await removeRecord(files);
    throw toWriteError(error, files.record);
  }
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

/** The child that works on the index of this record; it is named before it has come so far as to change anything. */
export function noteChild(files: AppendFiles, pid: number): void {
  // The file is there for its inode; what it holds is nobody's index.
  try {
    writeFileSync(files.claim, String(pid));
  } catch {
    // On a full disk the child goes on all the same, and is only not known to whoever comes after a crash in this moment.
  }
}

/** Throws LOCKED while the noted child is still at work: its parent may have been killed alone. */
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
  const message = `A git that a killed command had started is still at work (process ${pid}).`;
  return new TeddyError('LOCKED', message, 'Wait for it, and run the command again.');
}

/** Until nobody writes it; not for ever. */
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
  // Last: while the record stands, the other files can be explained.
  await removeFile(files.record);
  endWork(files);
}

/** Which process was writing this file of `teddy/`; null for a file that is complete. */
export function parseHolderPid(name: string): number | null {
  const [, snapshot, file] =
    /^(?:snapshot-(\d+)-[0-9a-f]{8}(?:\.lock)?|(?:.+\.tmp-)?file-(\d+)-[0-9a-f]{12})$/.exec(name) ?? [];
  const pid = snapshot ?? file;
  return pid === undefined ? null : Number(pid);
}

/** A record that still stands is an interrupted one from now on, for every process. */
export async function leaveToRepair(files: AppendFiles): Promise<void> {
  const now = new Date();
  // Until now a child may have taken locks.
  await utimes(files.claim, now, now).catch(fallBackTo(undefined, 'ENOENT'));
  await renameIfThere(files.record, toLeftName(files.record));
  endWork(files);
}

function endWork(files: AppendFiles): void {
  underWay.delete(parseRecordName(basename(files.record))?.nonce ?? '');
}

/** Whether `index.lock` is the file that this publication made, and nobody else's. */
export async function holdsLock(gitDir: string, files: AppendFiles): Promise<boolean> {
  const [lock, claim] = await Promise.all(
    [join(gitDir, 'index.lock'), files.claim].map((path) => stat(path, { bigint: true }).catch(() => null)),
  );
  return !!lock && !!claim && lock.dev === claim.dev && lock.ino === claim.ino;
}

/**
 * A copy of the index to work on; false when there is none. The mtime has to stay: by it git finds edits made in the
 * second of the last write.
 */
export async function copyIndex(gitDir: string, to: string): Promise<boolean> {
  const from = join(gitDir, 'index');
  try {
    // Read before the copy, and rounded down: an older time makes git look twice, a newer one would make it miss an edit.
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

/** `use` gets the path of an index that is not there yet. */
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
  /** When it was written, and when a child was last known to be at work, for comparing with a lock's age. */
  writtenMs: number;
  latestMs: number;
  files: AppendFiles;
}

/**
 * Records of publications whose process is gone, one after the other, each claimed for this process by a rename, so that
 * of several commands that start after a crash exactly one repairs it.
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
      if (!(await renameIfThere(join(dir, name), files.record))) continue;
      mine = files;
      const record = await readRecord(mine.record);
      if (record === null) await removeRecord(mine);
      else {
        const latestMs = (await stat(mine.claim).catch(nullIfGone))?.mtimeMs ?? 0;
        yield { ...record, latestMs: Math.max(record.writtenMs, latestMs), files: mine };
      }
    } finally {
      underWay.delete(holder.nonce);
      // Its repair may have failed.
      if (mine !== null) await leaveToRepair(mine);
    }
  }
}

export function parseRecordName(name: string): Holder | null {
  const [, pid, bootId, nonce] = /^append-(\d+)-(.+)-([0-9a-f]{8})\.json$/.exec(name) ?? [];
  return pid && bootId && nonce ? { pid: Number(pid), bootId, nonce } : null;
}

/** Null: not as we write it. Records are written atomically, so a crash leaves no half of one. */
export async function readRecord(path: string): Promise<(AppendRecord & { writtenMs: number }) | null> {
  const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  try {
    const record = JSON.parse(text) as AppendRecord;
    return typeof record.ref === 'string' ? { ...record, writtenMs: mtimeMs } : null;
  } catch {
    return null;
  }
}

/** Another text as soon as anything has touched the file. */
export async function printFile(path: string): Promise<string> {
  const found = await lstat(path, { bigint: true }).catch(nullIfGone);
  return found ? `${found.ino} ${found.size} ${found.mode} ${found.mtimeNs} ${found.ctimeNs}` : 'gone';
}
