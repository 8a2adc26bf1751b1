/** One work tree: its HEAD, its index, and the user's edits. */
import { lstat, readFile, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Stats } from 'node:fs';
import { TeddyError } from '../../errors.ts';
import type { CommitChange, Head, Scan, Store, Workspace } from '../../ports/git.ts';
import { nullIfGone } from '../../disk/system-error.ts';
import { parseOid, repoPathFromGit, shortRef, type Oid, type RefName, type RepoPath } from '../../names.ts';
import {
  describeRefusal,
  fastForward,
  lockedHint,
  readHeadCommit,
  dryRunFastForward,
  runCheckout,
  toFilesHint,
  type CheckoutOptions,
} from './checkout.ts';
import { readCheckouts } from './checkouts.ts';
import {
  copyIndex,
  fingerprintFile,
  releaseIndexLock,
  removeRecord,
  takeIndexLock,
  withPrivateIndex,
  writeRecord,
} from './index-lock.ts';
import { fileExists } from '../../disk/replace-file.ts';
import { installIndex, publish, writeSessionFiles, type PublishOptions } from './publish.ts';
import { repair } from './repair.ts';
import { readHeadRef } from '../run/layout.ts';
import { splitNul, type GitRunner, withOwnErrors } from '../run/run.ts';
import { searchWorkTree } from '../history/search-text.ts';
import { readSettledStatus, readStatus } from './status.ts';
import { withDurableNames } from '../objects/sync-objects.ts';
import { treeOfPaths } from '../objects/tree-of-paths.ts';
import { toChange } from '../history/walk-changes.ts';

/** The HEAD found when the repository was opened. */
export interface KnownHead extends Head {
  /** True to report this HEAD while the work tree is open. */
  isKept: boolean;
}

export interface WorkspaceOptions extends CheckoutOptions {
  /** Null when teddy must ask git. */
  knownHead?: KnownHead | null;
}

export function gitWorkspace(options: WorkspaceOptions): Workspace {
  const { git, store, layout } = options;
  let { knownHead = null } = options;
  return withOwnErrors({
    root: layout.root,
    async head() {
      const known = knownHead;
      // After the first look, HEAD may have moved.
      if (known?.isKept !== true) knownHead = null;
      if (known === null || known.ref === null) return readHead(git, store);
      return { ref: known.ref, oid: known.isKept ? known.oid : await store.resolve(known.ref) };
    },
    isOn: async (ref) => (await readHeadRef(git)) === ref,
    operationInProgress: (ref) => findOperation(store, layout, ref),
    status: async (wanted) => (await readSettledStatus(git, layout.gitDir, wanted)).status,
    headAndStatus: (wanted) => readSettledStatus(git, layout.gitDir, wanted),
    stagedChanges: (index) => readStaged(git, index === join(layout.gitDir, 'index') ? null : index),
    async snapshotTree(except) {
      await refuseMissingIndex(git, store, layout.gitDir);
      return withDurableNames(layout.objectsDir, () =>
        withPrivateIndex(layout.gitDir, async (index) => {
          await copyIndex(layout.gitDir, index);
          return snapshotTree(git, { GIT_INDEX_FILE: index }, except);
        }),
      );
    },
    treeOfPaths: (base, paths) =>
      withDurableNames(layout.objectsDir, () =>
        withPrivateIndex(layout.gitDir, (index) => treeOfPaths({ git, store, root: layout.root, index }, base, paths)),
      ),
    scan: async () => (await scan(git, layout.root)).scan,
    headAndScan: () => scan(git, layout.root),
    untrackedDirectories: () => listUntrackedDirectories(git),
    untrackedBelow: async (path) =>
      (await git.list(['ls-files', '--others', '-z', '--', `:(top,literal)${path}`])).map(repoPathFromGit),
    ignored: async (paths) => findIgnored(git, await withoutPathsBehindLinks(layout.root, paths)),
    search: (query) => searchWorkTree(git, query),
    publish: (publication) => publish(options, publication),
    repair: () => repair(options, store),
    readDisk: (path) => readDisk(join(layout.root, path)),
    readCheckouts: (files) => readCheckouts(git, files),
    sizeOnDisk: (path) => sizeOnDisk(join(layout.root, path)),
    bornOnDisk: async (path) => bornAt(await lstatIfThere(join(layout.root, path))),
    writeSessionFile: (path, bytes) => writeSessionFiles(layout, [{ path, bytes }]),
    unstage: (paths) => unstage(options, paths),
    switchTo: (ref) => switchTo(options, ref),
    async fastForward(commit) {
      await fastForward(options, commit);
      options.onStep?.('fast-forwarded');
    },
    rehearse: (tree) => dryRunFastForward(options, tree),
  });
}

/** Reads HEAD. The store belongs to the work tree where it was opened, so read a detached HEAD here. */
async function readHead(git: GitRunner, store: Store): Promise<Head> {
  const ref = await readHeadRef(git);
  if (ref !== null) return { ref, oid: await store.resolve(ref) };
  return { ref, oid: parseOid(await git.text(['rev-parse', '--verify', 'HEAD^{commit}'])) };
}

