/**
 * Has git change files, index and HEAD under an index lock that provably belongs to teddy. git works on a copy of the
 * index, so after a kill at any moment, the inode proves that the lock is teddy's, and teddy finishes or undoes the
 * change.
 */
import { lstat, stat, readlink, readFile, symlink, chmod } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GitKilledError, TeddyError } from '../../errors.ts';
import type { Store, TreeChange } from '../../ports/git.ts';
import { shortRef, type Oid, type RefName, type RepoPath } from '../../names.ts';
import {
  copyIndex,
  holdsLock,
  markInterrupted,
  noteChild,
  releaseIndexLock,
  removeRecord,
  takeIndexLock,
  withPrivateIndex,
  writeRecord,
  type AppendFiles,
  type Checkout,
} from './index-lock.ts';
import { fileExists, removeFile, replaceFile } from '../../disk/replace-file.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readHeadRef } from '../run/layout.ts';
import { installIndex, removeEmptyParents, type PublishOptions } from './publish.ts';
import { releaseRefLocks } from '../refs/ref-record.ts';
import { maxDeaths, type Environment, type GitRunner } from '../run/run.ts';
import { nullIfGone } from '../../disk/system-error.ts';
import { listEqualFiles, readCheckouts } from './checkouts.ts';

export interface CheckoutOptions extends PublishOptions {
  store: Store;
  /**
   * Also git, but started in the user's current directory, because git never removes its current directory, even when
   * empty.
   */
  gitHere?: GitRunner;
}

/** The coarsest step, in milliseconds, of a file system's timestamps. */
const clockStepMs = 10;

interface Wanted extends Checkout {
  /** The ref that HEAD points to after the checkout. */
  ref: RefName;
}

interface Outcome {
  exitCode: number;
  stderr: string;
}

interface Command {
  args: string[];
  input?: string;
  env?: Environment;
}

export const lockedHint =
  'Wait for the other git process. If none is running anymore, remove the file and run the command again.';
const inTheWay = /would be overwritten|not uptodate|would be removed|would lose untracked files/;

/**
 * Runs the commands and returns git's exit code and message. When git is killed, undoes its work and tries again. A
 * file in the way does not block the checkout if it already equals the content that git would write.
 */
export async function runCheckout(options: CheckoutOptions, wanted: Wanted, commands: Command[]): Promise<Outcome> {
  let deaths = 0;
  for (let leavesEqual = false; ;) {
    const { died, ...outcome } = await tryCheckout(options, wanted, commands, leavesEqual);
    if (outcome.exitCode === 0) return outcome;
    if (died) deaths += 1;
    else if (!leavesEqual && inTheWay.test(outcome.stderr)) leavesEqual = true;
    else return outcome;
    if (deaths === maxDeaths) throw toKilledError(commands.at(-1)?.args[0] ?? '');
  }
}

function toKilledError(command: string): GitKilledError {
  return new GitKilledError(
    `git ${command} was killed ${maxDeaths} times in a row, and its changes were undone.`,
    'Find out what kills it (memory, a limit, a user), and run the command again.',
  );
}

async function tryCheckout(
  options: CheckoutOptions,
  wanted: Wanted,
  commands: Command[],
  leavesEqual: boolean,
): Promise<Outcome & { died: boolean }> {
  const { git, layout, store, gitHere = git } = options;
  const { ref, from, to } = wanted;
  // Name no commit, so that an older teddy, which supports only publications, merely releases the lock.
  const none = '0'.repeat(to.length) as Oid;
  const files = await writeRecord(layout.gitDir, { ref, old: null, new: none, checkout: { from, to } });
  let isLocked = false;
  let isLeft = false;
  try {
    await takeIndexLock(layout.gitDir, files);
    isLocked = true;
    await copyIndex(layout.gitDir, files.index);
    const { mtimeMs: notedMs } = await stat(files.record);
    // Files that git writes must be newer than the note, even if file times advance in steps. Their time distinguishes
    // them from the user's files.
    await sleep(Math.max(0, notedMs + clockStepMs - Date.now()));
    const equal = leavesEqual ? await listEqualFiles({ git, store, gitDir: layout.gitDir }, wanted) : '';
    const adopt: Command[] = equal === '' ? [] : [{ args: ['update-index', '-z', '--index-info'], input: equal }];
    for (const { args, input, env } of [...adopt, ...commands]) {
      const { exitCode, stderr, died } = await gitHere.run(args, {
        ...(input !== undefined && { input }),
        env: { GIT_INDEX_FILE: files.index, ...env },
        acceptDeath: true,
        accept: [1, 2, 128],
        onStart: (pid) => noteChild(files, pid),
      });
      if (exitCode === 0) continue;
      isLeft = true;
      const isTorn = died || /No space left on device|Disk quota exceeded/i.test(stderr);
      // git may have finished its work before it failed.
      const isDone =
        (isTorn || (await hasArrived(options, wanted))) &&
        (await finishOrUndoCheckout(options, wanted, files, notedMs));
      isLeft = false;
      return isDone ? { exitCode: 0, stderr: '', died } : { exitCode, stderr, died };
    }
    isLeft = true;
    options.onStep?.('checked-out');
    if (await fileExists(files.index)) await installIndex(layout.gitDir, files);
    isLeft = false;
    return { exitCode: 0, stderr: '', died: false };
  } finally {
    // When something remains unsettled, keep the record for the next command.
    if (!isLeft) await (isLocked ? releaseIndexLock(layout.gitDir, files) : removeRecord(files));
    await markInterrupted(files);
  }
}

