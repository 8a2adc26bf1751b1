/** Removes linked work trees that teddy made, but never one that is in use or has changes. */
import { TeddyError } from '../../errors.ts';
import type { LeftRun } from '../../ports/disk.ts';
import type { RunClaim } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { listWorkTrees, type ListedWorkTree } from './list-work-trees.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { readLine } from '../../view/view.ts';
import { describeInterrupted } from './unfinished-run.ts';

export interface RemovedWorkTrees {
  removed: ListedWorkTree[];
  /** With `ended`: the work trees that stay, and the reasons. */
  kept: { tree: ListedWorkTree; reason: TeddyError }[];
}

/** Selects a work tree by its path, its line, its session, or a unique part of the line's name. */
export type RemoveRequest = { kind: 'one'; selector: string; path: string } | { kind: 'ended' };

/**
 * Removes the work trees and keeps their branches. Throws UNKNOWN_WORK_TREE, AMBIGUOUS_SESSION; for a single one also
 * WORK_TREE_IN_USE, LOCKED, UNCOMMITTED_EDITS, OPERATION_IN_PROGRESS, RUN_INTERRUPTED.
 */
export async function removeWorkTrees(project: Project, request: RemoveRequest): Promise<RemovedWorkTrees> {
  const trees = await listWorkTrees(project);
  if (request.kind === 'one') {
    const tree = findOne(trees, request);
    await removeOne(project, tree);
    return { removed: [tree], kept: [] };
  }
  const outcome: RemovedWorkTrees = { removed: [], kept: [] };
  for (const tree of trees) {
    if (tree.end === null || tree.madeFor === null) continue;
    try {
      await removeOne(project, tree);
      outcome.removed.push(tree);
    } catch (error) {
      if (!(error instanceof TeddyError)) throw error;
      outcome.kept.push({ tree, reason: error });
    }
  }
  return outcome;
}

function findOne(trees: ListedWorkTree[], { selector, path }: { selector: string; path: string }): ListedWorkTree {
  const names = ({ line }: ListedWorkTree) => [shortRef(line), shortRef(line).replace(/^teddy\//, '')];
  const exact = trees.find(({ root }) => root === path) ?? trees.find((tree) => names(tree).includes(selector));
  if (exact) return exact;
  const named = trees.filter((tree) => tree.session === selector || shortRef(tree.line).includes(selector));
  if (named.length === 1 && named[0] && selector !== '') return named[0];
  if (named.length > 1 && selector !== '') {
    throw new TeddyError(
      'AMBIGUOUS_SESSION',
      `${JSON.stringify(selector)} matches the branches of ${named.length} work trees: ${nameSome(named.map(({ line }) => shortRef(line)))}.`,
      'Use the whole name, or the path of the work tree.',
    );
  }
  throw new TeddyError(
    'UNKNOWN_WORK_TREE',
    `No session has a linked work tree called ${JSON.stringify(selector)}.`,
    '`git worktree list` shows them all.',
  );
}

async function removeOne(project: Project, tree: ListedWorkTree): Promise<void> {
  refuseForeign(tree);
  refuseUsed(tree);
  refuseChanged(tree);
  const claim = await claimPending(project, tree);
  try {
    await project.repository.removeWorkTree(tree.root);
  } finally {
    await claim?.release();
  }
}

function refuseForeign({ root, madeFor }: ListedWorkTree): void {
  if (madeFor !== null) return;
  throw new TeddyError(
    'WORK_TREE_IN_USE',
    `${root} was not made by teddy, which removes only its own work trees.`,
    `Remove it with git: \`git worktree remove ${toShellWord(root)}\`.`,
  );
}

function refuseUsed({ root, isCurrent, lock, operation }: ListedWorkTree): void {
  if (isCurrent) {
    throw new TeddyError('WORK_TREE_IN_USE', `You are in ${root}.`, 'Change to another directory in the repository.');
  }
  if (lock !== null) {
    const hint = `If nobody needs it, unlock it: \`git worktree unlock ${toShellWord(root)}\`.`;
    throw new TeddyError('LOCKED', `${root} is locked${lock === '' ? '' : `: ${lock}`}.`, hint);
  }
  if (operation === null) return;
  const hint = 'Finish or abort it there with git first.';
  throw new TeddyError('OPERATION_IN_PROGRESS', `A ${operation} is in progress in ${root}.`, hint);
}

function refuseChanged({ root, isUnfinished, changes }: ListedWorkTree): void {
  if (isUnfinished) {
    throw new TeddyError(
      'WORK_TREE_IN_USE',
      `${root} is incomplete: the command that was creating it was killed or is still running.`,
      `If it was killed, and nothing in the work tree is yours, remove it: \`git worktree remove --force ${toShellWord(root)}\`.`,
    );
  }
  if (changes === 0) return;
  throw new TeddyError(
    'UNCOMMITTED_EDITS',
    `${root} has ${changes} uncommitted ${changes === 1 ? 'change' : 'changes'}.`,
    `See them with \`git -C ${toShellWord(root)} status\`, and commit or discard them first.`,
  );
}

/** Holds the turn while removing the work tree, so that nobody executes its plan meanwhile. Throws LOCKED, RUN_INTERRUPTED. */
async function claimPending(project: Project, tree: ListedWorkTree): Promise<RunClaim | null> {
  const { repository, journals } = project;
  const { ref, oid, line } = tree;
  if (oid === null || ref !== line) return null;
  const { session, latest } = await readLine(repository.store, oid);
  if (latest?.status !== 'planned') return null;
  const place = { session, turn: latest.turn, ref };
  const claim = await journals.claim(place);
  try {
    refuseInterrupted(ref, await journals.find(place));
    return claim;
  } catch (error) {
    await claim.release();
    throw error;
  }
}

function refuseInterrupted(ref: RefName, left: LeftRun | null): void {
  if (left === null) return;
  const hint = `Finish it first: \`teddy execute -s ${toShellWord(shortRef(ref))}\`.`;
  throw new TeddyError('RUN_INTERRUPTED', describeInterrupted(left), hint);
}
