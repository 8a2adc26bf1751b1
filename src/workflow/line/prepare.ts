/**
 * Prepares a line for additions: makes its branch if needed, repairs the effects of a crash, and checks that nothing is
 * in the way.
 */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { joinPath, parseTurnName, turnDir, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { settleCommands } from './settle-commands.ts';
import { findLine, nameWithPlace } from './find.ts';
import { findLineWith } from './find-recorded.ts';
import { ensureGlobal } from './global-branch.ts';
import { recoverAnswers } from './recover-answer.ts';
import { repair } from './repair.ts';
import { refuseOperation } from './refuse-operation.ts';
import { lookForTurn, readLineAt, refreshLine, type LineState } from '../../view/view.ts';
import { makeLocal } from './own-start.ts';
import { checkUnfinishedRuns } from './unfinished-run.ts';

interface PrepareOptions {
  recover?: boolean;
  settles?: boolean;
  forks?: boolean;
  needsFiles?: boolean;
}

export interface ReadyLine {
  ref: RefName;
  session: SessionId;
  /** The work tree that has the line checked out, if any. */
  workspace: Workspace | null;
  /** The line's state after all repairs. */
  state: LineState;
}

/**
 * Prepares the line. With `forks`, the command makes its own branch, and HEAD may be detached at an entry. With
 * `recover: false`, only looks at the line: an answer that a killed command had received stays in staging. Throws
 * RUN_INTERRUPTED when a run was killed, unless the caller `settles` it.
 */
export async function prepareLine(
  project: Project,
  selector: string | undefined,
  { recover = true, settles = false, forks = false, needsFiles = false }: PrepareOptions = {},
): Promise<ReadyLine> {
  const { repository, notices } = project;
  // Asks git for the identity while looking for the line, because without an identity, nothing may begin.
  const identified = repository.store.ident();
  identified.catch(() => undefined);
  // Repairs before reading HEAD, because after a crash of teddy the index may lag behind HEAD.
  await repair(project, repository.workspace);
  const line = await findLine(project, selector, { appends: recover, forks, needsFiles });
  await identified;
  if (line.workspace !== repository.workspace) await repair(project, line.workspace);
  const place = line.workspace ?? repository.workspace;
  if (place) await refuseOperation(place, line.ref);
  await ensureGlobal(project);
  // A clone has the lines but not the attributes that protect their bytes.
  await repository.installAttributes();
  const tip = line.tip ?? (await makeLocal(project, line));
  // The user chose the branch that HEAD is on, and teddy reported an open session when it found it.
  if (line.found === 'named') notices.info(`Session ${nameWithPlace(project, line)}.`);
  const { ref, session, workspace } = line;
  await settleCommands(project, { ref, workspace }, { onlyLooking: !recover });
  const state = await readLineAt(repository.store, { workspace }, tip);
  const ready = { ref, session, workspace, state };
  if (!recover) return ready;
  await checkUnfinishedRuns(project, { ...ready, tip: state.tip }, { settles });
  // A recovered answer is a separate entry.
  return (await recoverAnswers(project, ready))
    ? { ...ready, state: await refreshLine(repository.store, ready) }
    : ready;
}

/**
 * Prepares the line that has a turn: the selected line, or, when that line does not have the turn, the line of the same
 * session that does.
 */
export async function prepareLineOf(
  project: Project,
  { selector, turn }: { selector?: string | undefined; turn?: string | undefined },
  options: PrepareOptions = {},
): Promise<ReadyLine> {
  const line = await prepareLine(project, selector, options);
  if (turn === undefined || lookForTurn(line.state, turn) !== null) return line;
  const other = await findLineWith(project, line.session, parseTurnName(turn));
  return other?.ref == null ? line : prepareLine(project, other.name, options);
}

/**
 * Returns the path of the file with a turn's request, for the user to read: in the line's work tree, or a copy when the
 * line has none.
 */
export async function findRequestFile(
  { repository, scratch }: Project,
  { ref, session, workspace }: ReadyLine,
  turn: TurnName,
): Promise<string> {
  const path = joinPath(turnDir(session, turn), '_context.log');
  if (workspace !== null) return workspace.root === repository.workspace?.root ? path : `${workspace.root}/${path}`;
  const tip = await repository.store.resolve(ref);
  const file = tip === null ? null : await repository.store.readFile(tip, path);
  return file === null ? path : (await scratch.write('_context.log', file.bytes)).path;
}
