/** Switches to a line that was just made; if git refuses, the line is gone again. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RefName } from '../../names.ts';
import { refuseRunsIn } from './unfinished-run.ts';

/** The hint for whoever may also stay: `session new` and `session branch`. */
export const canStay = 'With --no-switch it is made all the same.';

/**
 * `otherWay` is added to the hint where files are in the way. Throws FILES_IN_THE_WAY or LOCKED, as `Workspace.switchTo` does;
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
