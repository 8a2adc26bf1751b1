/**
 * Executes a line's pending plan: checks it, gets approval, runs the actions, and publishes one report together with
 * the changed code.
 */
import { TeddyError } from '../../errors.ts';
import type { RunRecord } from '../../plan/report/journal.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { ParsedPlan } from '../../plan/plan.ts';
import { runVirtually, comparePositions } from '../../plan/validate.ts';
import type { LeftRun } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import { withClaim, type ClaimedTurn } from './claim-turn.ts';
import { closeRun, type JournaledOutcome } from './close.ts';
import { decideMemos, finishMemos, joinMemos, listUndecided, type MemoDecision } from '../line/decide-memos.ts';
import { closeTurn, rejectTurn, type Executed, type RunDraft } from './finish.ts';
import { refusePartlyStaged } from '../line/draft-snapshot.ts';
import { findHidden, selectActions, type Selection } from './select-actions.ts';
import { restoreInterrupted } from '../line/guard-session-files.ts';
import { logRun } from './log.ts';
import { refuseModified, requirePlan, type PendingTurn } from '../line/pending-plan.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { describeRejection, lastWord, refreshLine } from '../../view/view.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { shortRef, type RefName } from '../../names.ts';
import { worldOf } from '../line/find-twin.ts';
import { type Approver, newRun, type Run } from './run.ts';
import { hasRun, runActions } from './actions.ts';
import { readApproval, requireApproval } from '../line/needed-approval.ts';
import { skipRest, stopRun, resumeRun, type SettleChoice } from './settle.ts';
import { takeSnapshot } from '../line/take-snapshot.ts';
import { InterruptedRun, notInterruptedError } from '../line/unfinished-run.ts';

export interface ExecuteRequest extends Selection {
  selector?: string | undefined;
  /** Null when nobody can be asked and no flag has approved the plan. */
  approver: Approver | null;
  memos: MemoDecision;
  /** When set, runs nothing and closes the turn; the reason may be empty. */
  reject?: string | undefined;
  /** True to restore the files that a run changed if it does not complete. */
  rollback?: boolean;
  /** How to settle an earlier, killed run of the plan. */
  interrupted?: SettleChoice | undefined;
  signal: AbortSignal;
  /** Called once the actions to run are known. */
  onStart?(started: { line: ReadyLine; turn: string; plan: ParsedPlan }): void;
}

const defaultTimeoutS = 120;

/**
 * Executes the plan. Throws USAGE for a selection that the plan does not have, NO_PENDING_PLAN, NOT_ON_LINE,
 * PLAN_MODIFIED, NOT_APPROVED (in that case nothing has run) and the errors of a snapshot; RUN_INTERRUPTED when an
 * earlier run was killed and the request does not specify how to settle it, NO_INTERRUPTED_RUN for the opposite;
 * ROLLBACK_INCOMPLETE, in which case there is no report yet. Does not execute a plan that fails validation; its report
 * explains why. If the selection omits actions, such a plan throws VALIDATION_FAILED instead.
 */
export async function executePlan(project: Project, request: ExecuteRequest): Promise<Executed> {
  return withClaim(project, request.selector, async (claimed) => {
    const { left, place } = claimed;
    if (left === null && request.interrupted !== undefined) throw notInterruptedError(place);
    if (left === null) return executeTurn(project, request, claimed);
    if (request.interrupted === undefined) throw new InterruptedRun(project, left, { isOnLine: true });
    return settleTurn(project, request, claimed, left, request.interrupted);
  });
}

