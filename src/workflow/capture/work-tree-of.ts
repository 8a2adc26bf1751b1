/** The work tree that a captured session belongs to, and the one whose HEAD is on its line, if any. */
import type { Workspace, WorkTree } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName } from '../../names.ts';

/** The work tree that is on the line: its index and files follow. */
export async function workspaceOn({ repository }: Project, ref: RefName): Promise<Workspace | null> {
  const tree = (await repository.workTrees()).find((one) => one.ref === ref);
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}

/** The work tree that holds a directory, the innermost one; null: it lies outside of all of them. */
export async function workTreeOf({ repository }: Project, directory: string): Promise<Workspace | null> {
  const tree = findInnermost(await repository.workTrees(), directory);
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}

/**
 * Whether code from a directory has no place on a line: another work tree is on that, whose files would not follow, or none is, and
 * the line has code of others that the directory lacks.
 */
export async function isOthers(
  { repository }: Project,
  { ref, hasCode }: { ref: RefName; hasCode: boolean },
  directory: string,
): Promise<boolean> {
  const trees = await repository.workTrees();
  const [holder, own] = [trees.find((one) => one.ref === ref), findInnermost(trees, directory)];
  return holder === undefined || own === undefined ? hasCode : holder.root !== own.root;
}

function findInnermost(trees: WorkTree[], directory: string): WorkTree | undefined {
  const holding = trees.filter(({ root }) => `${directory}/`.startsWith(`${root}/`));
  return holding.toSorted((a, b) => b.root.length - a.root.length)[0];
}
