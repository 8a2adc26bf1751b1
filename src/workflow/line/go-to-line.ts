/** Takes the user to a line: checks it out in this work tree or in a linked one, unless it is checked out already. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../names.ts';
import { listLines } from '../../session/lines/lines.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { findLine } from './find.ts';
import { openWorkTree } from './open-work-tree.ts';
import { makeLocal } from './own-start.ts';
import { refuseOperation } from './refuse-operation.ts';
import { refuseRunsIn } from './unfinished-run.ts';

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

/** Returns true if a remote-tracking branch of the line has newer steps than the local branch. Asks no remote. */
export async function isBehindRemote(project: Project, { ref }: { ref: RefName }): Promise<boolean> {
  // Entry ids sort by time.
  const lines = (await listLines(project)).filter(({ branchRef }) => branchRef === ref);
  const local = lines.find(({ remote }) => remote === null)?.nearest.entry.id ?? '';
  return lines.some(({ remote, nearest }) => remote !== null && nearest.entry.id > local);
}
