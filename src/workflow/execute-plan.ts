/** Executes the pending plan of a line: check, approve, act, and publish one report together with the code it changed. */
import { TeddyError } from '../errors.ts';
import { parsePlan } from '../plan/parse.ts';
import type { ParsedPlan, Problem } from '../plan/plan.ts';
import { runVirtually } from '../plan/validate.ts';
import type { Project, Workspace } from '../ports.ts';
import { decideMemos, finishMemos, joinMemos, listUndecided, type MemoDecision } from './decide-memos.ts';
import { closeTurn, finishRun, noRun, UnreportedRun, type Executed } from './finish-run.ts';
import { restoreInterrupted } from './guard-session-files.ts';
import { refuseModified, requirePlan, requireWorkspace } from './pending-plan.ts';
import { prepareLine, type ReadyLine } from './prepare-line.ts';
import { readLine, toText, type Turn } from './read-line.ts';
import { worldOf } from './plan-world.ts';
import type { Approver } from './approver.ts';
import type { Run } from './run.ts';
import { runActions } from './run-actions.ts';
import { selectActions, type Selection } from './select-actions.ts';
import { takeSnapshot } from './take-snapshot.ts';

export interface ExecuteRequest extends Selection {
  selector?: string | undefined;
  /** Null: nobody can be asked, and no flag has said yes. */
  approver: Approver | null;
  memos: MemoDecision;
  /** Run nothing and close the turn; the reason may be empty. */
  reject?: string | undefined;
  signal: AbortSignal;
  /** When it is known what will be run. */
  onStart?(started: { line: ReadyLine; turn: string; plan: ParsedPlan }): void;
}

const defaultTimeoutS = 120;

/**
 * Throws USAGE for a selection that the plan does not have, NO_PENDING_PLAN, NOT_ON_LINE, PLAN_MODIFIED, NOT_APPROVED (nothing has run then) and what a snapshot throws.
 * A plan that fails validation is not executed; its report says why.
 */
export async function executePlan(project: Project, request: ExecuteRequest): Promise<Executed> {
  const line = await prepareLine(project, request.selector);
  const workspace = requireWorkspace(line);
  const { turn } = requirePlan(await readLine(project.repository.store, line.tip), line);
  const claim = await project.repository.claimRun({ session: line.session, turn, ref: line.ref });
  try {
    if (claim.wasInterrupted) {
      project.notices.warn(
        `An earlier run of turn ${turn} was interrupted: some of its actions may have been done already.`,
      );
    }
    const executed = await executeTurn(project, request, line, workspace, claim.wasInterrupted);
    await claim.release();
    return executed;
  } catch (error) {
    await (error instanceof UnreportedRun ? claim.abandon() : claim.release());
    throw error;
  }
}

