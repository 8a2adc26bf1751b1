/** Lists the linked work trees that sessions use, and what would prevent the removal of each. */
import type { LinkedWorkTree } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parseLineRef, type RefName, type SessionId } from '../../names.ts';
import { readSession } from './find.ts';
import { readEnd, type LineEnd } from './read-end.ts';

export interface ListedWorkTree extends LinkedWorkTree {
  /** The line checked out in the work tree, otherwise the line for which the work tree was made. */
  line: RefName;
  session: SessionId | null;
  end: LineEnd | null;
  /** The number of paths that differ from HEAD or are untracked and not ignored. */
  changes: number;
  /** The files that git ignores, counting a directory as one; removing the work tree would delete them. */
  ignored: string[];
  /** The git operation in progress: `merge`, `rebase`, ... */
  operation: string | null;
  /** True when the command runs in this work tree. */
  isCurrent: boolean;
}

/** Lists the work trees that teddy made, and others that have a line checked out. */
export async function listWorkTrees(project: Project): Promise<ListedWorkTree[]> {
  const trees = await project.repository.linkedWorkTrees();
  const listed = await Promise.all(trees.map((tree) => look(project, tree)));
  return listed.filter((tree) => tree !== null).toSorted((a, b) => (a.line < b.line ? -1 : 1));
}

async function look(project: Project, tree: LinkedWorkTree): Promise<ListedWorkTree | null> {
  const { ref, oid, madeFor } = tree;
  const held = ref === null || oid === null ? null : await readSession(project, ref, oid);
  const line = held === null ? madeFor : ref;
  if (line === null) return null;
  const tip = await project.repository.store.resolve(line);
  return {
    ...tree,
    line,
    session: held ?? parseLineRef(line)?.session ?? null,
    end: await readEnd(project, line, tip),
    ...(await readContent(project, tree)),
    isCurrent: project.repository.workspace?.root === tree.root,
  };
}

async function readContent(
  { repository }: Project,
  { root, ref, isGone, isUnfinished }: LinkedWorkTree,
): Promise<Pick<ListedWorkTree, 'changes' | 'ignored' | 'operation'>> {
  if (isGone || isUnfinished) return { changes: 0, ignored: [], operation: null };
  const workspace = await repository.openWorkspace(root);
  const [{ edits, unmerged, untracked }, ignored, operation] = await Promise.all([
    workspace.status({ untracked: true }),
    repository.ignoredFilesOf(root),
    workspace.operationInProgress(ref),
  ]);
  return { changes: edits.length + unmerged.length + untracked.length, ignored, operation };
}
