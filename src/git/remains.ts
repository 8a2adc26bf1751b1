/** Finds the leftovers of killed processes in the git directories, and locks that others hold. The search changes nothing. */
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DamagedObject, Remain, Remains } from '../ports/disk.ts';
import { parseOid, type RefName, type Oid, type RepoPath, repoPathFromGit } from '../names.ts';
import { areAttributesChanged, attributesPath } from './work-trees/attributes.ts';
import { findLeftWorkTrees, removeHalfMadeWorkTrees } from './work-trees/half-made-work-trees.ts';
import { isAlive, readBootId } from '../disk/process-identity.ts';
import { parseHolderPid, parseRecordName, readRecord } from './work-trees/index-lock.ts';
import { type RepositoryLayout, readWorkTreeDirs } from './run/layout.ts';
import { findHolders } from '../disk/lock-holders.ts';
import { findDeadPacks, removeDeadPacks } from './run/living-gits.ts';
import { findDeadRefRecords, probeNoted, repairRefLocks, type NotedUpdate } from './refs/ref-record.ts';
import { findLock, findTableLock, listRefs } from './refs/refs.ts';
import type { Environment, GitRunner } from './run/run.ts';
import type { RefTip } from '../ports/git.ts';

export interface RemainsOptions {
  git: GitRunner;
  layout: RepositoryLayout;
  /** Finishes or undoes interrupted work in the work tree at `root`. */
  repairAt(root: string): Promise<void>;
}

/** Younger locks belong to a running command. */
const lockAgeMs = 2000;

export function gitRemains({ git, layout, repairAt }: RemainsOptions): Remains {
  const look = () => lookAround(git, layout);
  return {
    look,
    async clear(remain) {
      // Another process may have cleared the remains already.
      if (!(await look()).some(({ kind, path }) => kind === remain.kind && path === remain.path)) return;
      if (remain.kind === 'publication') await repairAt(remain.root);
      if (remain.kind === 'ref-record') await repairRefLocks(git, layout);
      if (remain.kind !== 'leftover') return;
      if (basename(remain.path).startsWith('tmp_')) {
        await removeDeadPacks(dirname(remain.path), layout.objectFormat);
      } else if (dirname(remain.path) === join(layout.commonDir, 'teddy', 'worktrees')) {
        await removeHalfMadeWorkTrees(git, layout);
      } else await rm(remain.path, { force: true });
    },
    checkObjects: (tips, not) => checkObjects(git, tips, not),
    unreachableCommits: () => listUnreachableCommits(git),
    reachedEntryIds: () => listReachedEntryIds(git),
    reflogCommits: () => listReflogCommits(git),
  };
}

