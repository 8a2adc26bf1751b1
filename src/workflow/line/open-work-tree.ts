/** Gives a line its own linked work tree, or takes the user's work tree to it. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { findLine } from './find.ts';
import { requirePlan } from './pending-plan.ts';
import { readLine } from '../../view/view.ts';
import { makeLocal } from './own-start.ts';
import { refuseElsewhere, refuseRunsIn } from './unfinished-run.ts';
import { moveRefs } from './move-refs.ts';
import { listLines } from '../../session/lines/lines.ts';
import { findNewest } from '../../session/lines/main-lines.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { refuseOperation } from './refuse-operation.ts';

export interface OpenedWorkTree {
  ref: RefName;
  /** Absolute. */
  root: string;
  made: boolean;
}

/**
 * Returns the linked work tree that has the line checked out, and makes one if necessary. With `needsPlan`, does so
 * only for a line that has a plan to execute. Throws LINE_CHECKED_OUT when the main work tree is on the line,
 * NO_PENDING_PLAN.
 */
export async function openWorkTree(
  project: Project,
  selector: string | undefined,
  { needsPlan }: { needsPlan: boolean },
): Promise<OpenedWorkTree> {
  const { repository } = project;
  await repository.store.ident();
  const { ref, session, tip, remoteTip, workspace } = await findLine(project, selector, { appends: true });
  const local = tip ?? (await makeLocal(project, { ref, session, remoteTip }));
  if (needsPlan) requirePlan({ ref, state: await readLine(repository.store, local) });
  const root = await findLinked(project, ref);
  if (root !== null) return { ref, root, made: false };
  if (workspace !== null)
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${shortRef(ref)} is checked out in the main work tree, ${workspace.root}.`,
      'Omit --worktree to work there, or switch that work tree to another branch first.',
    );
  await refuseElsewhere(project, { ref, session, workspace });
  return { ref, ...(await addOrJoin(project, ref)) };
}

async function findLinked(project: Project, ref: RefName): Promise<string | null> {
  const trees = await project.repository.linkedWorkTrees();
  return trees.find((tree) => tree.ref === ref && !tree.isGone)?.root ?? null;
}

/** Two commands may make a work tree at the same time; the second then uses the first one's. */
async function addOrJoin(project: Project, ref: RefName): Promise<{ root: string; made: boolean }> {
  await removeMissingWorkTree(project, ref);
  try {
    const root = await project.repository.addWorkTree(ref);
    project.notices.info(`Created the work tree ${root}.`);
    return { root, made: true };
  } catch (error) {
    const root = error instanceof TeddyError && error.code === 'LINE_CHECKED_OUT' && (await findLinked(project, ref));
    if (!root) throw error;
    return { root, made: false };
  }
}

/** Removes a work tree whose directory is gone, because git would still consider the line checked out in it. */
async function removeMissingWorkTree(project: Project, ref: RefName): Promise<void> {
  const trees = await project.repository.linkedWorkTrees();
  const gone = trees.find((tree) => tree.ref === ref && tree.isGone);
  if (gone === undefined) return;
  // The work tree may be on a disk that is not mounted.
  if (gone.madeFor === null)
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${shortRef(ref)} is checked out in ${gone.root}, which does not exist.`,
      'If it is not coming back, have git forget it: `git worktree prune`.',
    );
  await project.repository.removeWorkTree(gone.root);
  project.notices.warn(`The work tree ${gone.root} is gone, with any uncommitted changes in it.`);
}

/** Adds a work tree for a new line, and deletes the line again if that fails. */
export async function addOrDelete(project: Project, ref: RefName, commit: Oid): Promise<string> {
  try {
    return await project.repository.addWorkTree(ref);
  } catch (error) {
    await moveRefs(project, [{ ref, old: commit, new: null }], 'taken back', { drops: true });
    throw error;
  }
}

export interface Arrival {
  ref: RefName;
  session: SessionId;
  /** The root of the work tree that has the line checked out. */
  root: string;
  /** True when HEAD moved. */
  hasSwitched: boolean;
}

/**
 * Goes to the line that `selector` names, or to HEAD's or the newest open one. A line that exists only on a remote gets
 * a local branch. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, LINE_CHECKED_OUT, FILES_IN_THE_WAY, OPERATION_IN_PROGRESS,
 * RUN_INTERRUPTED, LOCKED, and NOT_ON_LINE in a bare repository.
 */
export async function goToLine(
  project: Project,
  selector: string | undefined,
  { inWorkTree }: { inWorkTree: boolean },
): Promise<Arrival> {
  const line = await findLine(project, selector, { appends: true });
  const { ref, session } = line;
  if (inWorkTree) {
    const { root } = await openWorkTree(project, shortRef(ref), { needsPlan: false });
    return { ref, session, root, hasSwitched: false };
  }
  if (line.workspace !== null) return { ref, session, root: line.workspace.root, hasSwitched: false };
  const { workspace } = project.repository;
  const name = shortRef(ref);
  if (workspace === null)
    throw new TeddyError(
      'NOT_ON_LINE',
      `${name} cannot be checked out in a bare repository.`,
      `Give it a work tree of its own: \`teddy resume ${toShellWord(name)} --worktree\`.`,
    );
  if (line.tip === null) await makeLocal(project, line);
  await refuseOperation(workspace, ref, workspace.root);
  await refuseRunsIn(project, workspace);
  await workspace.switchTo(ref);
  return { ref, session, root: workspace.root, hasSwitched: true };
}

/** Returns true if a fetched branch of the line has newer steps than the local one. Asks no remote. */
export async function isBehindRemote(project: Project, { ref }: { ref: RefName }): Promise<boolean> {
  return findNewest(await listLines(project)).get(ref)?.isBehind === true;
}