async function executeTurn(project: Project, request: ExecuteRequest, claimed: ClaimedTurn): Promise<Executed> {
  const { workspace, place } = claimed;
  const { memos: taken, state } = await finishMemos(project, claimed.line);
  const { draft, chosen } = await draftRun(project, request, { ...claimed, line: { ...claimed.line, state } });
  const { line, turn } = draft;
  const { parsed } = turn;
  const undecided = listUndecided(parsed.plan.memos, taken);
  const discarded = { ...taken, rejected: undecided.map(({ fact }) => fact) };

  if (request.reject !== undefined) return rejectTurn(draft, taken, request.reject || 'rejected');
  const approval = await readApproval(project, { session: line.session, tip: line.state.tip }, turn.turn);
  for (const note of approval.notes) project.notices.warn(note);
  const rejected = lastWord(approval.verdicts);
  // teddy crashed between the verdict and its report, or pulled the verdict from a clone without the report.
  if (rejected?.verdict === 'rejected') return rejectTurn(draft, taken, describeRejection(rejected));
  const isAsked = request.approver?.by === 'user';
  if (chosen.plan.actions.length > 0) await requireApproval(project, approval, { line, turn: turn.turn, isAsked });
  const { problems } = await runVirtually(chosen, worldOf(project, workspace));
  const isPart = chosen.plan.actions.length < parsed.plan.actions.length;
  // Refuses a selection before writing or asking anything; for a whole plan, the refusal goes into the report after the
  // snapshot.
  if (isPart)
    refuseSelection([...problems, ...(await findHidden(project, { tip: line.state.tip, workspace }, chosen))]);
  if (problems.length > 0) {
    const snapped = { ...draft, line: { ...line, state: await takeSnapshot(project, line, turn.turn) } };
    return closeTurn(snapped, 'VALIDATION_FAILED', { problems, memos: discarded, reason: 'the plan is not valid' });
  }
  if (request.approver === null && parsed.plan.actions.length > 0)
    throw notApprovedError(turn, chosen.plan.actions.length);
  const decided = await decideMemos(project, line, turn.turn, undecided, request.memos);
  const memos = joinMemos(taken, decided.memos);
  // The user may have taken a while to decide, so teddy checks the plan again, against the user's latest edits.
  const snapshot = await takeSnapshot(project, { ...line, state: decided.state }, turn.turn);
  const snapped = { ...draft, line: { ...line, state: snapshot } };
  const checked = await runVirtually(chosen, worldOf(project, workspace));
  const late = [...checked.problems, ...(await findHidden(project, { tip: snapshot.tip, workspace }, chosen))];
  if (isPart) refuseSelection(late);
  if (late.length > 0)
    return closeTurn(snapped, 'VALIDATION_FAILED', { problems: late, memos, reason: 'the plan is not valid' });

  await request.approver?.begin(checked.effects);
  const run: RunRecord = {
    record: 'run',
    version: 1,
    ...place,
    root: workspace.root,
    startedAt: draft.started.toISOString(),
    chosen: toIndexes(chosen),
    rollback: request.rollback === true,
    memos,
  };
  const journaled = { run, begun: [], ended: [], interrupted: null, group: null, isRollingBack: false };
  const log = logRun(project, project.journals.begin(place), journaled, { isNew: true });
  return runAndClose(snapped, request, chosen, { run: newRun(), log, memos });
}

/** Settles a killed run: runs the rest of it, or nothing more. */
async function settleTurn(
  project: Project,
  request: ExecuteRequest,
  claimed: ClaimedTurn,
  left: LeftRun,
  choice: SettleChoice,
): Promise<Executed> {
  const { line, workspace } = claimed;
  const { draft, chosen } = await draftRun(project, request, claimed);
  const { plan } = draft.turn.parsed;
  const isOver = choice === 'keep' || left.isRollingBack || (left.ended.at(-1)?.ended ?? 'done') !== 'done';
  const known = [...left.ended.map(({ log }) => log.index), left.interrupted?.action];
  const actions = chosen.plan.actions.filter(({ index }) => left.run.chosen.includes(index));
  const rest = isOver ? [] : actions.filter(({ index }) => !known.includes(index));
  if (request.approver === null && rest.length > 0) throw notApprovedError(draft.turn, rest.length);
  await refusePartlyStaged(workspace, await workspace.status({ untracked: false }));
  await restoreInterrupted({ project, workspace, session: line.session });
  const { run, log } = await resumeRun(project, workspace, plan, left, choice);
  const outcome = { run, log, memos: left.run.memos };
  const wantsRollback = request.rollback === true || left.run.rollback;
  const resumed = { ...draft, started: new Date(left.run.startedAt) };
  if (isOver) {
    const rollsBackOn = left.isRollingBack && choice === 'resume';
    // The run's changes do not stay, however its actions ended.
    if (rollsBackOn && run.ended === 'done') run.ended = 'failed';
    stopRun(plan, run);
    const rollsBack = rollsBackOn || (choice === 'resume' && wantsRollback && run.ended !== 'done');
    return closeRun(resumed, outcome, { rollsBack });
  }
  const ahead = { ...chosen, plan: { ...chosen.plan, actions: rest } };
  await request.approver?.begin((await runVirtually(ahead, worldOf(project, workspace))).effects);
  return runAndClose(resumed, { ...request, rollback: wantsRollback }, ahead, outcome);
}

