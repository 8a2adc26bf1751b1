/** Commands of conversations that a crash has cut off: what they wrote in `.teddy/` is put back before anything builds on it. */
import { TeddyError } from '../../errors.ts';
import type { CommandNote, LeftCommand } from '../../ports/disk.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { restoreSessionFiles } from './guard-session-files.ts';
import { refuseRunning } from './refuse-running.ts';

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
  const left = await project.commands.left();
  try {
    for (const command of left) await settle(project, place, command, onlyLooking);
  } finally {
    for (const { release } of left) await release();
  }
}

async function settle(
  project: Project,
  place: SettleTarget,
  command: LeftCommand,
  onlyLooking: boolean,
): Promise<void> {
  const { note } = command;
  if (note === null) throw damagedNoteError(command);
  const workspace = await findWorkspace(project, note);
  if (workspace === null) return onlyLooking ? undefined : forget(project, note, command);
  if (note.ref !== place.ref && workspace.root !== place.workspace?.root) return;
  await refuseRunning(project, workspace.root, command.group, {
    command: `A command of turn ${note.turn}`,
    starter: 'conversation',
  });
  if (onlyLooking)
    throw new TeddyError(
      'RUN_INTERRUPTED',
      `A command of turn ${note.turn} on ${shortRef(note.ref)} was interrupted, and what it changed in .teddy/ is still there.`,
      '`teddy session resume`, and whatever else goes on there, puts that back first.',
    );
  if (!(await isOnNote(project, workspace, note))) throw elsewhereError(note, workspace, command);
  await restore(project, workspace, note);
  await command.discard();
}

/** The work tree that it ran in. Null: that is gone. */
async function findWorkspace({ repository }: Project, { root, isLinked }: CommandNote): Promise<Workspace | null> {
  if (repository.workspace?.root === root) return repository.workspace;
  const trees = await repository.workTrees();
  if (trees.some((tree) => tree.root === root)) return repository.openWorkspace(root);
  // A repository that was moved has another root, and the same files.
  const main = isLinked ? undefined : trees[0];
  if (main === undefined) return null;
  return main.root === repository.workspace?.root ? repository.workspace : repository.openWorkspace(main.root);
}

async function forget({ notices }: Project, { turn, root }: CommandNote, { discard }: LeftCommand): Promise<void> {
  notices.warn(`${root} is gone, and a command of turn ${turn} that was interrupted there is forgotten.`);
  await discard();
}

/** Only above the commit that it started on the kept files say anything. */
async function isOnNote(
  { repository: { store } }: Project,
  workspace: Workspace,
  { kept: { head } }: CommandNote,
): Promise<boolean> {
  const now = (await workspace.head()).oid;
  return now !== null && head.oid !== null && (await store.isAncestor(head.oid, now));
}

async function restore(project: Project, workspace: Workspace, { session, kept }: CommandNote): Promise<void> {
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

function elsewhereError({ turn, ref }: CommandNote, { root }: Workspace, { path }: LeftCommand): TeddyError {
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
