/** Names the commands by which a person gets to a line, and lets go of it, from where they stand: git then does what it is asked. */
import type { TreeChange, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parentsOf, shortRef, type RefName, type RepoPath, type SessionId } from '../../names.ts';
import { toOperationSteps } from './refuse-operation.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

/**
 * `cd` to the work tree that the line is checked out in; else `git switch`, after what git asks for first. `workspace`: the work
 * tree whose HEAD is on the line, where that is known.
 */
export async function findWayTo(
  project: Project,
  { ref, workspace }: { ref: RefName; workspace: Workspace | null },
): Promise<string> {
  if (workspace !== null) return `cd ${toShellWord(workspace.root)}`;
  const holder = (await project.repository.linkedWorkTrees()).find((tree) => tree.ref === ref);
  if (holder !== undefined && !holder.isGone) return `cd ${toShellWord(holder.root)}`;
  const steps = [
    // git takes a branch for checked out in a work tree that is gone until it is told so.
    ...(holder === undefined ? [] : toForgetSteps(holder)),
    ...(await toClearSteps(project, ref)),
    `git switch ${await toBranchWords(project, ref)}`,
  ];
  return steps.join(' && ');
}

/** The command that archives a session: another work tree that is on the line has to let go of it first. */
export function toArchiveCommand(project: Project, line: { ref: RefName; session: SessionId }): Promise<string> {
  return afterLeaving(project, line.ref, `teddy session archive ${line.session}`);
}

/** A command that may leave the line in the main work tree by itself, with what any other work tree has to do before it. */
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

/** The commands that make git forget a work tree whose directory is gone. */
export function toForgetSteps({ root, lock }: { root: string; lock: string | null }): string[] {
  return [...(lock === null ? [] : [`git worktree unlock ${toShellWord(root)}`]), 'git worktree prune'];
}

/**
 * git refuses to switch in the middle of a merge or the like, with unmerged files, and where an edited or untracked file is another
 * one on the branch. Nothing that is not committed is lost, but for what an operation has done so far.
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

/** A file in the way of a file, of a directory, or in a directory that is a file on the branch. */
function hasUntrackedInTheWay(changes: readonly TreeChange[], untracked: readonly RepoPath[]): boolean {
  if (untracked.length === 0) return false;
  const added = new Set(changes.flatMap(({ path, change }) => (change === 'added' ? [path] : [])));
  const above = new Set([...added].flatMap(parentsOf));
  return untracked.some((path) => added.has(path) || above.has(path) || parentsOf(path).some((one) => added.has(one)));
}

/** git does not choose between two remotes that have a branch of the name. */
async function toBranchWords({ repository: { store } }: Project, ref: RefName): Promise<string> {
  const name = shortRef(ref);
  if ((await store.resolve(ref)) !== null) return toShellWord(name);
  const remote = (await store.listRefs('refs/remotes/'))
    .map((one) => one.ref.slice('refs/remotes/'.length))
    .filter((one) => one.slice(one.indexOf('/') + 1) === name);
  const [first] = remote;
  return first === undefined || remote.length === 1 ? toShellWord(name) : `--track ${toShellWord(first)}`;
}