async function draftRun(
  project: Project,
  request: ExecuteRequest,
  { line: found, workspace }: ClaimedTurn,
): Promise<{ draft: RunDraft; chosen: ParsedPlan }> {
  // teddy claimed the turn after reading the line, so a run that ended in between has moved the line and closed the
  // turn.
  const line = { ...found, workspace, state: await refreshLine(project.repository.store, found) };
  const turn = requirePlan(line);
  await refuseModified(workspace, line.session, turn);
  const chosen = selectActions(turn.parsed, request);
  request.onStart?.({ line, turn: turn.turn, plan: turn.parsed });
  return { draft: { project, line, turn, started: project.clock.now() }, chosen };
}

async function runAndClose(
  draft: RunDraft,
  request: ExecuteRequest,
  chosen: ParsedPlan,
  outcome: JournaledOutcome,
): Promise<Executed> {
  const { project, line, turn } = draft;
  const { workspace, session } = line;
  const { plan } = turn.parsed;
  const { run, log } = outcome;
  const settings = {
    timeoutMs: await readTimeoutMs(project),
    signal: request.signal,
    chosen: new Set(toIndexes(chosen)),
  };
  const place = { workspace, ref: line.ref, session, log, run };
  if (request.approver) {
    const running = runActions(project, place, plan, request.approver, settings);
    await running.catch((error: unknown) => log.journal.close().then(() => Promise.reject(error)));
  }
  skipRest(plan, run);
  refuseStoppedBeforeStart(run, line.ref);
  if (run.isOffLine && run.ended === 'interrupted') project.notices.warn(describeOffLine(run, line.ref));
  return closeRun(draft, outcome, { rollsBack: request.rollback === true && run.ended !== 'done' });
}

function toIndexes({ plan }: ParsedPlan): number[] {
  return plan.actions.map(({ index }) => index);
}

function notApprovedError(turn: PendingTurn, count: number): TeddyError {
  return new TeddyError(
    'NOT_APPROVED',
    `Turn ${turn.turn} has ${count} ${count === 1 ? 'action' : 'actions'} to approve, but there is no terminal to ask in.`,
    'Approve every action with `teddy execute -y`, or close the turn without running any: `teddy execute --reject`.',
  );
}

export async function readTimeoutMs(project: Project): Promise<number> {
  return Number((await project.settings.get('timeout')) ?? defaultTimeoutS) * 1000;
}

/**
 * Handles Ctrl-C, the end of input, and a HEAD that leaves the line before the first action: in these cases the plan
 * stays pending, because there is nothing to report.
 */
function refuseStoppedBeforeStart(run: Run, ref: RefName): void {
  if (run.ended === 'interrupted' && !hasRun(run)) {
    if (run.isOffLine)
      throw new TeddyError(
        'NOT_ON_LINE',
        `HEAD is no longer on ${shortRef(ref)}, so nothing was run. The plan is still pending.`,
        `Switch back, and run it there: \`git switch ${toShellWord(shortRef(ref))} && teddy execute\`.`,
      );
    throw new TeddyError(
      'INTERRUPTED',
      'Interrupted before anything was run.',
      'The plan is still pending: `teddy execute`.',
    );
  }
}

function describeOffLine({ changed }: Run, ref: RefName): string {
  const files =
    changed.size === 0
      ? ''
      : ` The files that it had changed (${nameSome([...changed.keys()])}) are in its report's commit, and also still in this work tree, which is now on another branch.`;
  return `HEAD is no longer on ${shortRef(ref)}, so the rest of the plan was not run.${files}`;
}

/**
 * Refuses chosen actions that cannot run without the others. This refusal is not a verdict on the plan, so the turn
 * stays open. Throws VALIDATION_FAILED.
 */
function refuseSelection(problems: Problem[]): void {
  const [first] = problems.toSorted(comparePositions);
  if (first === undefined) return;
  const others = problems.length - 1;
  const more = others === 0 ? '' : ` It is the first of ${problems.length} problems.`;
  throw new TeddyError(
    'VALIDATION_FAILED',
    `The chosen actions are not valid on their own: plan.md:${first.line}:${first.column}: ${first.message}${more}`,
    'Nothing was run, and the plan is still pending. Choose other actions, or all of them; `--dry-run` shows every problem.',
  );
}
