/** The exclusive right to execute a line's pending plan, until the execution ends. */
import { TeddyError } from '../../errors.ts';
import type { LeftRun } from '../../ports/disk.ts';
import type { RunDirs, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { requirePlan, requireWorkspace } from '../line/pending-plan.ts';
import { prepareLine, type ReadyLine } from '../line/prepare.ts';
import { refuseRunning } from '../line/refuse-operation.ts';
import { describeSettleCommands, isOfLine, refuseElsewhere } from '../line/unfinished-run.ts';

export interface ClaimedTurn {
  line: ReadyLine;
  workspace: Workspace;
  place: RunDirs;
  /** A killed run of the plan. */
  left: LeftRun | null;
}

/**
 * Claims the turn for `use`. Throws NOT_ON_LINE, NO_PENDING_PLAN, LOCKED while another process executes the turn, and
 * the errors of preparing a line.
 */
export async function withClaim<Value>(
  project: Project,
  selector: string | undefined,
  use: (claimed: ClaimedTurn) => Promise<Value>,
): Promise<Value> {
  const line = await prepareLine(project, selector, { settles: true, needsFiles: true });
  await refuseElsewhere(project, line);
  // Checks this first: when no plan is waiting, a work tree would not help.
  const { turn } = requirePlan(line);
  const workspace = await requireWorkspace(project, line);
  const begun = (await project.journals.list()).find((run) => run.turn === turn && isOfLine(run, line));
  const place = { session: line.session, turn, ref: begun?.ref ?? line.ref };
  const claim = await project.journals.claim(place);
  let left: LeftRun | null = null;
  try {
    left = await project.journals.find(place);
    if (left?.interrupted)
      await refuseRunning(project, workspace.root, left.group, {
        command: `The command of action ${left.interrupted.action}`,
        starter: 'run',
      });
    return await use({ line, workspace, place, left });
  } catch (error) {
    throw await addHint(project, place, error);
  } finally {
    await left?.journal.close();
    await claim.release();
  }
}

/** Adds a hint when the disk is full and a run is left behind; rerunning the same command would only report that run. */
async function addHint(project: Project, place: RunDirs, error: unknown): Promise<unknown> {
  if (!(error instanceof TeddyError) || error.code !== 'DISK_FULL') return error;
  const run = await project.journals.find(place).catch(() => null);
  if (run === null) return error;
  const ways = describeSettleCommands(project, run.run, { isOnLine: true });
  const hint = `Free some space, then settle the run: ${ways}.`;
  return new TeddyError(error.code, error.message, hint, { cause: error });
}
