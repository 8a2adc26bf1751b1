/**
 * Work trees that teddy was making when it was killed. Which one it makes is noted before git begins: git locks what it makes for
 * as long as it makes it, leaves that for good when it is killed, and may then fail at every command that looks at all of them.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeFile, replaceFile } from '../disk/replace-file.ts';
import { isHeld, readBootId, toLeftName } from '../disk/process-identity.ts';
import { fileExists } from './index-lock.ts';
import type { RepositoryLayout } from './layout.ts';
import { findLivingGits } from './living-gits.ts';

/** Between the lock and the name git makes no other file; a second is for a machine that is busy. */
const namingLooks = 6;
const namingMs = 200;

/** The note goes when the work tree is whole, or gone. */
export async function withWorkTreeNote<Value>(
  commonDir: string,
  place: string,
  make: () => Promise<Value>,
): Promise<Value> {
  const name = `worktree-${process.pid}-${await readBootId()}-${randomBytes(4).toString('hex')}.json`;
  const note = join(commonDir, 'teddy', name);
  await replaceFile(note, JSON.stringify({ place }));
  let isWhole = false;
  try {
    const made = await make();
    isWhole = true;
    return made;
  } finally {
    const isGone = async () => !(await fileExists(place)) && (await findRecords(commonDir, place)).length === 0;
    await (isWhole || (await isGone()) ? removeFile(note) : rename(note, toLeftName(note)));
  }
}

type WorkTreeDirs = Pick<RepositoryLayout, 'root' | 'commonDir'>;

interface DeadNote {
  path: string;
  /** Null: it cannot be read. */
  place: string | null;
}

export async function findDeadWorkTreeNotes(commonDir: string): Promise<DeadNote[]> {
  const dir = join(commonDir, 'teddy');
  const found: DeadNote[] = [];
  for (const name of await readdir(dir).catch(() => [] as string[])) {
    const [, pid, bootId] = /^worktree-(\d+)-(.+)-[0-9a-f]{8}\.json$/.exec(name) ?? [];
    if (pid === undefined || bootId === undefined || (await isHeld(Number(pid), bootId))) continue;
    found.push({ path: join(dir, name), place: await readPlace(join(dir, name)) });
  }
  return found;
}

async function readPlace(path: string): Promise<string | null> {
  try {
    const { place } = JSON.parse(await readFile(path, 'utf8')) as { place?: unknown };
    return typeof place === 'string' ? place : null;
  } catch {
    return null;
  }
}

/** Keeps a work tree that is whole by now: it belongs to its line. A git that is at work here may still be making it. */
export async function removeHalfMadeWorkTrees({ root, commonDir }: WorkTreeDirs): Promise<void> {
  for (const { path, place } of await findDeadWorkTreeNotes(commonDir)) {
    if (place !== null && (await findLivingGits([root ?? commonDir, commonDir]))?.length) continue;
    if (place !== null) await removeHalfMade(commonDir, place);
    await removeFile(path);
  }
}

/**
 * A work tree without an index has not been checked out: nobody can have worked in it. Only a place among teddy's own is
 * removed, and what git has on record of that place.
 */
async function removeHalfMade(commonDir: string, place: string): Promise<void> {
  const records = await findRecords(commonDir, place);
  const isWhole = await Promise.all(
    records.map(
      async (record) => (await fileExists(join(record, 'index'))) && !(await fileExists(join(record, 'index.lock'))),
    ),
  );
  if (!isWhole.includes(true)) await discardWorkTree(commonDir, place);
}

/** For whoever made it and has told nobody. */
export async function discardWorkTree(commonDir: string, place: string): Promise<void> {
  if (dirname(place) !== join(commonDir, 'teddy', 'worktrees')) return;
  for (const record of await findRecords(commonDir, place)) await rm(record, { recursive: true, force: true });
  await rm(place, { recursive: true, force: true });
}

/** git names the place right after the lock: a record that stays without a name is that of a git which was killed in between. */
async function findRecords(commonDir: string, place: string): Promise<string[]> {
  const dir = join(commonDir, 'worktrees');
  const real = await realpath(place).catch(() => place);
  const found: string[] = [];
  for (const name of await readdir(dir).catch(() => [] as string[])) {
    const record = join(dir, name);
    const mayBeNameless = name.replace(/\d*$/, '') === basename(place).replace(/\d*$/, '');
    const named = mayBeNameless ? await awaitName(record) : await readName(record);
    const isNameless = named === null && mayBeNameless && (await isBegun(record));
    if (named === place || named === real || isNameless) found.push(record);
  }
  return found;
}

/** The work tree that git has on record there; null when it has not written that yet. */
async function readName(record: string): Promise<string | null> {
  const text = await readFile(join(record, 'gitdir'), 'utf8').catch(() => '');
  return text.trim() === '' ? null : dirname(resolve(record, text.replace(/\n$/, '')));
}

/** The git of another process may be just about to write the name: nothing is taken from it. */
async function awaitName(record: string): Promise<string | null> {
  for (let looks = 1; ; looks += 1) {
    const name = await readName(record);
    if (name !== null || looks === namingLooks || !(await isBegun(record))) return name;
    await sleep(namingMs);
  }
}

async function isBegun(record: string): Promise<boolean> {
  const names = await readdir(record).catch(() => null);
  return names !== null && names.every((name) => ['locked', 'gitdir'].includes(name));
}
