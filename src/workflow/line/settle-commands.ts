/** Commands of conversations that a crash has cut off: what they wrote in `.teddy/` is put back before anything builds on it. */
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

/** A command that a conversation runs, and what puts `.teddy/` back. */
export interface CommandFacts extends RunDirs {
  /** Absolute: the work tree that it runs in. */
  root: string;
  /** That is not the main one. */
  isLinked: boolean;
  /** ISO 8601. */
  startedAt: string;
  kept: KeptFiles;
  /** Null until it is about to start. */
  group: ProcessGroup | null;
}

/** Noted from before its start until `.teddy/` is as it was. */
export const commandKind: OperationKind<CommandFacts> = { name: 'command', title: 'a command' };

type LeftCommand = LeftOperation<CommandFacts>;

/** Where somebody is about to write, or to look. */
export interface SettleTarget {
  /** Null: the files alone matter. */
  ref: RefName | null;
  workspace: { root: string } | null;
}

/**
 * Those of the line, and those that ran in its work tree. Throws LOCKED while one still runs; RUN_INTERRUPTED where one has to be
 * settled elsewhere, or, `onlyLooking`, at all; DAMAGED_SESSION; WRITE_FAILED. Nothing has changed then.
 */
export async function settleCommands(
  project: Project,
  place: SettleTarget,
  { onlyLooking = false }: { onlyLooking?: boolean } = {},
): Promise<void> {
  const left = await project.journal.left(commandKind);
  // The newest first.
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
    command: `A command of turn ${facts.turn}`,
    starter: 'conversation',
  });
  if (onlyLooking)
    throw new TeddyError(
      'RUN_INTERRUPTED',
      `A command of turn ${facts.turn} on ${shortRef(facts.ref)} was interrupted, and what it changed in .teddy/ is still there.`,
      '`teddy session resume`, and whatever else goes on there, puts that back first.',
    );
  if (!(await isOnNote(project, workspace, facts))) throw elsewhereError(facts, workspace, left);
  await restore(project, workspace, facts);
}

/** The work tree that it ran in. Null: that is gone. */
async function findWorkspace({ repository }: Project, { root, isLinked }: CommandFacts): Promise<Workspace | null> {
  if (repository.workspace?.root === root) return repository.workspace;
  const trees = await repository.workTrees();
  if (trees.some((tree) => tree.root === root)) return repository.openWorkspace(root);
  // A repository that was moved has another root, and the same files.
  const main = isLinked ? undefined : trees[0];
  if (main === undefined) return null;
  return main.root === repository.workspace?.root ? repository.workspace : repository.openWorkspace(main.root);
}

function warnOfGone({ notices }: Project, { turn, root }: CommandFacts): void {
  notices.warn(`${root} is gone, and a command of turn ${turn} that was interrupted there is forgotten.`);
}

/** Only above the commit that it started on the kept files say anything. */
async function isOnNote(
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
    `What an interrupted command changed in .teddy/ could not be put back: ${failure}`,
    'Nothing else was done. Make .teddy/ writable, and run the command again.',
  );
}

function elsewhereError({ turn, ref }: CommandFacts, { root }: Workspace, { path }: LeftCommand): TeddyError {
  const line = shortRef(ref);
  return new TeddyError(
    'RUN_INTERRUPTED',
    `A command of turn ${turn} was interrupted on ${line}, and what it changed in .teddy/ may be in ${root} still.`,
    `Go back, and run any command there: \`git -C ${toShellWord(root)} switch ${toShellWord(line)}\`. Where that cannot be: ${toWayOut(`git -C ${toShellWord(root)}`, path)}`,
  );
}

function damagedNoteError({ path }: LeftCommand): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The note of a command that was interrupted cannot be read: ${path}.`,
    toWayOut('git', path).replace('look', 'Look'),
  );
}

function toWayOut(git: string, path: string): string {
  return `look at \`${git} diff HEAD -- .teddy\`, take back what is not yours, then remove the note: \`rm ${toShellWord(path)}\`.`;
}