/** Settles an abandoned checkout. Returns true when HEAD had moved to its target; the index and the files are then complete. */
export async function finishOrUndoCheckout(
  options: CheckoutOptions,
  wanted: Wanted,
  files: AppendFiles,
  notedMs: number,
): Promise<boolean> {
  const { git, layout, store } = options;
  const { from, to } = wanted;
  await releaseHeadLocks(options, wanted, files, notedMs);
  const isThere = await hasArrived(options, wanted);
  // git writes its entire index before it moves HEAD.
  if (isThere && (await holdsLock(layout.gitDir, files)) && (await fileExists(files.index)))
    await installIndex(layout.gitDir, files);
  if (!isThere) await restoreFiles({ git, store, ...layout }, { from, to }, notedMs);
  return isThere;
}

async function hasArrived({ git, store }: CheckoutOptions, { ref, to }: Wanted): Promise<boolean> {
  return ((await readHeadRef(git)) ?? 'HEAD') === ref && (await store.resolve(ref)) === to;
}

export function toBusyError(ref: RefName): TeddyError {
  return new TeddyError(
    'LOCKED',
    `A git process that was killed was moving ${shortRef(ref)}, and another one is running here, so teddy cannot tell their locks apart.`,
    'Wait for it to finish and run the command again.',
  );
}

