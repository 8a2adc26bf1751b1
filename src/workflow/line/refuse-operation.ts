import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { RefName } from '../../names.ts';

/** Refuses while git is in the middle of something; a commit of ours there would end up in the wrong place. */
export async function refuseOperation(workspace: Workspace, ref: RefName): Promise<void> {
  const operation = await workspace.operationInProgress(ref);
  if (operation === null) return;
  throw new TeddyError(
    'OPERATION_IN_PROGRESS',
    `A ${operation} is in progress here.`,
    'Finish or abort it with git (`git status` shows how), then run the command again.',
  );
}