async function lookAround(git: GitRunner, layout: RepositoryLayout): Promise<Remain[]> {
  const { commonDir, objectsDir } = layout;
  const main = { root: layout.gitDir === commonDir ? (layout.root ?? '') : dirname(commonDir), gitDir: commonDir };
  const halfMade = await findLeftWorkTrees(git, commonDir);
  const found = halfMade.map((path): Remain => ({ kind: 'leftover', path }));
  // Removing a half-made work tree also removes its contents, so do not list them separately.
  const trees = [...(await readWorkTreeDirs(commonDir))].filter(([root]) => !halfMade.includes(root));
  const linked = trees.map(([root, gitDir]) => ({ root, gitDir }));
  for (const tree of [main, ...linked]) {
    found.push(...(await findPublications(tree)), ...(await findTemporaries(tree.gitDir)));
  }
  for (const { path, updates } of await findDeadRefRecords(commonDir)) {
    found.push({ kind: 'ref-record', path, refs: updates.map(({ ref }) => ref as RefName) });
  }
  const packs = join(objectsDir, 'pack');
  for (const { name } of await findDeadPacks(packs).catch(() => [])) {
    found.push({ kind: 'leftover', path: join(packs, name) });
  }
  found.push(...(await findForeignLocks(git, layout, [main, ...linked], found)));
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

/** Finds unfinished files that have a dead process's pid in their names. */
async function findTemporaries(gitDir: string): Promise<Remain[]> {
  const found: Remain[] = [];
  const own = join(gitDir, 'teddy');
  const info = join(gitDir, 'info');
  for (const dir of [own, info]) {
    // teddy writes only one file in git's own directory.
    for (const name of (await namesIn(dir)).filter((name) => dir === own || name.startsWith('attributes.tmp-file-'))) {
      const pid = parseHolderPid(name);
      if (pid === null || pid === process.pid || (await isAlive(pid, await readBootId()))) continue;
      found.push({ kind: 'leftover', path: join(dir, name) });
    }
  }
  return found;
}

async function findForeignLocks(
  git: GitRunner,
  layout: RepositoryLayout,
  trees: TreeDir[],
  ours: Remain[],
): Promise<Remain[]> {
  const { commonDir } = layout;
  const perTree = trees.map(({ gitDir }) => join(gitDir, 'index.lock'));
  const shared = ['config.lock', 'shallow.lock'].map((name) => join(commonDir, name));
  const refs = await findRefLocks(git, layout, trees);
  const known = await findOwnLocks(commonDir, trees, ours);
  const found: Remain[] = [];
  for (const path of new Set([...perTree, ...shared, ...refs])) {
    const ageMs = known.has(path) ? null : await settledAgeMs(path);
    if (ageMs !== null) found.push({ kind: 'foreign-lock', path, ageMs, heldBy: await findHolders(path) });
  }
  return found;
}

/** Finds locks that one of teddy's records explains, including the locks of living processes. */
async function findOwnLocks(commonDir: string, trees: TreeDir[], ours: Remain[]): Promise<Set<string>> {
  const refs = ours.flatMap((remain): RefName[] =>
    remain.kind === 'ref-record' ? remain.refs : remain.kind === 'publication' ? [remain.ref] : [],
  );
  const known = new Set(refs.map((ref) => join(commonDir, `${ref}.lock`)));
  // All refs of a reftable share one lock.
  if (refs.length > 0) known.add(join(commonDir, 'reftable', 'tables.list.lock'));
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

/** Returns the age of a lock; null when there is none, or when the lock disappeared while young. */
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

/** Finds ref locks by asking git to prepare updates that change nothing, because only git knows where the locks are. */
async function findRefLocks(git: GitRunner, layout: RepositoryLayout, trees: TreeDir[]): Promise<string[]> {
  const found: string[] = [];
  const probe = async (updates: NotedUpdate[], env: Environment = {}): Promise<string | undefined> => {
    const refusal = await probeNoted(git, layout, updates, env);
    const lock = findLock(refusal);
    if (lock !== null) found.push(lock === 'reftable' ? await findTableLock(git) : lock);
    return lock === null ? undefined : /cannot lock ref '([^']+)'/.exec(refusal)?.[1];
  };
  // Removing a ref locks packed-refs, even when the ref does not exist.
  await probe([{ ref: 'refs/heads/teddy-no-such-branch' as RefName, new: null }]);
  for (const { gitDir } of trees) {
    const env = { GIT_DIR: gitDir };
    const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD'], { env, accept: [1, 128] });
    if (head.exitCode !== 0) continue;
    await probe([{ ref: 'HEAD', new: parseOid(head.stdout.toString('utf8').trim()), gitDir }], env);
  }
  let refs: NotedUpdate[] = (await listRefs(git, ['refs/heads/teddy/', 'refs/teddy/'])).map(({ ref, oid }) => ({
    ref,
    new: oid,
  }));
  while (refs.length > 0) {
    const locked = await probe(refs);
    if (locked === undefined) return found;
    // A locked HEAD is already among the found locks, and its branch cannot be probed.
    const rest = refs.filter(({ ref }) => ref !== locked);
    if (rest.length === refs.length) return found;
    refs = rest;
  }
  return found;
}

function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}

/** The starting points for reachability: all refs and HEADs, and the repositories from which this one borrows objects. */
const everything = ['--all', '--alternate-refs'];

/** Lists the commits that nothing points to anymore. */
async function listUnreachableCommits(git: GitRunner): Promise<Oid[]> {
  const format = '--batch-check=%(objecttype) %(objectname)';
  const [commits, reached] = await Promise.all([
    collect(git, ['cat-file', '--batch-all-objects', '--unordered', format], 'commit '),
    collect(git, ['rev-list', ...everything], ''),
  ]);
  return [...commits].filter((oid) => !reached.has(oid));
}

async function collect(git: GitRunner, args: string[], prefix: string): Promise<Set<Oid>> {
  const found = new Set<Oid>();
  for await (const line of git.lines(args)) if (line.startsWith(prefix)) found.add(line.slice(prefix.length) as Oid);
  return found;
}

async function listReachedEntryIds(git: GitRunner): Promise<Set<string>> {
  const format = '--format=%(trailers:key=Teddy-Entry-Id,valueonly)';
  const found = await git.text(['log', ...everything, format, '--fixed-strings', '--grep=Teddy-Entry-Id: ']);
  return new Set(found.split('\n').filter((line) => line !== ''));
}

async function listReflogCommits(git: GitRunner): Promise<Set<Oid>> {
  // Without `--stdin`, git prints its usage and fails when every reflog is empty.
  const found = await git.text(['rev-list', '--no-walk=unsorted', '--reflog', '--ignore-missing', '--stdin']);
  return new Set(
    found
      .split('\n')
      .filter((line) => line !== '')
      .map(parseOid),
  );
}

