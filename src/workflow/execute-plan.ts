/** Executes the pending plan of a line: check, approve, act, and publish one report together with the code it changed. */
import { TeddyError } from '../errors.ts';
import { parsePlan } from '../plan/parse.ts';
import type { ParsedPlan, Problem } from '../plan/plan.ts';
import { renderReport, type ActionLog, type Report, type RunStatus } from '../plan/report.ts';
import { runVirtually } from '../plan/validate.ts';
import type { Project, Workspace } from '../ports.ts';
import { decodeEntry } from '../session/entry.ts';
import { shortRef, type Oid } from '../session/names.ts';
import { decideMemos, finishMemos, type DecidedMemos, type MemoDecision } from './decide-memos.ts';
import { lineName } from './find-line.ts';
import { prepareLine, type ReadyLine } from './prepare-line.ts';
import { publishReport, type Published } from './publish-report.ts';
import { readLine, toText, type LineState, type Turn } from './read-line.ts';
import { toParams } from './report-params.ts';
import { runActions, type Approver, type Run } from './run-actions.ts';
import { takeSnapshot } from './take-snapshot.ts';

export interface ExecuteRequest {
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

export interface Executed extends Published {
  line: ReadyLine;
}

const defaultTimeoutS = 120;

/**
 * Throws NO_PENDING_PLAN, NOT_ON_LINE, PLAN_MODIFIED, NOT_APPROVED (nothing has run then) and what a snapshot throws.
 * A plan that fails validation is not executed; its report says why.
 */
export async function executePlan(project: Project, request: ExecuteRequest): Promise<Executed> {
  const line = await prepareLine(project, request.selector);
  const workspace = requireWorkspace(line);
  const { turn } = requirePlan(await readLine(project.repository.store, line.tip), line);
  const claim = await project.repository.claimRun(line.session, turn);
  try {
    if (claim.wasInterrupted) {
      project.notices.warn(
        `An earlier run of turn ${turn} was interrupted: some of its actions may have been done already.`,
      );
    }
    const executed = await executeTurn(project, request, line, workspace);
    await claim.release();
    return executed;
  } catch (error) {
    await (error instanceof UnreportedRun ? claim.abandon() : claim.release());
    throw error;
  }
}

/** Actions were done, and their report could not be published; the next run has to know. */
class UnreportedRun extends TeddyError {}

async function executeTurn(
  project: Project,
  request: ExecuteRequest,
  line: ReadyLine,
  workspace: Workspace,
): Promise<Executed> {
  const { store } = project.repository;
  const target = { ref: line.ref, session: line.session, workspace };
  await finishMemos(project, line);
  // Read again under the claim: a run that has just ended has closed the turn.
  const state = await readLine(store, (await store.resolve(line.ref)) ?? line.tip);
  const turn = requirePlan(state, line);
  await refuseModified(project, workspace, state, turn);
  const parsed = parsePlan(toText(turn.plan), { projectRoot: workspace.root });
  request.onStart?.({ line, turn: turn.turn, plan: parsed });
  const started = project.clock.now();
  const draft = { project, line, workspace, turn, parsed, started };

  if (request.reject !== undefined)
    return close(draft, 'ABORTED', { error: request.reject || 'rejected', reason: 'rejected' });
  const problems = await validate(project, workspace, parsed);
  if (problems.length > 0) {
    await takeSnapshot(project, target, turn.turn);
    return close(draft, 'VALIDATION_FAILED', { problems, reason: 'the plan is not valid' });
  }
  if (request.approver === null && parsed.plan.actions.length > 0) throw toNotApproved(turn, parsed);
  const memos = await decideMemos(project, line, turn.turn, parsed.plan.memos, request.memos);
  await takeSnapshot(project, target, turn.turn);
  const late = await validate(project, workspace, parsed);
  if (late.length > 0)
    return close(draft, 'VALIDATION_FAILED', { problems: late, memos, reason: 'the plan is not valid' });

  const settings = { timeoutMs: await readTimeoutMs(project), signal: request.signal };
  const run = request.approver
    ? await runActions(project, workspace, parsed.plan, request.approver, settings)
    : ({ logs: [], changed: new Map(), outputs: [], ended: 'done' } satisfies Run);
  refuseInterruptedBeforeStart(run);
  return publish(draft, run, memos, toStatus(run), toRunError(run));
}

interface RunDraft {
  project: Project;
  line: ReadyLine;
  workspace: Workspace;
  turn: Turn;
  parsed: ParsedPlan;
  started: Date;
}

function requireWorkspace(line: ReadyLine): Workspace {
  if (line.workspace) return line.workspace;
  throw new TeddyError(
    'NOT_ON_LINE',
    `${lineName(line)} is checked out nowhere, and a plan is executed in files.`,
    `Switch to it: \`git switch ${lineName(line)}\`.`,
  );
}

function requirePlan({ latest }: LineState, line: ReadyLine): Turn {
  if (latest?.status === 'planned') return latest;
  const last = latest === null ? 'It has no turn yet.' : `Its last turn, ${latest.turn}, is ${latest.status}.`;
  throw new TeddyError(
    'NO_PENDING_PLAN',
    `${shortRef(line.ref)} has no plan to execute. ${last}`,
    latest?.status === 'open'
      ? '`teddy session plan` asks the model again.'
      : 'Say what is next: `teddy session plan -m "..."`.',
  );
}

/** Before anything is asked or written: what will run is what was published. */
async function refuseModified(project: Project, workspace: Workspace, state: LineState, turn: Turn): Promise<void> {
  const path = `.teddy/sessions/${state.session}/${turn.turn}/plan.md`;
  const disk = await workspace.readDisk(path as Parameters<Workspace['readDisk']>[0]);
  if (disk === null || (turn.plan && project.hash(disk) === project.hash(turn.plan))) return;
  throw new TeddyError(
    'PLAN_MODIFIED',
    `${path} differs from what was published, and a published plan never changes.`,
    `Take it back: \`git restore --source=HEAD --staged --worktree ${path}\`.`,
  );
}

async function validate(project: Project, workspace: Workspace, parsed: ParsedPlan): Promise<Problem[]> {
  return (await runVirtually(parsed, project.filesOf(workspace.root).inspect)).problems;
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
  const text = await project.repository.store.setting('teddy.timeout');
  const seconds = text === undefined ? defaultTimeoutS : Number(text);
  if (seconds > 0) return seconds * 1000;
  throw new TeddyError(
    'BAD_SETTING',
    `teddy.timeout is ${JSON.stringify(text)}.`,
    'It is a number of seconds: `git config teddy.timeout 120`.',
  );
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

function toStatus({ logs, ended }: Run): RunStatus {
  if (ended === 'interrupted' || ended === 'quit') return 'ABORTED';
  if (ended === 'failed') return 'FAILURE';
  return logs.length > 0 && logs.every(({ status }) => status === 'SKIPPED') ? 'SKIPPED' : 'SUCCESS';
}

function toRunError({ logs, ended }: Run): string | null {
  if (ended === 'quit') return 'stopped by the user';
  if (ended === 'interrupted') return 'interrupted';
  const failed = logs.find(({ status }) => status === 'FAILURE');
  return ended === 'failed' && failed ? `action ${failed.index} (${failed.action_type}) failed` : null;
}

/** Closes the turn without running anything. */
async function close(
  draft: RunDraft,
  status: RunStatus,
  why: { error?: string; reason: string; problems?: Problem[]; memos?: DecidedMemos },
): Promise<Executed> {
  const logs: ActionLog[] = draft.parsed.plan.actions.map((action) => ({
    index: action.index,
    action_type: action.type,
    status: 'SKIPPED',
    params: toParams(action),
    approved_by: 'none',
    details: { reason: why.reason },
  }));
  const run: Run = { logs, changed: new Map(), outputs: [], ended: 'done' };
  const count = why.problems?.length ?? 0;
  const error = why.error ?? `${count} ${count === 1 ? 'problem' : 'problems'} found in the plan`;
  return publish(draft, run, why.memos ?? noMemos(draft.parsed), status, error, why.problems);
}

function noMemos(parsed: ParsedPlan): DecidedMemos {
  return { added: [], removed: [], rejected: parsed.plan.memos.map(({ fact }) => fact) };
}

async function publish(
  draft: RunDraft,
  run: Run,
  memos: DecidedMemos,
  status: RunStatus,
  error: string | null,
  problems: Problem[] = [],
): Promise<Executed> {
  const { project, line, turn, parsed, started } = draft;
  const report: Report = {
    version: 1,
    session: line.session,
    turn: turn.turn,
    plan: {
      title: parsed.plan.title,
      sha256: project.hash(turn.plan ?? ''),
      ...(await readPlanner(project, line)),
    },
    run_summary: { status, start_time: started.toISOString(), end_time: project.clock.now().toISOString(), error },
    memos,
    action_logs: run.logs,
    changes: [],
    validation_errors: problems,
  };
  try {
    const published = await publishReport(project, { ...line, workspace: draft.workspace }, turn.turn, report, run);
    return { line, ...published };
  } catch (error) {
    const isDone = run.logs.some(({ duration_ms }) => duration_ms !== undefined);
    throw isDone && error instanceof TeddyError ? await toUnreported(project, report, error) : error;
  }
}

/** The report is kept as a blob where that is still possible. */
async function toUnreported(project: Project, report: Report, error: TeddyError): Promise<UnreportedRun> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(renderReport(report));
  const kept = await batch.flush().then(
    () => ` This run's report is kept: \`git cat-file -p ${oid}\`.`,
    () => '',
  );
  const message = `The actions were done, but their report could not be published: ${error.message}`;
  return new UnreportedRun(error.code, message, `${error.hint ?? ''}${kept}`.trim(), { cause: error });
}

async function readPlanner(project: Project, line: ReadyLine): Promise<{ agent: string | null; model: string | null }> {
  const { store } = project.repository;
  const tip: Oid = (await store.resolve(line.ref)) ?? line.tip;
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'plan') return { agent: entry.agent ?? null, model: entry.model ?? null };
    if (entry?.kind === 'start') break;
  }
  return { agent: null, model: null };
}
