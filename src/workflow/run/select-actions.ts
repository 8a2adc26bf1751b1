/** Selects the actions of a plan that are run, and finds the files that a sparse checkout hides from them. */
import { TeddyError } from '../../errors.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { Action, ParsedPlan } from '../../plan/plan.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';

/** Indexes of actions, from 1. Absent: every action; none. */
export interface Selection {
  only?: readonly number[] | undefined;
  skip?: readonly number[] | undefined;
}

/**
 * The plan with the chosen actions alone; they keep their indexes, and what the parser found counts all the same. Throws
 * USAGE for an index that the plan does not have, and when nothing is left.
 */
export function selectActions(parsed: ParsedPlan, { only, skip = [] }: Selection): ParsedPlan {
  const { actions } = parsed.plan;
  refuseUnknown('--only', only ?? [], actions);
  refuseUnknown('--skip', skip, actions);
  const chosen = actions.filter(({ index }) => (only?.includes(index) ?? true) && !skip.includes(index));
  if (chosen.length === 0 && actions.length > 0) {
    throw new TeddyError(
      'USAGE',
      'No action of the plan is left to run.',
      'To close the turn without running any: `teddy session execute --reject`.',
    );
  }
  return { ...parsed, plan: { ...parsed.plan, actions: chosen } };
}

/** An action that cannot be read is not there, and those after it keep their indexes. */
function refuseUnknown(flag: string, indexes: readonly number[], actions: readonly Action[]): void {
  const unknown = indexes.find((index) => actions.every((action) => action.index !== index));
  if (unknown === undefined) return;
  throw new TeddyError(
    'USAGE',
    `${flag}: there is no action ${unknown}.`,
    `The plan has ${actions.length} ${actions.length === 1 ? 'action' : 'actions'}; \`teddy session show\` lists them.`,
  );
}

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