/** The maximum number of objects to trace to their files; each costs a walk. */
const maxTraced = 20;

/** Checks the objects reachable from the tips. Skips objects reachable from `not`, except for the tips' own objects. */
async function checkObjects(
  git: GitRunner,
  tips: readonly RefTip[],
  not: readonly Oid[],
): Promise<{ objects: number; damaged: DamagedObject[] }> {
  if (tips.length === 0) return { objects: 0, damaged: [] };
  const { listed, bad } = await walk(git, tips, not);
  if (bad.size === 0) return { objects: listed, damaged: [] };
  const damaged: DamagedObject[] = [];
  const known = new Set<Oid>();
  // Walk each line only now that something is damaged; report an object on several lines only once.
  for (const tip of tips) {
    for (const oid of (await walk(git, [tip], not)).bad) {
      if (known.has(oid)) continue;
      known.add(oid);
      const path = known.size > maxTraced ? null : await findPath(git, tip.oid, oid);
      damaged.push({ oid, ref: tip.ref, path });
    }
  }
  return { objects: listed, damaged };
}

async function walk(
  git: GitRunner,
  tips: readonly RefTip[],
  not: readonly Oid[],
): Promise<{ listed: number; bad: Set<Oid> }> {
  const oids = tips.map(({ oid }) => oid);
  const listings = await Promise.all([
    list(git, [], [...oids, ...not.map((oid) => `^${oid}`)]),
    list(git, ['--no-walk'], oids),
  ]);
  const rows = [...new Set(listings.flatMap((listing) => listing.rows))];
  const bad = new Set([
    ...rows.filter((row) => row.startsWith('?')).map((row) => parseOid(row.slice(1))),
    ...listings.flatMap(({ named }) => named),
  ]);
  const present = rows.filter((row) => !row.startsWith('?'));
  for (const oid of await findUnreadable(git, present)) bad.add(oid);
  return { listed: rows.length, bad };
}

async function list(git: GitRunner, flags: string[], revisions: string[]): Promise<{ rows: string[]; named: Oid[] }> {
  const args = ['rev-list', '--objects', '--no-object-names', '--missing=print', ...flags, '--stdin'];
  const input = `${revisions.join('\n')}\n`;
  const { stdout, stderr, exitCode } = await git.run(args, { input, accept: [1, 128] });
  const rows = stdout.toString('latin1').split('\n');
  return { rows: rows.filter((row) => row !== ''), named: exitCode === 0 ? [] : readNamed(stderr) };
}

/** Extracts the unreadable object from git's last message, not the object that refers to it. */
function readNamed(stderr: string): Oid[] {
  const named =
    /(?:bad object|[Cc]ould not read|loose object|unable to read tree|missing object|unable to parse object:?) \(?([0-9a-f]{40,64})/g;
  const found = [...stderr.matchAll(named)].flatMap(([, oid]) => (oid === undefined ? [] : [parseOid(oid)]));
  return [...new Set(found)];
}

/** Finds objects whose files are empty or invalid, as a power failure leaves them. */
async function findUnreadable(git: GitRunner, oids: string[]): Promise<Oid[]> {
  if (oids.length === 0) return [];
  const args = ['cat-file', '--batch-check=%(objectname) %(objectsize)', '--buffer'];
  const { stdout } = await git.run(args, { input: `${oids.join('\n')}\n`, accept: [128] });
  const rows = stdout
    .toString('latin1')
    .split('\n')
    .filter((row) => row !== '');
  const told = rows.filter((row) => row.endsWith(' missing')).map((row) => parseOid(row.slice(0, -' missing'.length)));
  // git stops at some objects instead of answering; this is the first one without an answer.
  const stopped = oids[rows.length];
  return stopped === undefined ? told : [...told, parseOid(stopped)];
}

/** Returns the object's path in the commit that introduced it; null when a missing object ends the walk early. */
async function findPath(git: GitRunner, tip: Oid, oid: Oid): Promise<RepoPath | null> {
  const args = ['log', '-t', '--raw', '--no-abbrev', '--no-renames', '--format=', '-z', `--find-object=${oid}`, tip];
  const { stdout } = await git.run([...args, '--'], { accept: [1, 128] });
  const fields = stdout.toString('utf8').split('\0');
  const row = fields.findIndex((field) => field.startsWith(':') && field.includes(` ${oid} `));
  const path = row === -1 ? undefined : fields[row + 1];
  return path === undefined || path === '' ? null : repoPathFromGit(path);
}
