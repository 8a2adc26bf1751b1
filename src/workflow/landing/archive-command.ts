/** The command that archives a session, from where the user stands: another work tree that is on the line has to let go of it first. */
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';

export async function toArchiveCommand(
  { repository }: Project,
  { ref, session }: { ref: RefName; session: SessionId },
): Promise<string> {
  const archive = `teddy session archive ${session}`;
  const trees = await repository.workTrees();
  const holder = trees.find((tree) => tree.ref === ref);
  if (holder === undefined) return archive;
  const isHere = holder.root === repository.workspace?.root;
  const detach = `git -C ${toShellWord(holder.root)} switch --detach && ${archive}`;
  const linked = (await repository.linkedWorkTrees()).find(({ root }) => root === holder.root);
  if (linked === undefined) return isHere ? archive : detach;
  const other = trees.find(({ root }) => root !== holder.root);
  if (linked.madeFor === null) return isHere ? `git switch --detach && ${archive}` : detach;
  const leave = `teddy worktree remove ${toShellWord(shortRef(ref))} && ${archive}`;
  if (!isHere) return leave;
  return other === undefined ? archive : `cd ${toShellWord(other.root)} && ${leave}`;
}
