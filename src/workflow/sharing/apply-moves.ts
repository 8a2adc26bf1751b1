/**
 * Moves lines as planned: first all lines that are not checked out anywhere, in one step, then each of the others in
 * its work tree.
 */
import { TeddyError } from '../../errors.ts';
import type { RefUpdate, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { fetchedRef, shortRef, type RefName } from '../../names.ts';
import { repair } from '../line/repair.ts';
import { refuseOperation } from '../line/refuse-operation.ts';
import { refuseRunsIn } from '../line/unfinished-run.ts';
import type { Move } from './plan-moves.ts';
import { moveRefs } from '../line/move-refs.ts';

export interface AppliedMoves {
  done: Move[];
  /** The lines that their work tree blocks, and that are therefore unchanged. */
  held: { move: Move; problem: TeddyError }[];
}

interface ReadyMove {
  move: Move;
  /** The work tree whose HEAD is on the line, if any. */
  workspace: Workspace | null;
}

/**
 * Moves the lines, and the remote-tracking branches in `tracking` along with them. Returns null and changes nothing
 * when something has moved meanwhile. A dry run only looks for obstacles.
 */
export async function applyMoves(
  project: Project,
  moves: readonly Move[],
  tracking: readonly RefUpdate[],
  dryRun: boolean,
): Promise<AppliedMoves | null> {
  const { ready, held } = await prepareMoves(project, moves);
  if (dryRun) {
    for (const { move, workspace } of ready)
      if (workspace !== null && move.tail !== null)
        project.notices.info(
          `HEAD in ${workspace.root} would move to ${shortRef(move.tail.ref)}; no file would change.`,
        );
    return { done: ready.map(({ move }) => move), held };
  }
  const updates = [...ready.flatMap(toUpdates), ...tracking, ...(await markFetched(project, ready))];
  if (!(await moveRefs(project, updates, 'from a remote'))) return null;
  const done: Move[] = [];
  for (const { move, workspace } of ready) {
    const problem = workspace === null ? null : await hold(() => followIn(project, workspace, move));
    if (problem === null) done.push(move);
    else held.push({ move, problem });
  }
  return { done, held };
}

async function prepareMoves(
  project: Project,
  moves: readonly Move[],
): Promise<{ ready: ReadyMove[]; held: AppliedMoves['held'] }> {
  const { repository } = project;
  const trees = moves.length === 0 ? [] : await repository.workTrees();
  const isCheckedOut = (ref: RefName) => trees.some((tree) => tree.ref === ref);
  const ready: ReadyMove[] = [];
  const held: AppliedMoves['held'] = [];
  for (const move of moves) {
    const root = trees.find(({ ref }) => ref === move.ref)?.root;
    const workspace = root === undefined ? null : await repository.openWorkspace(root);
    const problem = await hold(() =>
      workspace === null
        ? refuseRebase(repository.workspace, move.ref)
        : refuseWorkspace(project, workspace, move, isCheckedOut),
    );
    if (problem === null) ready.push({ move, workspace });
    else held.push({ move, problem });
  }
  return { ready, held };
}

/** Returns a guard's error, and throws any other error. */
async function hold(act: () => Promise<void>): Promise<TeddyError | null> {
  try {
    await act();
    return null;
  } catch (error) {
    if (error instanceof TeddyError && error.exitCode === 3) return error;
    throw error;
  }
}

/** During a rebase, its branch counts as not checked out, and git will reread its tip when the rebase ends. */
async function refuseRebase(workspace: Workspace | null, ref: RefName): Promise<void> {
  const operation = await workspace?.operationInProgress(ref);
  if (operation === `rebase of ${shortRef(ref)}`)
    throw new TeddyError(
      'OPERATION_IN_PROGRESS',
      `${shortRef(ref)} is being rebased.`,
      'Finish or abort it with git (`git status` shows how), then run the command again.',
    );
}

async function refuseWorkspace(
  project: Project,
  workspace: Workspace,
  move: Move,
  isCheckedOut: (ref: RefName) => boolean,
): Promise<void> {
  const { ref, tail } = move;
  await repair(project, workspace);
  await refuseOperation(workspace, ref);
  await refuseRunsIn(project, workspace);
  if (tail === null) return refuseEdits(project, workspace, move);
  if (isCheckedOut(tail.ref))
    throw new TeddyError(
      'LINE_CHECKED_OUT',
      `${shortRef(tail.ref)} is checked out in another work tree, so it was not moved.`,
      'Switch to another branch there, and run the command again.',
    );
}

async function refuseEdits({ repository: { store } }: Project, workspace: Workspace, move: Move): Promise<void> {
  const { edits, unmerged } = await workspace.status({ untracked: false });
  const [first] = [...unmerged, ...edits.map(({ path }) => path)];
  if (first === undefined) return;
  // An interrupted fast-forward has already updated the files, and git finishes it.
  const wanted = unmerged.length > 0 ? null : (await store.readCommit(move.new)).tree;
  if (wanted !== null && wanted === (await workspace.snapshotTree([]))) return;
  const count = new Set([...unmerged, ...edits.map(({ path }) => path)]).size;
  throw new TeddyError(
    'UNCOMMITTED_EDITS',
    `${shortRef(move.ref)} was not fast-forwarded: ${count === 1 ? `${first} is edited` : `${first} and ${count - 1} more files are edited`} in ${workspace.root}.`,
    'Commit or stash the edits, and run the command again.',
  );
}

/** A checked-out line moves in its work tree instead; this only creates its tail first, so that HEAD can move to the tail. */
function toUpdates({ move, workspace }: ReadyMove): RefUpdate[] {
  const { ref, old, tail } = move;
  const made: RefUpdate[] = tail?.isNew === true ? [{ ref: tail.ref, old: null, new: old }] : [];
  return workspace === null ? [...made, { ref, old, new: move.new }] : made;
}

async function followIn(project: Project, workspace: Workspace, move: Move): Promise<void> {
  const { ref, old } = move;
  const head = await workspace.head();
  if (head.ref !== ref || head.oid !== old) throw toMoved(ref);
  if (move.tail === null) {
    await workspace.fastForward(move.new);
    // git moves the branch that HEAD points to at this moment.
    if ((await project.repository.store.resolve(ref)) !== move.new) throw toMoved(ref);
    return;
  }
  // Both branches point to the same commit, so no file changes.
  await workspace.switchTo(move.tail.ref);
  if (await moveRefs(project, [{ ref, old, new: move.new }], 'from a remote')) {
    project.notices.info(`HEAD in ${workspace.root} is now on ${shortRef(move.tail.ref)}; no file has changed.`);
    return;
  }
  // Somebody has continued the line meanwhile, so its tail ends elsewhere.
  await workspace.switchTo(ref);
  const made = move.tail.isNew ? [{ ref: move.tail.ref, old, new: null }] : [];
  await moveRefs(project, made, 'from a remote', { drops: true });
  throw toMoved(ref);
}

/**
 * Marks lines fetched from an address, which leave no other trace of their origin; because of this mark, teddy asks the
 * user about their agents and lists.
 */
async function markFetched(project: Project, ready: readonly ReadyMove[]): Promise<RefUpdate[]> {
  const came = ready[0]?.move.new;
  if (came === undefined) return [];
  const [mark] = await project.repository.store.listRefs(fetchedRef);
  return mark === undefined ? [{ ref: fetchedRef, old: null, new: came }] : [];
}

function toMoved(ref: RefName): TeddyError {
  return new TeddyError('REF_MOVED', `${shortRef(ref)} has moved in the meantime.`, 'Run the command again.');
}
