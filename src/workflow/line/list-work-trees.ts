/** The linked work trees in which lines are worked on, and what would be in the way of removing each. */
import type { LinkedWorkTree } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { parseLineRef, type RefName, type SessionId } from '../../names.ts';
import { readSession } from './find.ts';
import { readEnd, type LineEnd } from './read-end.ts';

export interface ListedWorkTree extends LinkedWorkTree {
  /** The line that is checked out there, else the one that it was made for. */
  line: RefName;
  session: SessionId | null;
  end: LineEnd | null;
  /** How many paths differ from HEAD or are untracked and not ignored. */
  changes: number;
  /** The files that git ignores, a directory as one: they would go with the work tree. */
  ignored: string[];
  /** `merge`, `rebase`, ... when git is in the middle of one. */
  operation: string | null;
  /** The command stands in it. */
  isCurrent: boolean;
}

/** Those that teddy made, and those of others that are on a line. */
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
