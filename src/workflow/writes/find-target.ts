/** Finds the work tree and the line of a write session, when it begins and when it ends. */
import { TeddyError } from '../../errors.ts';
import type { Repository, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../names.ts';
import { findHeadLine, lineName } from '../line/find.ts';
import { listMainLines } from '../../session/main-lines.ts';
import { newSession } from '../line/new-session.ts';
import { repair } from '../line/repair.ts';
import { prepareLine } from '../line/prepare.ts';
import { refuseOperation } from '../line/refuse-operation.ts';
import { refuseRunsIn } from '../line/unfinished-run.ts';
import type { HeldWrite } from './held.ts';
import type { WriteRecord } from '../../write/write.ts';

export interface WriteTarget {
  workspace: Workspace;
  /** Null when HEAD is on no line: the entry goes to the session named `writes`. */
  line: { ref: RefName; session: SessionId } | null;
}

/** Throws NO_WORK_TREE, NOT_ON_LINE, UNKNOWN_SESSION, OPERATION_IN_PROGRESS, RUN_INTERRUPTED. */
export async function findTarget(project: Project, selector: string | undefined): Promise<WriteTarget> {
  if (selector === undefined && (await findHeadLine(project)) === null) return findPlainTarget(project);
  const { ref, session, workspace } = await prepareLine(project, selector);
  if (workspace) return { workspace, line: { ref, session } };
  throw new TeddyError(
    'NOT_ON_LINE',
    `${lineName({ ref })} is checked out nowhere, and the file has to be written somewhere.`,
    `Switch to it: \`git switch ${lineName({ ref })}\`.`,
  );
}

async function findPlainTarget(project: Project): Promise<WriteTarget> {
  const { workspace, store } = project.repository;
  if (!workspace) {
    throw new TeddyError('NO_WORK_TREE', 'A bare repository has no files to write.', 'Run it in a clone of it.');
  }
  await store.ident();
  await repair(project);
  await refuseOperation(workspace, (await workspace.head()).ref ?? ('HEAD' as RefName));
  await refuseRunsIn(project, workspace);
  await findNewestWrites(project);
  return { workspace, line: null };
}

/** Files that are written off every line go to one session, made once and used again. Throws LINE_CHECKED_OUT. */
export async function findWritesLine(project: Project): Promise<{ ref: RefName; session: SessionId }> {
  return (await findNewestWrites(project)) ?? newSession(project, { name: 'writes', switch: false });
}

/** Null when that session is still to be made. */
async function findNewestWrites(project: Project): Promise<{ ref: RefName; session: SessionId } | null> {
  const lines = await listMainLines(project);
  const isWrites = (session: SessionId) => /^\d{8}-writes(?:-\d+)?$/.test(session);
  const newest = lines.filter(({ session, remote }) => remote === null && isWrites(session)).at(-1);
  if (newest === undefined) return null;
  const holder = (await project.repository.workTrees()).find(({ ref }) => ref === newest.ref);
  if (holder === undefined) return newest;
  throw new TeddyError(
    'LINE_CHECKED_OUT',
    `${shortRef(newest.ref)}, where files go that belong to no session, is checked out in ${holder.root}.`,
    'Switch that work tree to another branch, or start a session here: `teddy session new <name>`.',
  );
}

/**
 * Opens the work tree, which must not have left the line, nor be in the middle of an operation. Throws NOT_ON_LINE,
 * OPERATION_IN_PROGRESS, RUN_INTERRUPTED.
 */
export async function openTarget(project: Project, { record, write }: HeldWrite): Promise<Workspace> {
  const { line } = record;
  const workspace = await openRoot(project.repository, record);
  // A crash of ours may have left its lock on the index, and the index behind HEAD.
  await repair(project, workspace);
  const { ref } = await workspace.head();
  // A content in its place only lacks the entry.
  if (write.state.phase !== 'installed') {
    await refuseOperation(workspace, line?.ref ?? ref ?? ('HEAD' as RefName));
    await refuseRunsIn(project, workspace);
  }
  if (line === null || ref === line.ref) return workspace;
  const isGone = (await project.repository.store.resolve(line.ref)) === null;
  throw new TeddyError(
    'NOT_ON_LINE',
    `${isGone ? `${shortRef(line.ref)} is gone` : `The work tree has left ${shortRef(line.ref)}`} since the session began.`,
    isGone
      ? `\`teddy write recover ${record.id} --output <file>\` writes the content elsewhere.`
      : `Go back, and finalize again: \`git switch ${shortRef(line.ref)}\`, \`teddy write recover ${record.id} --finalize\`.`,
  );
}

/** A repository that was moved or copied has other roots, and must not write to the old ones. */
async function openRoot(repository: Repository, { id, root, isLinked }: WriteRecord): Promise<Workspace> {
  const { workspace } = repository;
  if (workspace?.root === root) return workspace;
  const trees = await repository.workTrees();
  if (trees.some((tree) => tree.root === root)) return repository.openWorkspace(root);
  const main = trees[0];
  if (!isLinked && main !== undefined)
    return main.root === workspace?.root ? workspace : repository.openWorkspace(main.root);
  throw new TeddyError(
    'NOT_ON_LINE',
    `The work tree ${root}, in which the session began, is gone.`,
    `\`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  );
}
