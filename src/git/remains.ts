/** What killed processes have left in the git directories, and locks of others. Looking changes nothing. */
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Remain, Remains } from '../ports.ts';
import type { RefName } from '../session/names.ts';
import { areAttributesChanged, attributesPath } from './attributes.ts';
import { checkObjects } from './find-damage.ts';
import { isAlive, parseHolderPid, parseRecordName, readBootId, readRecord } from './index-lock.ts';
import type { RepositoryLayout } from './layout.ts';
import { findHolders } from './lock-holders.ts';
import { listReachedEntryIds, listReflogCommits, listUnreachableCommits } from './lost-commits.ts';
import { findDeadPacks, removeDeadPacks } from './pack-leftovers.ts';
import { findDeadRefRecords, repairRefLocks } from './ref-record.ts';
import type { GitRunner } from './run.ts';
import { readWorkTreeDirs } from './work-trees.ts';

export interface RemainsOptions {
  git: GitRunner;
  layout: RepositoryLayout;
  /** Finishes or takes back what was left in the work tree at `root`. */
  repairAt(root: string): Promise<void>;
}

/** Younger ones are of a command that is at work. */
const lockAgeMs = 2000;

export function gitRemains({ git, layout, repairAt }: RemainsOptions): Remains {
  const look = () => lookAround(layout);
  return {
    look,
    async clear(remain) {
      // What is not there any more was cleared by somebody else.
      if (!(await look()).some(({ kind, path }) => kind === remain.kind && path === remain.path)) return;
      if (remain.kind === 'publication') await repairAt(remain.root);
      if (remain.kind === 'ref-record') await repairRefLocks(layout.commonDir);
      if (remain.kind !== 'leftover') return;
      if (basename(remain.path).startsWith('tmp_')) {
        await removeDeadPacks(dirname(remain.path), layout.objectFormat);
      } else await rm(remain.path, { force: true });
    },
    checkObjects: (tips, not) => checkObjects(git, tips, not),
    unreachableCommits: () => listUnreachableCommits(git),
    reachedEntryIds: () => listReachedEntryIds(git),
    reflogCommits: () => listReflogCommits(git),
  };
}

async function lookAround(layout: RepositoryLayout): Promise<Remain[]> {
  const { commonDir, objectsDir } = layout;
  const main = { root: layout.gitDir === commonDir ? (layout.root ?? '') : dirname(commonDir), gitDir: commonDir };
  const linked = [...(await readWorkTreeDirs(commonDir))].map(([root, gitDir]) => ({ root, gitDir }));
  const found: Remain[] = [];
  for (const tree of [main, ...linked]) {
    found.push(...(await findPublications(tree)), ...(await findTemporaries(tree.gitDir)));
  }
  for (const { path, updates } of await findDeadRefRecords(commonDir)) {
    found.push({ kind: 'ref-record', path, refs: updates.map(({ ref }) => ref) });
  }
  const packs = join(objectsDir, 'pack');
  for (const { name } of await findDeadPacks(packs).catch(() => [])) {
    found.push({ kind: 'leftover', path: join(packs, name) });
  }
  found.push(...(await findForeignLocks(commonDir, [main, ...linked], found)));
  if (await areAttributesChanged(commonDir)) found.push({ kind: 'attributes', path: attributesPath(commonDir) });
  return found;
}

interface TreeDir {
  root: string;
  gitDir: string;
}

async function findPublications({ root, gitDir }: TreeDir): Promise<Remain[]> {
  const found: Remain[] = [];
  for (const name of await namesIn(join(gitDir, 'teddy'))) {
    const holder = parseRecordName(name);
    if (holder === null || (await isAlive(holder.pid, holder.bootId))) continue;
    const path = join(gitDir, 'teddy', name);
    const record = await readRecord(path).catch(() => null);
    if (record === null) found.push({ kind: 'leftover', path });
    else found.push({ kind: 'publication', path, root, ref: record.ref, new: record.new });
  }
  return found;
}

/** Files that were being written: the pid in their name is that of a dead process. */
async function findTemporaries(gitDir: string): Promise<Remain[]> {
  const found: Remain[] = [];
  const own = join(gitDir, 'teddy');
  const info = join(gitDir, 'info');
  for (const dir of [own, info]) {
    // Of the files of git's directory teddy writes one alone.
    for (const name of (await namesIn(dir)).filter((name) => dir === own || name.startsWith('attributes.tmp-file-'))) {
      const pid = parseHolderPid(name);
      if (pid === null || pid === process.pid || (await isAlive(pid, await readBootId()))) continue;
      found.push({ kind: 'leftover', path: join(dir, name) });
    }
  }
  return found;
}

async function findForeignLocks(commonDir: string, trees: TreeDir[], ours: Remain[]): Promise<Remain[]> {
  const perTree = trees.flatMap(({ gitDir }) => ['index.lock', 'HEAD.lock'].map((name) => join(gitDir, name)));
  const shared = ['packed-refs.lock', 'config.lock', 'shallow.lock'].map((name) => join(commonDir, name));
  const refs = await Promise.all(['refs/heads/teddy', 'refs/teddy'].map((dir) => locksBelow(join(commonDir, dir))));
  const known = await findOwnLocks(commonDir, trees, ours);
  const found: Remain[] = [];
  for (const path of [...perTree, ...shared, ...refs.flat()]) {
    const ageMs = known.has(path) ? null : await settledAgeMs(path);
    if (ageMs !== null) found.push({ kind: 'foreign-lock', path, ageMs, heldBy: await findHolders(path) });
  }
  return found;
}

/** Locks that a record of ours explains, of the living too. */
async function findOwnLocks(commonDir: string, trees: TreeDir[], ours: Remain[]): Promise<Set<string>> {
  const refs = ours.flatMap((remain): RefName[] =>
    remain.kind === 'ref-record' ? remain.refs : remain.kind === 'publication' ? [remain.ref] : [],
  );
  const known = new Set(refs.map((ref) => join(commonDir, `${ref}.lock`)));
  for (const { gitDir } of trees) {
    const lock = join(gitDir, 'index.lock');
    const claims = (await namesIn(join(gitDir, 'teddy'))).filter((name) => /^lock-[0-9a-f]{8}$/.test(name));
    for (const name of claims) if (await isSameFile(lock, join(gitDir, 'teddy', name))) known.add(lock);
    if (ours.some((remain) => remain.kind === 'publication' && dirname(dirname(remain.path)) === gitDir)) {
      known.add(join(gitDir, 'HEAD.lock'));
    }
  }
  return known;
}

/** Null: there is none, or it went away while it was young. */
async function settledAgeMs(path: string): Promise<number | null> {
  for (;;) {
    const found = await stat(path).catch(() => null);
    if (found === null) return null;
    const ageMs = Date.now() - found.mtimeMs;
    if (ageMs >= lockAgeMs || ageMs < 0) return Math.max(0, ageMs);
    await sleep(Math.min(100, lockAgeMs - ageMs));
  }
}

async function isSameFile(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([a, b].map((path) => stat(path, { bigint: true }).catch(() => null)));
  return !!one && !!other && one.dev === other.dev && one.ino === other.ino;
}

async function locksBelow(dir: string): Promise<string[]> {
  const names = await readdir(dir, { recursive: true }).catch(() => [] as string[]);
  return names.filter((name) => name.endsWith('.lock')).map((name) => join(dir, name));
}

function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}
