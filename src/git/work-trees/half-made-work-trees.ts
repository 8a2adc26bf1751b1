/**
 * Work trees that teddy was making when it was killed. teddy notes each one before git begins. git locks a work tree
 * while making it; if git is killed, the lock stays forever, and every command that looks at all work trees may fail.
 */
import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalIn } from '../../journal/journal.ts';
import { isOid } from '../../names.ts';
import type { Journal, OperationKind } from '../../ports/journal.ts';
import { fallBackTo, falseOnSystemError, nullIfGone } from '../../disk/system-error.ts';
import { fileExists } from '../../disk/replace-file.ts';
import type { RepositoryLayout } from '../run/layout.ts';
import { findLivingGits } from '../run/living-gits.ts';
import type { GitRunner } from '../run/run.ts';

/** Between the lock and the name, git creates no other file. A second is enough even on a busy machine. */
const namingLooks = 6;
const namingMs = 200;

/** A work tree that teddy makes at the absolute path `place`. */
export const workTreeKind: OperationKind<{ place: string }> = { name: 'worktree', title: 'a new work tree' };

const journalOf = (commonDir: string): Journal => journalIn({ dir: join(commonDir, 'teddy', 'journal') });

/**
 * Makes a work tree at the wanted place, or with the next free number, because the line's earlier work tree may be at
 * that place, now on another branch. Removes the note once the work tree is complete or gone.
 */
export async function withWorkTreeNote<Value>(
  commonDir: string,
  wanted: string,
  make: (place: string) => Promise<Value>,
): Promise<Value> {
  await mkdir(dirname(wanted), { recursive: true });
  let number = 1;
  const nextPlace = async (): Promise<string> => {
    const place = number === 1 ? wanted : `${wanted}-${number}`;
    number += 1;
    return (await fileExists(place)) ? nextPlace() : place;
  };
  let place = await nextPlace();
  const operation = await journalOf(commonDir).open(workTreeKind, { place });
  let isWhole = false;
  try {
    // Only one of two processes can make the directory, and git accepts an empty one.
    while (!(await mkdir(place).then(() => true, fallBackTo(false, 'EEXIST')))) {
      place = await nextPlace();
      await operation.note({ place });
    }
    const made = await make(place);
    isWhole = true;
    return made;
  } finally {
    const isGone = async () => !(await fileExists(place)) && (await findRecords(commonDir, place)).length === 0;
    // A note that cannot be removed does no harm, because the next command finds the work tree complete or gone.
    const isOver = (isWhole || (await isGone())) && (await operation.done().then(() => true, falseOnSystemError));
    if (!isOver) await operation.leave();
  }
}

type WorkTreeDirs = Pick<RepositoryLayout, 'root' | 'commonDir'>;

/** Lists half-made work trees without valuable content; for an unreadable note, lists the note's own path. */
export async function findLeftWorkTrees(git: GitRunner, commonDir: string): Promise<string[]> {
  const left = await journalOf(commonDir).look(workTreeKind);
  const found = left.map(async ({ path, facts }) => {
    if (facts === null) return [path];
    return (await isNeeded(git, await findRecords(commonDir, facts.place), facts.place)) ? [] : [facts.place];
  });
  return (await Promise.all(found)).flat();
}

/**
 * Removes half-made work trees. Keeps a work tree that is complete by now, because it belongs to its line, and keeps
 * all of them while a running git may still be making one. Returns a sentence for the user about each work tree that
 * stays because somebody has put files there.
 */
export async function removeHalfMadeWorkTrees(git: GitRunner, { root, commonDir }: WorkTreeDirs): Promise<string[]> {
  const journal = journalOf(commonDir);
  const said: string[] = [];
  for (const { facts, take } of await journal.left(workTreeKind)) {
    if (facts !== null && (await findLivingGits([root ?? commonDir, commonDir]))?.length) continue;
    const operation = await take();
    const { place } = facts ?? { place: '' };
    const records = facts === null ? [] : await findRecords(commonDir, place);
    // Another process may be making a work tree at the same place.
    const isTaken = (await journal.atWork(workTreeKind)).some((one) => one.facts?.place === place);
    const isOver = operation === null || facts === null || isTaken || (await isWhole(git, records));
    const isKept = !isOver && (await isNeeded(git, records, place));
    if (!isOver && !isKept) await discardWorkTree(commonDir, place);
    const way = 'Move them away; the next command removes the rest.';
    if (isKept) said.push(`${place} was never finished, and contains files that its commit does not have. ${way}`);
    await (isKept ? operation?.leave() : operation?.done());
  }
  return said;
}

/** Returns true if a work tree is complete: its HEAD moves to its branch last, after files and index. */
async function isWhole(git: GitRunner, records: readonly string[]): Promise<boolean> {
  const all = records.map(async (record) => {
    const [hasIndex, ...locks] = await Promise.all(
      ['index', 'index.lock', 'HEAD.lock'].map((name) => fileExists(join(record, name))),
    );
    if (!hasIndex || locks.includes(true)) return false;
    const args = ['--git-dir', record, 'symbolic-ref', '--quiet', 'HEAD'];
    return (await git.run(args, { accept: [1, 128] })).exitCode === 0;
  });
  return (await Promise.all(all)).includes(true);
}

/** Returns true if the work tree is complete, or has a file that git's checkout would not have made. */
async function isNeeded(git: GitRunner, records: readonly string[], place: string): Promise<boolean> {
  if (await isWhole(git, records)) return true;
  const known = new Set(['.git']);
  for (const record of records) {
    const head = (await readFile(join(record, 'HEAD'), 'utf8').catch(nullIfGone))?.trim() ?? '';
    const list = ['ls-tree', '-r', '--name-only', '--full-tree', '-z', head];
    // HEAD is all zeros at first, which names no commit. Any file that exists at that point belongs to somebody.
    if (isOid(head)) for (const path of await git.list(list, { accept: [128] })) known.add(path);
  }
  const there = (await readdir(place, { recursive: true, withFileTypes: true }).catch(nullIfGone)) ?? [];
  return there.some((one) => !one.isDirectory() && !known.has(relative(place, join(one.parentPath, one.name))));
}

/** Removes a work tree that its creator has not announced to anyone. */
export async function discardWorkTree(commonDir: string, place: string): Promise<void> {
  if (dirname(place) !== join(commonDir, 'teddy', 'worktrees')) return;
  for (const record of await findRecords(commonDir, place)) await rm(record, { recursive: true, force: true });
  await rm(place, { recursive: true, force: true });
}

/**
 * Finds git's records of the place. git writes the name right after the lock, so a record that stays nameless belongs
 * to a git that was killed in between.
 */
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

/** Reads the path of the work tree from git's record; null when git has not written it yet. */
async function readName(record: string): Promise<string | null> {
  const text = await readFile(join(record, 'gitdir'), 'utf8').catch(() => '');
  return text.trim() === '' ? null : dirname(resolve(record, text.replace(/\n$/, '')));
}

/** Waits for the name, because another process's git may be about to write it. */
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
