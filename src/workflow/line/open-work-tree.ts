/** Gives a line its own linked work tree, so that the files in the user's work tree do not change. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { findLine } from './find.ts';
import { requirePlan } from './pending-plan.ts';
import { readLine } from '../../view/view.ts';
import { makeLocal } from './own-start.ts';
import { refuseElsewhere } from './unfinished-run.ts';
import { moveRefs } from './move-refs.ts';

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
