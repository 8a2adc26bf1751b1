/** The work tree that a captured session belongs to, and the one whose HEAD is on its line, if any. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName } from '../../names.ts';

/** The work tree that is on the line: its index and files follow. */
export async function workspaceOn({ repository }: Project, ref: RefName): Promise<Workspace | null> {
  const tree = (await repository.workTrees()).find((one) => one.ref === ref);
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}

/** The work tree that holds a directory, the innermost one; null: it lies outside of all of them. */
export async function workTreeOf({ repository }: Project, directory: string): Promise<Workspace | null> {
  const holding = (await repository.workTrees()).filter(({ root }) => `${directory}/`.startsWith(`${root}/`));
  const tree = holding.toSorted((a, b) => b.root.length - a.root.length)[0];
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}
