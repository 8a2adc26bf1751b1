/** The work tree that a write session's target is in, when its content is to be put there. */
import { TeddyError } from '../../errors.ts';
import type { Repository, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName } from '../../names.ts';
import type { WriteRecord } from '../../write/write.ts';
import { refuseOperation } from '../line/refuse-operation.ts';
import { refuseRunsIn } from '../line/unfinished-run.ts';
import type { HeldWrite } from './held.ts';

/** It must not have left the line, nor be in the middle of something. Throws NOT_ON_LINE, OPERATION_IN_PROGRESS, RUN_INTERRUPTED. */
export async function openPlace(project: Project, { record, write }: HeldWrite): Promise<Workspace> {
  const { line } = record;
  const workspace = await openRoot(project.repository, record);
  // A crash of ours may have left its lock on the index, and the index behind HEAD.
  for (const said of await workspace.repair()) project.notices.warn(said);
  const { ref } = await workspace.head();
  // What is in place already only lacks its entry.
  if (write.state.phase !== 'installed') {
    await refuseOperation(workspace, line?.ref ?? ref ?? ('HEAD' as RefName));
    await refuseRunsIn(project, workspace);
  }
  if (line === null || ref === line.ref) return workspace;
  const isGone = (await project.repository.store.resolve(line.ref)) === null;
  throw new TeddyError(
    'NOT_ON_LINE',
    `${isGone ? `${shortRef(line.ref)} is gone` : `The work tree has left ${shortRef(line.ref)}`} since the session began.`,
    isGone
      ? `\`teddy write recover ${record.id} --output <file>\` writes the content elsewhere.`
      : `Go back, and finalize again: \`git switch ${shortRef(line.ref)}\`, \`teddy write recover ${record.id} --finalize\`.`,
  );
}

/** A repository that was moved, or copied, has other roots: those of the place it came from are not written to. */
async function openRoot(repository: Repository, { id, root, isLinked }: WriteRecord): Promise<Workspace> {
  const { workspace } = repository;
  if (workspace?.root === root) return workspace;
  const trees = await repository.workTrees();
  if (trees.some((tree) => tree.root === root)) return repository.openWorkspace(root);
  const main = trees[0];
  if (!isLinked && main !== undefined)
    return main.root === workspace?.root ? workspace : repository.openWorkspace(main.root);
  throw new TeddyError(
    'NOT_ON_LINE',
    `The work tree ${root}, in which the session began, is gone.`,
    `\`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  );
}
