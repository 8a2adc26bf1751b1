/** Files that a sparse checkout keeps away: a plan that makes one anew would write over it unseen. */
import type { ParsedPlan } from '../../plan/plan.ts';
import type { Problem } from '../../plan/problem.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';

/** A problem for each CREATE of a file that the commit has and the disk has not, unless the user has deleted it. */
export async function findHidden(
  { repository: { store } }: Project,
  { tip, workspace }: { tip: Oid; workspace: Workspace },
  { plan }: ParsedPlan,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const action of plan.actions) {
    if (action.type !== 'CREATE' || action.overwrite || (await store.readFile(tip, action.path)) === null) continue;
    if ((await workspace.readDisk(action.path)) !== null || (await isEdited(workspace, action.path))) continue;
    const { index, line, column } = action;
    const message = `CREATE ${action.path}: the project has this file, outside the sparse checkout.`;
    problems.push({ line, column, action: index, message, hint: 'Check it out with `git sparse-checkout add`.' });
  }
  return problems;
}

async function isEdited(workspace: Workspace, path: string): Promise<boolean> {
  return (await workspace.status({ untracked: false })).edits.some((edit) => edit.path === path);
}
