/**
 * Settles a killed run: continues it, closes it in its present state, or rolls it back. Does not rerun any action that
 * had begun.
 */
import { TeddyError } from '../../errors.ts';
import type { BeginRecord } from '../../plan/report/journal.ts';
import type { Plan } from '../../plan/plan.ts';
import type { ActionLog } from '../../plan/report/report.ts';
import type { LeftRun, ProjectFiles } from '../../ports/disk.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { RepoPath, SessionId, TurnName } from '../../names.ts';
import { withClaim } from './claim-turn.ts';
import { reportRollback, toWarning } from './close.ts';
import { listChanged, restoreInterrupted } from '../line/guard-session-files.ts';
import { logRun } from './log.ts';
import { toText } from '../../view/view.ts';
import { rollBack, type RolledBack } from './roll-back.ts';
import { newLog, newRun, type Run, type RunLog } from './run.ts';
import { toSkippedLog, toUnselectedLog } from './actions.ts';
import { notInterruptedError } from '../line/unfinished-run.ts';

/** `resume`: reports its interrupted action as failed and runs the rest. `keep`: reports the run in its present state. */
export type SettleChoice = 'resume' | 'keep';

export interface RolledBackRun extends RolledBack {
  session: SessionId;
  turn: TurnName;
}

/**
 * Restores the files to their state before the killed run; its plan stays pending. Throws NO_INTERRUPTED_RUN, and
 * ROLLBACK_INCOMPLETE, after which the caller can try again.
 */
export async function rollBackRun(
  project: Project,
  request: { selector?: string | undefined },
): Promise<RolledBackRun> {
  return withClaim(project, request.selector, async ({ line, workspace, place, left }) => {
    if (left === null) throw notInterruptedError(place);
    await restoreInterrupted({ project, workspace, session: line.session });
    // Without this record, a run resumed after a crash during the rollback would continue on half-restored files.
    await left.journal.append({ record: 'rollback' }).catch((error: unknown) => project.notices.warn(toWarning(error)));
    const rolledBack = await rollBack({ project, workspace, journal: left.journal }, left);
    reportRollback(project, place, rolledBack);
    await left.journal.discard();
    return { session: line.session, turn: place.turn, ...rolledBack };
  });
}

/** Returns the run up to its interruption, with an end for the action in which it was killed. */
export async function resumeRun(
  project: Project,
  workspace: Workspace,
  { actions }: Plan,
  left: LeftRun,
  choice: SettleChoice,
): Promise<{ run: Run; log: RunLog }> {
  const run = await readRun(left);
  const log = logRun(project, left.journal, left, { isNew: false });
  const crashed = actions.find(({ index }) => index === left.interrupted?.action);
  if (left.interrupted && crashed) {
    const reason = await noteChanges(project, workspace, left.interrupted, run);
    const status = choice === 'keep' ? 'ABORTED' : 'FAILURE';
    const ended: ActionLog = newLog(crashed, { status, details: { reason } });
    run.crashedIn = crashed.index;
    run.logs.push(ended);
    await log.end(ended, run);
  }
  if (left.isRollingBack) await removeLeftovers(project.filesOf(workspace.root), [...run.changed.keys()]);
  return { run, log };
}

/** Removes the temporary file of a file that was being restored when the run was killed. */
async function removeLeftovers(files: ProjectFiles, paths: RepoPath[]): Promise<void> {
  for (const path of paths) await files.removeLeftovers(path);
}

/** Returns the actions that had not begun. */
function listRest({ actions }: Plan, { logs }: Run): Plan['actions'] {
  const known = new Set(logs.map(({ index }) => index));
  return actions.filter(({ index }) => !known.has(index));
}

/** Ends the run without running anything more. */
export function stopRun(plan: Plan, run: Run): void {
  const rest = listRest(plan, run);
  if (run.ended === 'done' && (run.crashedIn !== undefined || rest.length > 0)) run.ended = 'interrupted';
  for (const action of rest) run.logs.push(toSkippedLog(action, run.ended));
}

/** Logs the remaining actions as not selected: nobody chose them, or nobody can be asked about them. */
export function skipRest(plan: Plan, run: Run): void {
  for (const action of listRest(plan, run)) run.logs.push(toUnselectedLog(action));
}

async function readRun({ ended, journal }: LeftRun): Promise<Run> {
  const run = newRun();
  // After a power cut, the last action's bytes may be missing; its log exists and contains its outcome.
  const read = async (key: string) => toText(await journal.read(key).catch(toLost));
  for (const { log, ended: how, changed, strays, output, page, crashed, files } of ended) {
    run.logs.push(log);
    run.ended = how;
    for (const [path, print, owner = log.index] of changed) {
      run.changed.set(path, owner);
      run.left.set(path, print);
    }
    if (crashed) run.crashedIn = log.index;
    for (const path of strays) run.strays.add(path);
    // A journal from an older teddy has none.
    if (files !== undefined || changed.some(([, , owner]) => owner === undefined))
      run.files.set(log.index, files ?? null);
    if (output !== undefined) run.outputs.push({ action: log.index, text: await read(output) });
    if (page !== undefined) run.pages.push({ action: log.index, text: await read(page) });
  }
  return run;
}

function toLost(error: unknown): Uint8Array {
  if (error instanceof TeddyError) return new TextEncoder().encode('This was lost in a crash.\n');
  throw error;
}

/**
 * Attributes every difference since the action began to the action, because teddy cannot distinguish later edits.
 * Returns a description of the known changes.
 */
async function noteChanges(
  project: Project,
  workspace: Workspace,
  { action, before }: BeginRecord,
  run: Run,
): Promise<string> {
  const start = 'the run was interrupted in it';
  if (before.kind === 'none') return start;
  const note = (path: RepoPath, print: string | null) => {
    run.changed.set(path, action);
    run.left.set(path, print);
    run.files.set(action, null);
  };
  if (before.kind === 'write') {
    await project.filesOf(workspace.root).removeLeftovers(before.path);
    const bytes = await workspace.readDisk(before.path);
    const isWritten = bytes !== null && project.hash(bytes) === before.afterSha256;
    if (isWritten) note(before.path, `sha256:${before.afterSha256}`);
    return `${start}; ${before.path} was ${isWritten ? '' : 'not '}written`;
  }
  const now = await workspace.scan();
  const changed = listChanged(new Map(before.scan), now).filter((path) => !isSessionPath(path));
  for (const path of changed) note(path, now.get(path) ?? null);
  return changed.length === 0
    ? `${start}; no file has changed`
    : `${start}; what has changed since it began is in the changes`;
}
