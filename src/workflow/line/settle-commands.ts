/** Settles conversation commands that a crash cut off: reverts their changes in `.teddy/` before anything builds on them. */
import { TeddyError } from '../../errors.ts';
import type { KeptFiles } from '../../ports/disk.ts';
import type { RunDirs, Workspace } from '../../ports/git.ts';
import type { LeftOperation, OperationKind } from '../../ports/journal.ts';
import type { ProcessGroup } from '../../plan/report/journal.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { restoreSessionFiles } from './guard-session-files.ts';
import { refuseRunning } from './refuse-operation.ts';

/** A conversation's command, and the facts needed to restore `.teddy/`. */
export interface CommandFacts extends RunDirs {
  /** The absolute root of the work tree where it runs. */
  root: string;
  /** True when the root is a linked work tree. */
  isLinked: boolean;
  /** ISO 8601. */
  startedAt: string;
  kept: KeptFiles;
  /** Null until the command is about to start. */
  group: ProcessGroup | null;
}

/** The note exists from before the command starts until teddy has restored `.teddy/`. */
export const commandKind: OperationKind<CommandFacts> = { name: 'command', title: 'a command' };

type LeftCommand = LeftOperation<CommandFacts>;

/** The place that a command is about to write to or look at. */
export interface SettleTarget {
  /** Null when only the files matter. */
  ref: RefName | null;
  workspace: { root: string } | null;
}

/**
 * Settles the commands that ran on this line or in its work tree. Throws LOCKED while one is still running;
 * RUN_INTERRUPTED when one has to be settled elsewhere, or, with `onlyLooking`, at all; DAMAGED_SESSION; WRITE_FAILED.
 * In these cases, nothing has changed.
 */
export async function settleCommands(
  project: Project,
  place: SettleTarget,
  { onlyLooking = false }: { onlyLooking?: boolean } = {},
): Promise<void> {
  const left = await project.journal.left(commandKind);
  left.sort((a, b) => ((a.facts?.startedAt ?? '') < (b.facts?.startedAt ?? '') ? 1 : -1));
  for (const command of left) await settle(project, place, command, onlyLooking);
}

async function settle(project: Project, place: SettleTarget, left: LeftCommand, onlyLooking: boolean): Promise<void> {
  const { facts } = left;
  if (facts === null) throw damagedNoteError(left);
  const workspace = await findWorkspace(project, facts);
  if (workspace === null && onlyLooking) return;
  if (workspace !== null && facts.ref !== place.ref && workspace.root !== place.workspace?.root) return;
  const operation = await left.take();
  if (operation === null) return;
  try {
    if (workspace === null) warnOfGone(project, facts);
    else await putBack(project, workspace, left, facts, onlyLooking);
  } catch (error) {
    await operation.leave();
    throw error;
  }
  await operation.done();
}

async function putBack(
  project: Project,
  workspace: Workspace,
  left: LeftCommand,
  facts: CommandFacts,
  onlyLooking: boolean,
): Promise<void> {
  await refuseRunning(project, workspace.root, facts.group, {
    command: `A command in turn ${facts.turn}`,
    starter: 'conversation',
  });
  if (onlyLooking)
    throw new TeddyError(
      'RUN_INTERRUPTED',
      `A command in turn ${facts.turn} on ${shortRef(facts.ref)} was interrupted, and its changes in .teddy/ are still there.`,
      '`teddy resume`, or any other command that continues the session, reverts them first.',
    );
  if (!(await isOnStartCommit(project, workspace, facts))) throw elsewhereError(facts, workspace, left);
  await restore(project, workspace, facts);
}

/** Finds the work tree where the command ran; null when it is gone. */
async function findWorkspace({ repository }: Project, { root, isLinked }: CommandFacts): Promise<Workspace | null> {
  if (repository.workspace?.root === root) return repository.workspace;
  const trees = await repository.workTrees();
  if (trees.some((tree) => tree.root === root)) return repository.openWorkspace(root);
  // A repository that was moved has a different root but the same files.
  const main = isLinked ? undefined : trees[0];
  if (main === undefined) return null;
  return main.root === repository.workspace?.root ? repository.workspace : repository.openWorkspace(main.root);
}

function warnOfGone({ notices }: Project, { turn, root }: CommandFacts): void {
  notices.warn(`${root} is gone, so the command in turn ${turn} that was interrupted there is forgotten.`);
}

/** Returns true if HEAD is at or above the commit on which the command started; only then are the kept files meaningful. */
async function isOnStartCommit(
  { repository: { store } }: Project,
  workspace: Workspace,
  { kept: { head } }: CommandFacts,
): Promise<boolean> {
  const now = (await workspace.head()).oid;
  return now !== null && head.oid !== null && (await store.isAncestor(head.oid, now));
}

async function restore(project: Project, workspace: Workspace, { session, kept }: CommandFacts): Promise<void> {
  const place = { project, workspace, session };
  const who = 'An interrupted command, or you since then,';
  const { failure } = await restoreSessionFiles(place, kept, await workspace.headAndScan(), who);
  if (failure === null) return;
  throw new TeddyError(
    'WRITE_FAILED',
    `The changes that an interrupted command made in .teddy/ could not be reverted: ${failure}`,
    'Nothing else was done. Make .teddy/ writable, and run the command again.',
  );
}

function elsewhereError({ turn, ref }: CommandFacts, { root }: Workspace, { path }: LeftCommand): TeddyError {
  const line = shortRef(ref);
  return new TeddyError(
    'RUN_INTERRUPTED',
    `A command in turn ${turn} was interrupted on ${line}, and its changes in .teddy/ may still be in ${root}.`,
    `Switch back to the branch, and run any teddy command there: \`git -C ${toShellWord(root)} switch ${toShellWord(line)}\`. If that is not possible, ${describeManualFix(`git -C ${toShellWord(root)}`, path)}`,
  );
}

function damagedNoteError({ path }: LeftCommand): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The note about an interrupted command cannot be read: ${path}.`,
    describeManualFix('git', path).replace('look', 'Look'),
  );
}

function describeManualFix(git: string, path: string): string {
  return `look at \`${git} diff HEAD -- .teddy\`, revert what is not yours, then remove the note: \`rm ${toShellWord(path)}\`.`;
}
