/** Finds the work tree and the session's line for a write session, both when it begins and when it ends. */
import { TeddyError } from '../../errors.ts';
import type { Repository, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../names.ts';
import { findHeadLine } from '../line/find.ts';
import { listMainLines } from '../../session/lines/main-lines.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { newSession } from '../line/new-session.ts';
import { repair } from '../line/repair.ts';
import { prepareLine } from '../line/prepare.ts';
import { refuseOperation } from '../line/refuse-operation.ts';
import { refuseRunsIn } from '../line/unfinished-run.ts';
import type { HeldWrite } from './held.ts';
import { isForWrites, type WriteRecord } from '../../write/write.ts';
import type { TargetBase } from './inspect-target.ts';

export interface WriteTarget {
  place: TargetBase;
  /** Null when HEAD is not on a line; in that case the entry goes to the session named `writes`. */
  line: { ref: RefName; session: SessionId } | null;
}

/** Throws NO_WORK_TREE, UNKNOWN_SESSION, OPERATION_IN_PROGRESS or RUN_INTERRUPTED. */
export async function findTarget(project: Project, selector: string | undefined): Promise<WriteTarget> {
  if (selector === undefined && (await findHeadLine(project)) === null) return findPlainTarget(project);
  const { ref, session, workspace, state } = await prepareLine(project, selector);
  return { place: workspace ?? state.tip, line: { ref, session } };
}

async function findPlainTarget(project: Project): Promise<WriteTarget> {
  const { workspace, store } = project.repository;
  if (!workspace) {
    throw new TeddyError(
      'NO_WORK_TREE',
      'A bare repository has no files to write.',
      'Run the command in a clone of this repository.',
    );
  }
  await store.ident();
  await repair(project);
  await refuseOperation(workspace, (await workspace.head()).ref ?? ('HEAD' as RefName));
  await refuseRunsIn(project, workspace);
  await findNewestWrites(project);
  return { place: workspace, line: null };
}

/**
 * Returns the only session for files written while HEAD is not on a line, and creates it if necessary. Throws
 * LINE_CHECKED_OUT.
 */
export async function findWritesLine(project: Project): Promise<{ ref: RefName; session: SessionId }> {
  return (await findNewestWrites(project)) ?? newSession(project, { name: 'writes', switch: false });
}

/** Returns null when that session does not exist yet. */
export async function findNewestWrites(project: Project): Promise<{ ref: RefName; session: SessionId } | null> {
  const lines = await listMainLines(project);
  const newest = lines.filter(({ session, remote }) => remote === null && isForWrites(session)).at(-1);
  if (newest === undefined) return null;
  const holder = (await project.repository.workTrees()).find(({ ref }) => ref === newest.ref);
  if (holder === undefined) return newest;
  throw new TeddyError(
    'LINE_CHECKED_OUT',
    `${shortRef(newest.ref)}, which contains files that belong to no session, is checked out in ${holder.root}.`,
    'Switch that work tree to another branch, or start a session here: `teddy new <name>`.',
  );
}

/**
 * Opens the work tree, or the tip of a line that is not checked out anywhere. Throws NOT_ON_LINE when the work tree has
 * left the line, and OPERATION_IN_PROGRESS or RUN_INTERRUPTED during an operation in it.
 */
export async function openTarget(project: Project, { record, write }: HeldWrite): Promise<TargetBase> {
  const { line } = record;
  const tip = line === null ? null : await project.repository.store.resolve(line.ref);
  const workspace = await openRoot(project.repository, record);
  if (workspace === null && tip !== null) return tip;
  if (workspace === null) throw toLeft(record, true);
  // If teddy crashed, its index lock may remain, and the index may differ from HEAD.
  await repair(project, workspace);
  const { ref } = await workspace.head();
  // Content already installed only needs its entry.
  if (write.state.phase !== 'installed') {
    await refuseOperation(workspace, line?.ref ?? ref ?? ('HEAD' as RefName));
    await refuseRunsIn(project, workspace);
  }
  if (line === null || ref === line.ref) return workspace;
  throw toLeft(record, tip === null);
}

function toLeft({ id, line }: WriteRecord, isGone: boolean): TeddyError {
  const name = shortRef(line?.ref ?? ('HEAD' as RefName));
  return new TeddyError(
    'NOT_ON_LINE',
    `${isGone ? `${name} is gone` : `The work tree has left ${name}`} since the session began.`,
    isGone
      ? `\`teddy write recover ${id} --output <file>\` writes the content elsewhere.`
      : `Switch back, and finalize again: \`git switch ${toShellWord(name)}\`, \`teddy write recover ${id} --finalize\`.`,
  );
}

/**
 * Opens the work tree where the session began. A repository that was moved or copied has other roots, and must not
 * write to the old ones. Returns null when the session began without a work tree and the line is still not checked out
 * anywhere.
 */
async function openRoot(repository: Repository, { id, root, isLinked, line }: WriteRecord): Promise<Workspace | null> {
  const { workspace } = repository;
  if (workspace?.root === root) return workspace;
  const trees = await repository.workTrees();
  if (root === null) {
    const holder = trees.find(({ ref }) => ref === line?.ref);
    return holder === undefined ? null : repository.openWorkspace(holder.root);
  }
  if (trees.some((tree) => tree.root === root)) return repository.openWorkspace(root);
  const main = trees[0];
  if (!isLinked && main !== undefined)
    return main.root === workspace?.root ? workspace : repository.openWorkspace(main.root);
  throw new TeddyError(
    'NOT_ON_LINE',
    `The work tree ${root}, where the session began, is gone.`,
    `\`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  );
}