async function readStaged(git: GitRunner, index: string | null): Promise<CommitChange[]> {
  const flags = ['--raw', '-z', '--no-renames', '--no-abbrev', '--no-relative', '--ita-invisible-in-index'];
  // Unlike diff-index, `git diff` also works before the first commit.
  const env = index === null ? {} : { env: { GIT_INDEX_FILE: index } };
  const fields = await git.list(['diff', '--cached', ...flags], env);
  return fields.flatMap((header, at) => (at % 2 === 0 ? [toChange(header, fields[at + 1] ?? '')] : []));
}

const operations: [file: string, name: string][] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply/applying', 'git am'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
];

/** Operations that are recognized by refs, unlike MERGE_HEAD. */
const operationRefs: [ref: string, name: string][] = [
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
];

async function findOperation(
  store: Store,
  { gitDir, commonDir }: PublishOptions['layout'],
  ref: RefName | null,
): Promise<string | null> {
  for (const [file, name] of operations) if (await fileExists(join(gitDir, file))) return name;
  // The store may belong to another work tree.
  const tree = gitDir === commonDir ? 'main-worktree' : `worktrees/${basename(gitDir)}`;
  for (const [head, name] of operationRefs) if ((await store.resolve(`${tree}/${head}`)) !== null) return name;
  // Between two of many commits, this ref does not exist.
  const todo = await readFile(join(gitDir, 'sequencer', 'todo'), 'utf8').catch(nullIfGone);
  if (todo !== null) return todo.startsWith('revert') ? 'revert' : 'cherry-pick';
  if (await fileExists(join(gitDir, 'BISECT_LOG'))) return 'bisect';
  if (ref === null) return null;
  const linked = await readdir(join(commonDir, 'worktrees')).catch(() => [] as string[]);
  for (const dir of [commonDir, ...linked.map((name) => join(commonDir, 'worktrees', name))]) {
    for (const rebase of ['rebase-merge', 'rebase-apply']) {
      const rebased = await readFile(join(dir, rebase, 'head-name'), 'utf8').catch(() => '');
      if (rebased.trim() === ref) return `rebase of ${shortRef(ref)}`;
    }
  }
  return null;
}

/** Throws when the index is missing, because every file would then count as deleted. */
async function refuseMissingIndex(git: GitRunner, store: Store, gitDir: string): Promise<void> {
  if ((await fileExists(join(gitDir, 'index'))) || (await readHead(git, store)).oid === null) return;
  throw new TeddyError(
    'SNAPSHOT_FAILED',
    "This work tree's index is missing, so teddy cannot tell your edits from deletions.",
    'Run `git reset`: it rebuilds the index and leaves your files alone.',
  );
}

async function snapshotTree(git: GitRunner, env: { GIT_INDEX_FILE: string }, except: RepoPath[]): Promise<Oid> {
  const pathspecs = [':/', ...except.map((path) => `:(top,literal,exclude)${path}`)];
  const added = await git.run(['add', '-u', '--', ...pathspecs], { env, accept: [1, 128] });
  if (added.exitCode !== 0) {
    throw new TeddyError(
      'SNAPSHOT_FAILED',
      `git could not record your edits: ${added.stderr.trim()}`,
      'Fix that, or commit your edits yourself. Nothing was changed.',
    );
  }
  return parseOid(await git.text(['write-tree'], { env }));
}

/** Drops paths behind a symbolic link: git tracks no files behind it and refuses to report whether such a path is ignored. */
async function withoutPathsBehindLinks(root: string, paths: RepoPath[]): Promise<RepoPath[]> {
  const links = new Map<string, Promise<boolean>>();
  const isLink = async (path: string) => (await lstatIfThere(join(root, path)))?.isSymbolicLink() === true;
  const isBeyond = async (path: string): Promise<boolean> => {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parent === '') return false;
    const known = links.get(parent) ?? isBeyond(parent).then((beyond) => beyond || isLink(parent));
    links.set(parent, known);
    return known;
  };
  const unique = [...new Set(paths)];
  const beyond = await Promise.all(unique.map(isBeyond));
  return unique.filter((_, at) => beyond[at] === false);
}

async function findIgnored(git: GitRunner, paths: RepoPath[]): Promise<RepoPath[]> {
  if (paths.length === 0) return [];
  const input = paths.map((path) => `${path}\0`).join('');
  const { exitCode, stdout } = await git.run(['check-ignore', '-z', '--stdin'], { input, accept: [1, 128] });
  if (exitCode !== 128) return splitNul(stdout).map(repoPathFromGit);
  // git rejects a path in a submodule, and all other paths with it.
  if (paths.length === 1) return [];
  // Split in half: git rejects few paths, and a plan may name thousands.
  const half = Math.ceil(paths.length / 2);
  const first = await findIgnored(git, paths.slice(0, half));
  return [...first, ...(await findIgnored(git, paths.slice(half)))];
}

