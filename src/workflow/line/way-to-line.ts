/** Names the commands that take the user to a line, or make a work tree leave it, so that git accepts the next command. */
import type { TreeChange, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parentsOf, shortRef, type RefName, type RepoPath, type SessionId } from '../../names.ts';
import { toOperationSteps } from './refuse-operation.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

/**
 * Returns `cd` to the work tree that has the line checked out, otherwise `git switch`, after any commands that git
 * needs first; in a bare repository, the command that makes a work tree for it. `workspace` is the work tree that has
 * the line checked out, if known.
 */
export async function findWayTo(
  project: Project,
  { ref, workspace }: { ref: RefName; workspace: Workspace | null },
): Promise<string> {
  if (workspace !== null) return `cd ${toShellWord(workspace.root)}`;
  if (project.repository.workspace === null) return `teddy resume ${toShellWord(shortRef(ref))} --worktree`;
  const holder = (await project.repository.linkedWorkTrees()).find((tree) => tree.ref === ref);
  if (holder !== undefined && !holder.isGone) return `cd ${toShellWord(holder.root)}`;
  const steps = [
    // git considers a branch checked out in a deleted work tree until the user prunes it.
    ...(holder === undefined ? [] : toForgetSteps(holder)),
    ...(await toClearSteps(project, ref)),
    `git switch ${await toBranchWords(project, ref)}`,
  ];
  return steps.join(' && ');
}

/** Returns the command that archives a session; another work tree that is on the line has to leave it first. */
export function toArchiveCommand(project: Project, line: { ref: RefName; session: SessionId }): Promise<string> {
  return afterLeaving(project, line.ref, `teddy archive ${line.session}`);
}

/**
 * Returns a command that may itself leave the line in the main work tree, preceded by the commands that any other work
 * tree needs first.
 */
export async function afterLeaving({ repository }: Project, ref: RefName, command: string): Promise<string> {
  const trees = await repository.workTrees();
  const holder = trees.find((tree) => tree.ref === ref);
  if (holder === undefined) return command;
  const isHere = holder.root === repository.workspace?.root;
  const detach = `git -C ${toShellWord(holder.root)} switch --detach && ${command}`;
  const linked = (await repository.linkedWorkTrees()).find(({ root }) => root === holder.root);
  if (linked === undefined) return isHere ? command : detach;
  const other = trees.find(({ root }) => root !== holder.root);
  if (linked.madeFor === null) return isHere ? `git switch --detach && ${command}` : detach;
  const leave = `teddy worktree remove ${toShellWord(shortRef(ref))} && ${command}`;
  if (!isHere) return leave;
  return other === undefined ? command : `cd ${toShellWord(other.root)} && ${leave}`;
}

/** The commands that make git remove its record of a work tree whose directory is gone. */
export function toForgetSteps({ root, lock }: { root: string; lock: string | null }): string[] {
  return [...(lock === null ? [] : [`git worktree unlock ${toShellWord(root)}`]), 'git worktree prune'];
}

/**
 * Returns the commands that git needs before it switches: it refuses during an operation such as a merge, with unmerged
 * files, and when an edited or untracked file differs on the branch. Loses no uncommitted change, except what an
 * operation has already done.
 */
async function toClearSteps({ repository: { store, workspace } }: Project, ref: RefName): Promise<string[]> {
  if (workspace === null) return [];
  const { head, status } = await workspace.headAndStatus({ untracked: true });
  const operation = await workspace.operationInProgress(head.ref);
  const abort = operation === null ? [] : toOperationSteps(operation, true).slice(1);
  const isUnmerged = abort.length === 0 && status.unmerged.length > 0;
  const tip = await store.resolve(ref);
  const changes = tip === null || head.oid === null ? [] : await store.diffTrees(head.oid, tip);
  const edited = new Set(status.edits.map(({ path }) => path));
  const isEdited = changes.some(({ path }) => edited.has(path));
  const clears = hasUntrackedInTheWay(changes, status.untracked);
  const stash = clears ? ['git stash -u'] : isEdited || isUnmerged ? ['git stash'] : [];
  return [...abort, ...(isUnmerged ? ['git add -u'] : []), ...stash];
}

/** Returns true if an untracked file is in the way of a file or a directory, or in a directory that is a file on the branch. */
function hasUntrackedInTheWay(changes: readonly TreeChange[], untracked: readonly RepoPath[]): boolean {
  if (untracked.length === 0) return false;
  const added = new Set(changes.flatMap(({ path, change }) => (change === 'added' ? [path] : [])));
  const above = new Set([...added].flatMap(parentsOf));
  return untracked.some((path) => added.has(path) || above.has(path) || parentsOf(path).some((one) => added.has(one)));
}

/** Uses the full name of a remote's branch when two remotes have it, because git does not choose between them. */
async function toBranchWords({ repository: { store } }: Project, ref: RefName): Promise<string> {
  const name = shortRef(ref);
  if ((await store.resolve(ref)) !== null) return toShellWord(name);
  const remote = (await store.listRefs('refs/remotes/'))
    .map((one) => one.ref.slice('refs/remotes/'.length))
    .filter((one) => one.slice(one.indexOf('/') + 1) === name);
  const [first] = remote;
  return first === undefined || remote.length === 1 ? toShellWord(name) : `--track ${toShellWord(first)}`;
}
