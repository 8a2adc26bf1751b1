/** Switches a work tree to a line. */
import { TeddyError } from '../../errors.ts';
import type { Head, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { findLine } from './find.ts';
import { makeLocal } from './make-local.ts';
import { refuseOperation } from './refuse-operation.ts';
import { repair } from './repair.ts';
import { refuseRunsIn } from './unfinished-run.ts';

export interface SwitchedSession {
  session: SessionId;
  ref: RefName;
  /** The branch or commit that HEAD was on. */
  from: Head;
  isThere: boolean;
}

/**
 * Switches by `git switch`, with its safety rules. A line that only a remote has is made local first. Throws LINE_CHECKED_OUT, NO_WORK_TREE,
 * FILES_IN_THE_WAY, OPERATION_IN_PROGRESS, LOCKED, RUN_INTERRUPTED, and what `findLine` throws.
 */
export async function switchSession(project: Project, selector: string): Promise<SwitchedSession> {
  const { workspace } = project.repository;
  if (workspace === null)
    throw new TeddyError('NO_WORK_TREE', 'A bare repository has nothing to switch.', 'Run it in a clone of it.');
  await repair(project);
  const { ref, session, tip, remoteTip, workspace: holder } = await findLine(project, selector);
  const head = await workspace.head();
  const switched = { session, ref, from: head };
  if (head.ref === ref) return { ...switched, isThere: true };
  if (holder !== null)
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${shortRef(ref)} is checked out in ${holder.root}.`,
      `Work on it there: \`cd ${toShellWord(holder.root)}\`.`,
    );
  await refuseOperation(workspace, head.ref ?? ('HEAD' as RefName));
  if (tip === null) {
    const made = await makeLocal(project, { ref, session, remoteTip });
    await switchOrTakeBack(project, workspace, ref, made);
  } else {
    await refuseRunsIn(project, workspace);
    await workspace.switchTo(ref);
  }
  return { ...switched, isThere: false };
}

/** `git` as a person here types it to act on a branch. `root`: of the work tree that has the branch checked out, if any. */
export function toGitOn({ repository }: Pick<Project, 'repository'>, ref: RefName, root: string | null): string {
  if (root === null) return `git switch ${toShellWord(shortRef(ref))} && git`;
  return root === repository.workspace?.root ? 'git' : `git -C ${toShellWord(root)}`;
}

/** The hint for whoever may also stay: `session new` and `session branch`. */
export const canStay = 'With --no-switch it is made all the same.';

/**
 * If git refuses, the line, which was just made, is gone again. `otherWay` is added to the hint where files are in the way. Throws FILES_IN_THE_WAY or LOCKED, as `Workspace.switchTo` does;
 * LOCKED or RUN_INTERRUPTED for a run in these files.
 */
export async function switchOrTakeBack(
  project: Project,
  workspace: Workspace,
  ref: RefName,
  commit: Oid,
  otherWay?: string,
): Promise<void> {
  try {
    await refuseRunsIn(project, workspace);
    await workspace.switchTo(ref);
  } catch (error) {
    // git may have switched before it failed; a branch that HEAD is on must not go.
    if ((await workspace.head()).ref === ref) throw error;
    await project.repository.store.updateRefs([{ ref, old: commit, new: null }], 'teddy: taken back');
    throw otherWay === undefined ? error : withOtherWay(error, otherWay);
  }
}

function withOtherWay(error: unknown, otherWay: string): unknown {
  if (!(error instanceof TeddyError) || error.code !== 'FILES_IN_THE_WAY') return error;
  return new TeddyError(error.code, error.message, `${error.hint ?? ''} ${otherWay}`.trim(), { cause: error });
}