async function readDisk(path: string): Promise<Uint8Array | null> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink()) return Buffer.from(await readlink(path));
    return found.isFile() ? await readFile(path) : null;
  } catch (error) {
    return nullIfGone(error);
  }
}

async function sizeOnDisk(path: string): Promise<number | null> {
  const found = await lstatIfThere(path);
  return found !== null && (found.isFile() || found.isSymbolicLink()) ? found.size : null;
}

/** Returns when the file was created. Some file systems do not store that time and return the epoch. */
function bornAt(found: Stats | null): Date | null {
  if (found === null) return null;
  return found.birthtimeMs > 0 ? found.birthtime : found.ctime;
}

async function switchTo(options: WorkspaceOptions, ref: RefName): Promise<void> {
  const { store, layout } = options;
  const [from, to] = await Promise.all([readHeadCommit(store, layout), store.resolve(ref)]);
  if (to === null) throw new TeddyError('UNKNOWN_BRANCH', `There is no branch ${shortRef(ref)}.`, 'See `git branch`.');
  const args = ['switch', '--quiet', '--no-guess', '--no-overwrite-ignore', shortRef(ref)];
  const { exitCode, stderr } = await runCheckout(options, { ref, from, to }, [{ args }]);
  if (exitCode === 0) return;
  const isLocked = /\.lock'/.test(stderr);
  throw new TeddyError(
    isLocked ? 'LOCKED' : 'FILES_IN_THE_WAY',
    describeRefusal(`git did not switch to ${shortRef(ref)}`, stderr),
    isLocked ? lockedHint : toFilesHint(layout.root, stderr),
  );
}

/**
 * Unstages paths in a copy of the index. With the user's index, a git killed while holding the lock would leave a lock
 * that teddy must not remove.
 */
async function unstage({ git, layout, store }: PublishOptions & { store: Store }, paths: RepoPath[]): Promise<void> {
  // Write nothing when nothing is staged, so that a full disk does not prevent a run's rollback.
  const staged = paths.length === 0 ? [] : await listStaged(git, paths);
  if (staged.length === 0) return;
  const { gitDir } = layout;
  const ref = (await readHeadRef(git)) ?? ('HEAD' as RefName);
  // Name no commit: after a crash, teddy undoes this, and the next rollback repeats it.
  const none = parseOid('0'.repeat(store.objectFormat === 'sha1' ? 40 : 64));
  const files = await writeRecord(gitDir, { ref, old: null, new: none });
  let isLocked = false;
  try {
    await takeIndexLock(gitDir, files);
    isLocked = true;
    if (!(await copyIndex(gitDir, files.index))) return;
    const input = staged.map((path) => `${path}\0`).join('');
    const reset = ['--literal-pathspecs', 'reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
    await git.run(reset, { input, env: { GIT_INDEX_FILE: files.index } });
    await installIndex(gitDir, files);
  } finally {
    await (isLocked ? releaseIndexLock(gitDir, files) : removeRecord(files));
  }
}

/** Lists paths with an index entry that differs from HEAD, including unmerged entries and those of `git add -N`. */
async function listStaged(git: GitRunner, paths: RepoPath[]): Promise<RepoPath[]> {
  const args = ['diff', '--cached', '--name-only', '--no-renames', '--no-relative', '--ita-visible-in-index', '-z'];
  const differing = new Set<string>(await git.list([...args, '--ignore-submodules=none']));
  return paths.filter((path) => differing.has(path));
}

/** Scans the work tree: the status lists the paths that differ, and size, times and inode reveal changes between two scans. */
async function scan(git: GitRunner, root: string): Promise<{ head: Head; scan: Scan }> {
  const { head, status } = await readStatus(git, { untracked: true });
  const { edits, unmerged, untracked } = status;
  const rows: [RepoPath, string][] = [
    ...untracked.map((path): [RepoPath, string] => [path, '??']),
    ...unmerged.map((path): [RepoPath, string] => [path, 'UU']),
    ...edits.map(({ path, staged, unstaged, submodule }): [RepoPath, string] => [
      submodule ? (`${path}/` as RepoPath) : path,
      staged + unstaged,
    ]),
  ];
  const prints = rows.map(async ([path, letters]): Promise<[RepoPath, string]> => {
    const print = path.endsWith('/') ? 'repository' : await fingerprintFile(join(root, path));
    return [path, `${letters} ${print}`];
  });
  return { head, scan: new Map(await Promise.all(prints)) };
}

async function listUntrackedDirectories(git: GitRunner): Promise<RepoPath[]> {
  const rows = await git.list(['ls-files', '--others', '--directory', '--exclude-standard', '-z']);
  return rows.filter((row) => row.endsWith('/')).map((row) => repoPathFromGit(row.slice(0, -1)));
}

/** Returns null only for a missing file, because a disk error must not become a deletion in a commit. */
async function lstatIfThere(path: string): Promise<Stats | null> {
  return lstat(path).catch(nullIfGone);
}
