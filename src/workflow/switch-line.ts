/** Switches to a line that was just made; if git refuses, the line is gone again. */
import type { Project, Workspace } from '../ports.ts';
import type { Oid, RefName } from '../session/names.ts';

/** Throws FILES_IN_THE_WAY or LOCKED, as `Workspace.switchTo` does. */
export async function switchOrTakeBack(
  project: Project,
  workspace: Workspace,
  ref: RefName,
  commit: Oid,
): Promise<void> {
  try {
    await workspace.switchTo(ref);
  } catch (error) {
    // git may have switched before it failed; a branch that HEAD is on must not go.
    if ((await workspace.head()).ref === ref) throw error;
    await project.repository.store.updateRefs([{ ref, old: commit, new: null }], 'teddy: taken back');
    throw error;
  }
}
