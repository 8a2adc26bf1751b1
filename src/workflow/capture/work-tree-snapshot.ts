/** Records a work tree's code on a captured line: the user's edits before a message, and the agent's changes in a turn. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { turnNumber, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { labelEdits } from '../line/entry-labels.ts';
import { append } from '../line/append.ts';
import { addNewFiles } from '../line/snapshot-new-files.ts';
import type { BranchLine } from './decide-entries.ts';
import { belongsElsewhere, toPlace, toTarget } from './open-line.ts';

/** The code at one point in time. */
export interface CodeState {
  tree: Oid;
  /** The commit that HEAD pointed to. */
  head: Oid | null;
  /** The work tree from which teddy read the code. */
  root: string;
}

/**
 * Reads the tracked files and the new files that git does not ignore; omits secrets and large files. Does not touch the
 * user's index and files. Returns null when nothing is readable now: during a merge with conflicts, when there are no
 * files, or when `teddy.snapshot` is `none`.
 */
export async function readCode(project: Project, workspace: Workspace): Promise<CodeState | null> {
  const wanted = await project.settings.get('snapshot');
  if (wanted === 'none') return null;
  const { head, status } = await workspace.headAndStatus({ untracked: wanted !== 'tracked' });
  if (status.unmerged.length > 0) return null;
  try {
    const submodules = status.edits.filter(({ submodule }) => submodule).map(({ path }) => path);
    const isEdited = status.edits.length > submodules.length;
    const { store } = project.repository;
    const committed = head.oid === null ? null : (await store.readCommit(head.oid)).tree;
    const tracked = isEdited || committed === null ? await workspace.snapshotTree(submodules) : committed;
    const untracked = status.untracked.filter((path) => !isSessionPath(path));
    const { tree } = await addNewFiles(project, workspace, tracked, untracked);
    return { tree, head: head.oid, root: workspace.root };
  } catch (error) {
    // Something is changing the files, or git cannot record one of them; the next snapshot includes them.
    if (error instanceof TeddyError && error.code === 'SNAPSHOT_FAILED') return null;
    throw error;
  }
}

/**
 * Appends a snapshot if the code differs from the line's, and updates `line`. Returns false and writes nothing when the
 * code does not belong on the line.
 */
export async function appendCode(
  project: Project,
  line: BranchLine,
  { tree, head, root }: CodeState,
  { turn, whose }: { turn: TurnName | null; whose?: string },
): Promise<boolean> {
  const { store } = project.repository;
  const { commit, entry, value } = await append(project, toTarget(project, line, turn), async () => {
    const changes = await store.diffTrees(line.tip, tree, { without: '.teddy' as RepoPath });
    const paths = changes.map(({ path }) => path).filter((path) => !isSessionPath(path));
    if (paths.length === 0) return { leave: true, asRead: true };
    if (await belongsElsewhere(project, line, root)) return { leave: false, asRead: true };
    const draft = {
      kind: 'snapshot' as const,
      // Somebody else may have opened a later turn by now.
      turn: turn !== null && turnNumber(turn) < line.lastTurn ? null : turn,
      label: labelEdits(paths, whose),
      trailers: head === null ? {} : { head },
      code: { tree },
    };
    return { drafts: [draft], value: true };
  });
  if (commit !== null) Object.assign(line, toPlace({ commit, entry }));
  return value;
}
