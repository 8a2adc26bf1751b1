/** Linked work trees. git makes, lists and removes them; a mark next to git's own record shows which of them teddy made. */
import { lstat, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { LinkedWorkTree, Repository, WorkTree } from '../../ports/git.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { replaceFile, fileExists } from '../../disk/replace-file.ts';
import { nullIfGone } from '../../disk/system-error.ts';
import { discardWorkTree, withWorkTreeNote } from './half-made-work-trees.ts';
import { readWorkTreeDirs, type RepositoryLayout } from '../run/layout.ts';
import { maxDeaths, type GitRunner } from '../run/run.ts';

export interface WorkTreesOptions {
  git: GitRunner;
  layout: RepositoryLayout;
  /** Returns a runner for another work tree. */
  gitAt(root: string): GitRunner;
}

type WorkTrees = Pick<
  Repository,
  'workTrees' | 'hasLinkedWorkTrees' | 'linkedWorkTrees' | 'addWorkTree' | 'removeWorkTree' | 'ignoredFilesOf'
>;

/** A file in a linked work tree's git directory that names the line for which teddy made the work tree. */
const markPath = join('teddy', 'made-for');

export function gitWorkTrees(options: WorkTreesOptions): WorkTrees {
  const { git, layout, gitAt } = options;
  return {
    workTrees: () => listWorkTrees(git, layout),
    hasLinkedWorkTrees: async () => (await readWorkTreeDirs(layout.commonDir)).size > 0,
    linkedWorkTrees: () => listLinked(git, layout),
    addWorkTree: (ref) => addWorkTree(options, ref),
    removeWorkTree: (root) => removeWorkTree(git, layout, root),
    ignoredFilesOf: (root) =>
      gitAt(root).list(['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']),
  };
}

/** git's record of one work tree: `worktree <path>`, `HEAD <oid>`, `branch <ref>`, `bare`, `locked`, ... */
interface Row {
  lines: string[];
  value(key: string): string | undefined;
}

async function readRows(git: GitRunner): Promise<Row[]> {
  return (await git.text(['worktree', 'list', '--porcelain', '-z']))
    .split('\0\0')
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const lines = block.split('\0');
      const value = (key: string) => lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1);
      return { lines, value };
    });
}

async function listWorkTrees(git: GitRunner, layout: RepositoryLayout): Promise<WorkTree[]> {
  return (await readRows(git)).flatMap(({ lines, value }, at) => {
    // git lists the main work tree first and guesses its path from the git directory; for a submodule or with GIT_DIR,
    // the guess is wrong.
    const isOurs = at === 0 && layout.gitDir === layout.commonDir;
    const root = (isOurs ? layout.root : null) ?? value('worktree');
    if (root === undefined || lines.includes('bare') || lines.some((line) => line.startsWith('prunable'))) return [];
    return [{ root, ref: (value('branch') as RefName | undefined) ?? null }];
  });
}

/** Lists the linked work trees; the first row is the main work tree or the bare repository. */
async function listLinked(git: GitRunner, layout: RepositoryLayout): Promise<LinkedWorkTree[]> {
  const [[, ...rows], gitDirs] = await Promise.all([readRows(git), readWorkTreeDirs(layout.commonDir)]);
  return Promise.all(rows.map((row) => toLinked(row, gitDirs)));
}

async function toLinked({ lines, value }: Row, gitDirs: Map<string, string>): Promise<LinkedWorkTree> {
  const root = value('worktree') ?? '';
  const gitDir = gitDirs.get(root);
  const head = value('HEAD') ?? '';
  const lock = lines.find((line) => line === 'locked' || line.startsWith('locked '));
  const madeFor = gitDir === undefined ? null : await readMark(gitDir);
  return {
    root,
    ref: (value('branch') as RefName | undefined) ?? null,
    oid: /^0*$/.test(head) ? null : (head as Oid),
    isGone: (await lstat(join(root, '.git')).catch(nullIfGone)) === null,
    lock: lock === undefined ? null : lock.slice('locked '.length),
    madeFor,
    isUnfinished: madeFor !== null && gitDir !== undefined && !(await fileExists(join(gitDir, 'index'))),
  };
}

async function readMark(gitDir: string): Promise<RefName | null> {
  const text = await readFile(join(gitDir, markPath), 'utf8').catch(nullIfGone);
  return text === null ? null : (text.trim() as RefName);
}

/**
 * Makes a work tree for the branch. HEAD moves to the branch last, when all files and the index exist. After a crash
 * HEAD is still detached, so no command mistakes the leftovers for the line's work tree.
 */
