/** Selects a plan's actions to run, and finds the files that a sparse checkout hides from them. */
import { TeddyError } from '../../errors.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { Action, ParsedPlan } from '../../plan/plan.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';

/** The indexes of actions, from 1. `only` defaults to every action, `skip` to none. */
export interface Selection {
  only?: readonly number[] | undefined;
  skip?: readonly number[] | undefined;
}

/**
 * Returns the plan with only the chosen actions. They keep their indexes, and the parser's findings still count. Throws
 * USAGE for an index that the plan does not have, and when no action is left.
 */
export function selectActions(parsed: ParsedPlan, { only, skip = [] }: Selection): ParsedPlan {
  const { actions } = parsed.plan;
  refuseUnknown('--only', only ?? [], actions);
  refuseUnknown('--skip', skip, actions);
  const chosen = actions.filter(({ index }) => (only?.includes(index) ?? true) && !skip.includes(index));
  if (chosen.length === 0 && actions.length > 0) {
    throw new TeddyError(
      'USAGE',
      'No action in the plan is left to run.',
      'To close the turn without running anything: `teddy execute --reject`.',
    );
  }
  return { ...parsed, plan: { ...parsed.plan, actions: chosen } };
}

/**
 * Refuses an index without an action. An action that the parser could not read is missing, and later actions keep their
 * indexes.
 */
function refuseUnknown(flag: string, indexes: readonly number[], actions: readonly Action[]): void {
  const unknown = indexes.find((index) => actions.every((action) => action.index !== index));
  if (unknown === undefined) return;
  throw new TeddyError(
    'USAGE',
    `${flag}: there is no action ${unknown}.`,
    `The plan has ${actions.length} ${actions.length === 1 ? 'action' : 'actions'}; \`teddy show\` lists them.`,
  );
}

/** Returns a problem for each CREATE of a file that is in the commit but not on disk, unless the user has deleted it. */
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
