/** Switches a work tree to a line. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { refuseRunsIn } from './unfinished-run.ts';
import { moveRefs } from './move-refs.ts';

/**
 * Returns the command that switches to a branch, by its short name; for a branch that exists only on a remote, first
 * creates a local branch.
 */
export function toSwitchCommand(branch: string): string {
  const option = branch.startsWith('teddy/') ? '' : ' --track';
  return `git switch${option} ${toShellWord(branch)}`;
}

/**
 * Returns `git` as the user has to type it here to act on a branch. `root` is the root of the work tree that has the
 * branch checked out, if any.
 */
export function gitCommandFor({ repository }: Pick<Project, 'repository'>, ref: RefName, root: string | null): string {
  if (root === null) return `git switch ${toShellWord(shortRef(ref))} && git`;
  return root === repository.workspace?.root ? 'git' : `git -C ${toShellWord(root)}`;
}

/** The hint of `teddy new` and `teddy branch`, where the user need not switch. */
export const canStay = 'To make it without switching: --no-switch.';

/**
 * Switches to a new line, and deletes the line if git refuses. Adds `otherWay` to the hint when files are in the way.
 * Throws FILES_IN_THE_WAY or LOCKED, as `Workspace.switchTo` does; LOCKED or RUN_INTERRUPTED for a run in these files.
 */
export async function switchOrDelete(
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
    // git may have switched before it failed, and teddy must not delete the branch that HEAD is on.
    if ((await workspace.head()).ref === ref) throw error;
    await moveRefs(project, [{ ref, old: commit, new: null }], 'taken back', { drops: true });
    throw otherWay === undefined ? error : withOtherWay(error, otherWay);
  }
}

function withOtherWay(error: unknown, otherWay: string): unknown {
  if (!(error instanceof TeddyError) || error.code !== 'FILES_IN_THE_WAY') return error;
  return new TeddyError(error.code, error.message, `${error.hint ?? ''} ${otherWay}`.trim(), { cause: error });
}