async function addWorkTree(options: WorkTreesOptions, ref: RefName): Promise<string> {
  const { commonDir } = options.layout;
  const wanted = join(commonDir, 'teddy', 'worktrees', toName(ref));
  for (let deaths = 1; ; deaths += 1) {
    const made = await withWorkTreeNote(commonDir, wanted, (place) => makeAt(options, ref, place));
    if (made !== 'died') return made.root;
    if (deaths === maxDeaths) throw new TeddyError('GIT_FAILED', `git was killed while it was making ${wanted}.`);
  }
}

/** Makes the work tree at `place`. Returns `died` when git was killed; the work tree is then gone. */
async function makeAt(
  { git, layout, gitAt }: WorkTreesOptions,
  ref: RefName,
  place: string,
): Promise<{ root: string } | 'died'> {
  try {
    const args = ['worktree', 'add', '--quiet', '--detach', '--no-checkout', place, ref];
    if ((await git.run(args, { acceptDeath: true })).died) return await discard({ git, layout }, place);
    const root = await realpath(place);
    const inside = gitAt(root);
    await replaceFile(join(await inside.text(['rev-parse', '--absolute-git-dir']), markPath), `${ref}\n`);
    if ((await checkOut(inside, ref)) === 'died') return await discard({ git, layout }, place);
    // git checks for another work tree on the branch before it writes the files, but takes no lock, so two gits may
    // have started together.
    const other = (await listLinked(git, layout)).find((tree) => tree.ref === ref && tree.root !== root);
    if (other !== undefined) throw toCheckedOut(ref, other.root);
    return { root };
  } catch (error) {
    await discard({ git, layout }, place);
    throw error;
  }
}

/** Removes the work tree, as git does when its own checkout fails. At this point no other process has used the work tree. */
async function discard({ git, layout }: Pick<WorkTreesOptions, 'git' | 'layout'>, place: string): Promise<'died'> {
  // A killed git leaves its lock, hence --force twice.
  await git.run(['worktree', 'remove', '--force', '--force', place], { accept: [128], acceptDeath: true });
  await discardWorkTree(layout.commonDir, place);
  return 'died';
}

/** Checks the branch out without submodules, as `git worktree add` does; submodules need `git submodule update`. */
async function checkOut(inside: GitRunner, ref: RefName): Promise<'done' | 'died'> {
  const args = ['switch', '--quiet', '--no-guess', '--no-recurse-submodules', shortRef(ref)];
  const { exitCode, stderr, died } = await inside.run(args, { accept: [1, 128], acceptDeath: true });
  if (exitCode === 0) return 'done';
  if (died) return 'died';
  const said = stderr.trim().split('\n').slice(0, 6).join(' ');
  const elsewhere = /already (?:checked out|used by worktree) at '(.+?)'/.exec(said)?.[1];
  if (elsewhere !== undefined) throw toCheckedOut(ref, elsewhere);
  throw new TeddyError(
    /No space left on device|Disk quota exceeded/i.test(said) ? 'DISK_FULL' : 'GIT_FAILED',
    `git could not check out ${shortRef(ref)} in its own work tree: ${said}`,
    'Fix that and run the command again. The unfinished work tree was removed.',
  );
}

function toCheckedOut(ref: RefName, root: string): TeddyError {
  return new TeddyError(
    'LINE_CHECKED_OUT',
    `${shortRef(ref)} is checked out in ${root}, and git checks out a branch in one work tree only.`,
    'Leave out --worktree to work there, or switch that work tree to another branch first.',
  );
}

/** Makes a directory name: `teddy/20260124-add-login` -> `20260124-add-login`; any other name becomes one part of a path. */
function toName(ref: RefName): string {
  return shortRef(ref)
    .replace(/^teddy\//, '')
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '-');
}

async function removeWorkTree(git: GitRunner, layout: RepositoryLayout, root: string): Promise<void> {
  const tree = (await listLinked(git, layout)).find((one) => one.root === root);
  if (tree?.ref === null && tree.oid !== null) await refuseLastCopy(git, tree.oid);
  // git runs `git status`, and the user's configuration may hide untracked files from it.
  const args = ['-c', 'status.showUntrackedFiles=all', 'worktree', 'remove', root];
  const { exitCode, stderr } = await git.run(args, { accept: [1, 128, 255] });
  if (exitCode === 0) return;
  throw new TeddyError(
    'WORK_TREE_IN_USE',
    `git did not remove ${root}: ${stderr.trim().split('\n').slice(0, 4).join(' ')}`,
    'Check it with `git -C <path> status`, and decide what to do with its files.',
  );
}

/** Throws when the commit is reachable only from this work tree's HEAD, because removing the work tree removes its reflog. */
async function refuseLastCopy(git: GitRunner, oid: Oid): Promise<void> {
  if ((await git.text(['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${oid}`])) !== '') return;
  throw new TeddyError(
    'UNCOMMITTED_EDITS',
    `Its HEAD is at ${oid.slice(0, 10)}, which is on no branch.`,
    `Keep that commit first: \`git branch <name> ${oid.slice(0, 10)}\`.`,
  );
}
