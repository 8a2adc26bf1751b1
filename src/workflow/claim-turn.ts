/** The right to execute a line's pending plan, for as long as it takes. */
import type { LeftRun, Project, RunPlace, Workspace } from '../ports.ts';
import { requirePlan, requireWorkspace } from './pending-plan.ts';
import { prepareLine, type ReadyLine } from './prepare-line.ts';
import { readLine } from './read-line.ts';
import { refuseRunning } from './refuse-running.ts';
import { isOfLine, refuseElsewhere } from './unfinished-run.ts';

export interface ClaimedTurn {
  line: ReadyLine;
  workspace: Workspace;
  place: RunPlace;
  /** A run of the plan that was killed. */
  left: LeftRun | null;
}

/** Throws NOT_ON_LINE, NO_PENDING_PLAN, LOCKED while another process executes the turn, and what preparing a line throws. */
export async function withClaim<Value>(
  project: Project,
  selector: string | undefined,
  use: (claimed: ClaimedTurn) => Promise<Value>,
): Promise<Value> {
  const line = await prepareLine(project, selector, { settles: true, needsFiles: true });
  await refuseElsewhere(project, line);
  const workspace = requireWorkspace(line, project.repository);
  const { turn } = requirePlan(await readLine(project.repository.store, line.tip), line);
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
  } finally {
    await left?.journal.close();
    await claim.release();
  }
}