async function executeTurn(
  project: Project,
  request: ExecuteRequest,
  line: ReadyLine,
  workspace: Workspace,
  wasInterrupted: boolean,
): Promise<Executed> {
  const { store } = project.repository;
  const target = { ref: line.ref, session: line.session, workspace };
  if (wasInterrupted) await restoreInterrupted({ project, workspace, session: line.session });
  const taken = await finishMemos(project, line);
  // Read again under the claim: a run that has just ended has closed the turn.
  const state = await readLine(store, (await store.resolve(line.ref)) ?? line.tip);
  const turn = requirePlan(state, line);
  await refuseModified(project, workspace, state, turn);
  const parsed = parsePlan(toText(turn.plan), { projectRoot: workspace.root });
  const chosen = selectActions(parsed, request);
  if (wasInterrupted) await removeLeftovers(project, workspace, parsed);
  request.onStart?.({ line, turn: turn.turn, plan: parsed });
  const started = project.clock.now();
  const draft = { project, line, workspace, turn, parsed, started };
  const undecided = listUndecided(parsed.plan.memos, taken);
  const discarded = { ...taken, rejected: undecided.map(({ fact }) => fact) };

  if (request.reject !== undefined) {
    const error = request.reject || 'rejected';
    return closeTurn(draft, 'ABORTED', { error, memos: discarded, reason: 'rejected' });
  }
  const problems = await validate(project, workspace, chosen);
  if (problems.length > 0) {
    await takeSnapshot(project, target, turn.turn);
    return closeTurn(draft, 'VALIDATION_FAILED', { problems, memos: discarded, reason: 'the plan is not valid' });
  }
  if (request.approver === null && parsed.plan.actions.length > 0) throw toNotApproved(turn, chosen);
  const memos = joinMemos(taken, await decideMemos(project, line, turn.turn, undecided, request.memos));
  await takeSnapshot(project, target, turn.turn);
  const checked = await runVirtually(chosen, worldOf(project, workspace));
  const late = [...checked.problems, ...(await findHidden(project, line, chosen))];
  if (late.length > 0)
    return closeTurn(draft, 'VALIDATION_FAILED', { problems: late, memos, reason: 'the plan is not valid' });

  await request.approver?.begin(checked.effects);
  const chosenIndexes = new Set(chosen.plan.actions.map(({ index }) => index));
  const settings = { timeoutMs: await readTimeoutMs(project), signal: request.signal, chosen: chosenIndexes };
  const run = request.approver ? await runActions(project, target, parsed.plan, request.approver, settings) : noRun;
  refuseInterruptedBeforeStart(run);
  return finishRun(draft, run, memos);
}

/** A file that was being installed when the earlier run was killed has its temporary file beside it. */
async function removeLeftovers(project: Project, workspace: Workspace, { plan }: ParsedPlan): Promise<void> {
  const files = project.filesOf(workspace.root);
  for (const action of plan.actions) {
    if (action.type === 'CREATE' || action.type === 'EDIT') await files.removeLeftovers(action.path);
  }
}

async function validate(project: Project, workspace: Workspace, parsed: ParsedPlan): Promise<Problem[]> {
  return (await runVirtually(parsed, worldOf(project, workspace))).problems;
}

/** After the snapshot, a file that the tip has and the disk has not is one that a sparse checkout keeps away. */
async function findHidden(project: Project, line: ReadyLine, { plan }: ParsedPlan): Promise<Problem[]> {
  const { store } = project.repository;
  const tip = (await store.resolve(line.ref)) ?? line.tip;
  const problems: Problem[] = [];
  for (const action of plan.actions) {
    if (action.type !== 'CREATE' || action.overwrite || (await store.readFile(tip, action.path)) === null) continue;
    const onDisk = await line.workspace?.readDisk(action.path);
    if (onDisk) continue;
    const { index, line: at, column } = action;
    const message = `CREATE ${action.path}: the project has this file, outside the sparse checkout.`;
    problems.push({ line: at, column, action: index, message, hint: 'Check it out with `git sparse-checkout add`.' });
  }
  return problems;
}

function toNotApproved(turn: Turn, parsed: ParsedPlan): TeddyError {
  const count = parsed.plan.actions.length;
  return new TeddyError(
    'NOT_APPROVED',
    `Turn ${turn.turn} has ${count} ${count === 1 ? 'action' : 'actions'} to approve, and there is no terminal to ask in.`,
    'Use -y to approve every action, or --reject to close the turn without running any.',
  );
}

async function readTimeoutMs(project: Project): Promise<number> {
  return Number((await project.settings.get('timeout')) ?? defaultTimeoutS) * 1000;
}

/** Ctrl-C before the first action leaves the plan pending: there is nothing to report. */
function refuseInterruptedBeforeStart(run: Run): void {
  const ran = run.logs.some(({ status, duration_ms }) => status !== 'SKIPPED' || duration_ms !== undefined);
  if (run.ended === 'interrupted' && !ran) {
    throw new TeddyError(
      'INTERRUPTED',
      'Interrupted before anything was run.',
      'The plan is still pending: `teddy session execute`.',
    );
  }
}
