/** Refuses to continue while a git operation is in progress, or while a command is still running. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { ProcessGroup } from '../../plan/report/journal.ts';
import type { Project } from '../../ports/project.ts';

/**
 * Refuses while a git operation is in progress, because teddy's commit would end up in the wrong place. `here` is the
 * root of the user's work tree, when it may differ.
 */
export async function refuseOperation(workspace: Workspace, ref: RefName, here = workspace.root): Promise<void> {
  const operation = await workspace.operationInProgress(ref);
  if (operation === null) return;
  const isHere = workspace.root === here;
  throw new TeddyError(
    'OPERATION_IN_PROGRESS',
    `A ${operation} is in progress ${isHere ? 'here' : `in ${workspace.root}`}.`,
    `Finish or abort it with git (\`git ${isHere ? '' : `-C ${toShellWord(workspace.root)} `}status\` shows how), then run the command again.`,
  );
}

/**
 * Returns the commands with which the user ends the git operation in progress; with unmerged files, the user cannot
 * continue the operation yet.
 */
export function toOperationSteps(operation: string, isUnmerged: boolean): string[] {
  if (operation === 'bisect') return ['git bisect reset'];
  // The rebase runs in another work tree.
  if (operation.startsWith('rebase of ')) return ['git worktree list'];
  const command = operation.startsWith('git ') ? operation : `git ${operation}`;
  return [isUnmerged ? 'git status' : `${command} --continue`, `${command} --abort`];
}

/**
 * Throws LOCKED while a command of a killed teddy is still running, because its changes are unknown until it ends.
 * `starter` names, for a sentence, who or what started it.
 */
export async function refuseRunning(
  project: Project,
  root: string,
  group: ProcessGroup | null,
  { command, starter }: { command: string; starter: string },
): Promise<void> {
  const running = group === null ? [] : await project.shellOf(root).findRunning(group);
  const [first] = running;
  if (first === undefined) return;
  const what = first < 0 ? `process group ${-first}` : `outside its process group, as ${running.join(', ')}`;
  throw new TeddyError(
    'LOCKED',
    `${command} is still running (${what}); the ${starter} that started it was killed.`,
    `Wait for it, or stop it: \`kill -- ${running.join(' ')}\`.`,
  );
}