/** Releases the locks on HEAD. A large checkout reaches HEAD late, but writes its index first, so use the index's time. */
async function releaseHeadLocks(
  { git, layout }: CheckoutOptions,
  { ref, from, to }: Wanted,
  files: AppendFiles,
  notedMs: number,
): Promise<void> {
  const times = await Promise.all(
    [files.index, `${files.index}.lock`].map((path) =>
      lstat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  // Until git writes the index, it is a copy with the old time.
  const latestMs = Math.max(notedMs, ...times);
  const values = [`ref: ${ref}`, ...(from === null ? [] : [from])];
  const updates = (['HEAD', 'ORIG_HEAD'] as const).map((name) => ({ ref: name, new: to, values }));
  const all = [...updates, { ref, new: to, values }];
  if (!(await releaseRefLocks(git, layout, all, { notedMs, latestMs }))) throw toBusyError(ref);
}

/** Returns the commit of this work tree's HEAD, which may differ from the store's HEAD; null when there is none yet. */
export function readHeadCommit(
  store: Store,
  { gitDir, commonDir }: Pick<PublishOptions['layout'], 'gitDir' | 'commonDir'>,
): Promise<Oid | null> {
  const linked = join(commonDir, 'worktrees');
  const tree = gitDir.startsWith(`${linked}/`) ? `worktrees/${gitDir.slice(linked.length + 1)}` : 'main-worktree';
  return store.resolve(`${tree}/HEAD`);
}

/** The directories needed for restoring the files of a checkout that was killed before it reached HEAD. */
interface CheckoutDirs {
  git: GitRunner;
  store: Store;
  root: string;
  /** For temporary files; a crash's leftovers in this directory are not visible to the user. */
  gitDir: string;
}

/** The maximum number of files in memory. */
const filesAtATime = 100;
/**
 * Restores the files that git had written. Before writing the first one, git checked for the user's own edits and would
 * have refused. So a file that has changed since, and contains all or the beginning of the content that git writes, is
 * git's; any other file stays.
 */
async function restoreFiles(place: CheckoutDirs, { from, to }: Checkout, notedMs: number): Promise<void> {
  const { git, store } = place;
  const changes = (await store.diffTrees(from, to)).filter(({ mode }) => mode !== '160000');
  if (changes.length === 0) return;
  // The user's index is unchanged, because git worked on a copy.
  const staged = await readStaged(git);
  const touched = changes.filter(({ path, before }) => (staged.get(path) ?? null) === before);
  for (let at = 0; at < touched.length; at += filesAtATime)
    await restoreSomeFiles(place, from, touched.slice(at, at + filesAtATime), notedMs);
}

/** Maps each path in the user's index, or each path that matches `pathspecs`, to its object. */
export async function readStaged(git: GitRunner, pathspecs: string[] = []): Promise<Map<string, string>> {
  const rows = await git.list(['ls-files', '-s', '-z', '--', ...pathspecs]);
  return new Map(
    rows.map((row): [string, string] => {
      const tab = row.indexOf('\t');
      return [row.slice(tab + 1), row.split(' ')[1] ?? ''];
    }),
  );
}

async function restoreSomeFiles(
  place: CheckoutDirs,
  from: Oid | null,
  changes: TreeChange[],
  notedMs: number,
): Promise<void> {
  const { git, store, root } = place;
  const wanted = (side: 'before' | 'after') =>
    changes.flatMap((change) => {
      const oid = change[side];
      return oid === null ? [] : [{ path: change.path, oid }];
    });
  const [old, made] = await Promise.all([readCheckouts(git, wanted('before')), readCheckouts(git, wanted('after'))]);
  const modes = new Map(
    from === null
      ? []
      : await Promise.all(changes.map(async ({ path }) => [path, await readMode(store, from, path)] as const)),
  );
  for (const { path } of changes) {
    const disk = join(root, path);
    const found = await readFresh(disk, notedMs);
    const [before = null, after = null] = [old.get(path), made.get(path)];
    if (found === 'stale' || (found !== null && !isBeginning(found, after))) continue;
    // git had not yet written the file, so there is nothing to restore.
    if (found === null && before === null) continue;
    if (before === null) await removeFile(disk).then(() => removeEmptyParents(root, path));
    else await writeBack(place, disk, before, modes.get(path) ?? null);
  }
}

function isBeginning(found: Uint8Array, whole: Uint8Array | null): boolean {
  return whole !== null && Buffer.from(whole).subarray(0, found.length).equals(found);
}

/** Reads a file. Returns null when it does not exist, and `stale` when it predates this checkout. */
async function readFresh(path: string, notedMs: number): Promise<Uint8Array | 'stale' | null> {
  try {
    const found = await lstat(path);
    if (found.isDirectory() || found.ctimeMs <= notedMs) return 'stale';
    return found.isSymbolicLink() ? Buffer.from(await readlink(path)) : await readFile(path);
  } catch (error) {
    return nullIfGone(error);
  }
}

async function readMode(store: Store, commit: Oid, path: RepoPath): Promise<string | null> {
  const parent = dirname(path);
  const dir = await store.readDir(commit, (parent === '.' ? '' : parent) as RepoPath);
  return dir?.entries.find(({ name }) => name === path.slice(path.lastIndexOf('/') + 1))?.mode ?? null;
}

async function writeBack(
  { gitDir }: CheckoutDirs,
  path: string,
  bytes: Uint8Array,
  mode: string | null,
): Promise<void> {
  if (mode === '120000') {
    await removeFile(path);
    return symlink(Buffer.from(bytes), path);
  }
  await replaceFile(path, bytes, join(gitDir, 'teddy'));
  if (mode === '100755') await chmod(path, 0o777 & ~process.umask());
}

/** Flags that override the branch's `mergeOptions` and git's configuration. */
const flags = [
  '--ff-only',
  '--no-autostash',
  '--no-squash',
  '--commit',
  '--no-edit',
  '--no-stat',
  '--quiet',
  '--no-verify-signatures',
];

/**
 * Moves a work tree's branch forward; git itself protects the user's edits in that work tree. git would notice a locked
 * branch only after writing all files, so probe the lock first.
 */
export async function fastForward(options: CheckoutOptions, to: Oid): Promise<void> {
  const { git, store, layout } = options;
  const from = await readHeadCommit(store, layout);
  const ref = (await readHeadRef(git)) ?? ('HEAD' as RefName);
  const { exitCode, stderr } = await runCheckout(options, { ref, from, to }, [
    { args: ['update-ref', '--stdin'], input: `start\nupdate HEAD ${to}\nprepare\nabort\n` },
    { args: ['merge', ...flags, '--no-overwrite-ignore', to], env: { GIT_REFLOG_ACTION: 'teddy' } },
  ]);
  if (exitCode !== 0) throw toRefusal(layout.root, `${shortRef(ref)} was not fast-forwarded`, stderr);
}

/** Throws when `fastForward` would, except that git names only the first file. Makes the attempt in a copy of the index. */
export async function dryRunFastForward({ git, store, layout }: CheckoutOptions, to: Oid): Promise<void> {
  const { gitDir } = layout;
  const from = await readHeadCommit(store, layout);
  const ref = (await readHeadRef(git)) ?? ('HEAD' as RefName);
  const refuse = (stderr: string) => {
    throw toRefusal(layout.root, `${shortRef(ref)} would not be fast-forwarded`, stderr);
  };
  await withPrivateIndex(gitDir, async (index) => {
    await copyIndex(gitDir, index);
    const run = { env: { GIT_INDEX_FILE: index } };
    const equal = await listEqualFiles({ git, store, gitDir }, { from, to });
    await git.run(['update-index', '-z', '--index-info'], { ...run, input: equal });
    await git.run(['update-index', '-q', '--refresh'], { ...run, accept: [1] });
    // git recognizes the empty tree even when it is not in the repository.
    const before = from ?? (await git.text(['hash-object', '-t', 'tree', '--stdin'], { input: '' }));
    const read = await git.run(['read-tree', '-n', '-m', '-u', before, to], { ...run, accept: [128] });
    if (read.exitCode !== 0) refuse(read.stderr);
    const added = (await store.diffTrees(from, to)).filter(({ change }) => change === 'added');
    const onDisk = await Promise.all(added.map(({ path }) => lstat(join(layout.root, path)).catch(nullIfGone)));
    const there = added.filter((_, at) => onDisk[at]);
    if (there.length === 0) return;
    // Unlike a merge, `read-tree` overwrites ignored files.
    const known = new Set(await git.list(['ls-files', '-z'], run));
    const ignored = there.flatMap(({ path }) => (known.has(path) ? [] : [`\t${path}\n`]));
    if (ignored.length > 0) refuse(`untracked files would be overwritten:\n${ignored.join('')}`);
  });
}

/** Lists the files that git would overwrite. git prints each on its own line after a tab, or in a sentence. */
function listInTheWay(stderr: string): string[] {
  const named = /^\t(.+)$|^error: (?:Entry|Untracked working tree file|Updating) '(.+)' (?:not uptodate|would )/gm;
  return inTheWay.test(stderr) ? [...stderr.matchAll(named)].map(([, listed, told]) => listed ?? told ?? '') : [];
}

/** Suggests a command that moves the edits out of the way; plain `git stash` skips untracked files. */
export function toFilesHint(root: string, stderr: string): string {
  const files = listInTheWay(stderr);
  const all = files.length > 5 ? '--include-untracked' : `--all -- ${files.map(toShellWord).join(' ')}`;
  const git = `git -C ${toShellWord(root)}`;
  // git cannot stash unmerged files.
  const add = stderr.includes('resolve your current index') ? `${git} add -u && ` : '';
  const stash = `${add}${git} stash${/untracked/i.test(stderr) ? ` push ${all}` : ''}`;
  return `Commit or stash those edits in ${root} (\`${stash}\`), or move those files away, and run the command again.`;
}

export function describeRefusal(outcome: string, stderr: string): string {
  const files = listInTheWay(stderr);
  if (files.length > 0) return `${outcome}: ${nameSome(files)} ${files.length === 1 ? 'is' : 'are'} in the way.`;
  const said = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('hint:'));
  return `${outcome}: ${said
    .slice(0, 6)
    .map((line) => line.trim())
    .join(' ')}`;
}

function toRefusal(root: string, outcome: string, stderr: string): TeddyError {
  const message = describeRefusal(outcome, stderr);
  if (/Not possible to fast-forward|Diverging branches|cannot lock ref .* but expected/.test(stderr))
    return new TeddyError('REF_MOVED', message, 'The branch has moved in the meantime. Run the command again.');
  if (/\.lock': File exists/.test(stderr)) return new TeddyError('LOCKED', message, lockedHint);
  if (/not concluded|unmerged files|unresolved conflict/.test(stderr)) {
    const hint = 'Finish or abort it with git (`git status` shows how), then run the command again.';
    return new TeddyError('OPERATION_IN_PROGRESS', message, hint);
  }
  if (inTheWay.test(stderr)) return new TeddyError('FILES_IN_THE_WAY', message, toFilesHint(root, stderr));
  return new TeddyError(
    /No space left on device|Disk quota exceeded/i.test(stderr) ? 'DISK_FULL' : 'GIT_FAILED',
    message,
  );
}
