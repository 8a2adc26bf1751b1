/** Ends an execution with a report of the actions that ran, or of the reason why none did. */
import { TeddyError } from '../../errors.ts';
import { newestGrammar } from '../../session/text/grammar.ts';
import type { Problem } from '../../plan/match/problem.ts';
import { renderReport } from '../../plan/report/report-yaml.ts';
import type { Report, ReportedRollback } from '../../plan/report/report.ts';
import type { RunStatus } from '../../session/entries/entry-trailers.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { listUndecided, type DecidedMemos } from '../line/decide-memos.ts';
import { maskReport } from '../line/mask-text.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { publishReport, type Published } from './publish-report.ts';
import type { PendingTurn } from '../line/pending-plan.ts';
import type { CheckedOutLine } from '../line/draft-snapshot.ts';
import type { RolledBack } from './roll-back.ts';
import { newLog, newRun, skipped, type Run } from './run.ts';

export interface Executed extends Published {
  line: ReadyLine;
}

/** The facts for a report. A run needs a checked-out line; a turn can be closed without one. */
export interface RunDraft<Line extends ReadyLine = CheckedOutLine> {
  project: Project;
  line: Line;
  turn: PendingTurn;
  started: Date;
}

/** Reports the actions that ran. */
export async function finishRun(
  draft: RunDraft,
  run: Run,
  memos: DecidedMemos,
  rolledBack: RolledBack | null = null,
): Promise<Executed> {
  return publish(draft, run, memos, { status: toStatus(run), error: toRunError(run), problems: [], rolledBack });
}

function toStatus({ logs, ended, crashedIn }: Run): RunStatus {
  if (ended === 'interrupted' || ended === 'quit') return 'ABORTED';
  if (ended === 'failed' || crashedIn !== undefined) return 'FAILURE';
  return logs.length > 0 && logs.every(({ status }) => status === 'SKIPPED') ? 'SKIPPED' : 'SUCCESS';
}

function toRunError({ logs, ended, crashedIn }: Run): string | null {
  if (ended === 'quit') return 'stopped by the user';
  if (ended === 'interrupted') return 'interrupted';
  const failed = logs.find(({ status }) => status === 'FAILURE');
  if (ended === 'done' && crashedIn !== undefined) return `the run was interrupted in action ${crashedIn}`;
  if (ended === 'failed')
    return failed ? `action ${failed.index} (${failed.action_type}) failed` : 'it was rolled back';
  return null;
}

/** Closes the turn without running any of the plan; only memos accepted earlier count. */
export function rejectTurn(draft: RunDraft<ReadyLine>, taken: DecidedMemos, error: string): Promise<Executed> {
  const undecided = listUndecided(draft.turn.parsed.plan.memos, taken);
  const memos = { ...taken, rejected: undecided.map(({ fact }) => fact) };
  return closeTurn(draft, 'ABORTED', { error, memos, reason: 'rejected' });
}

/** Closes the turn without running anything. */
export async function closeTurn(
  draft: RunDraft<ReadyLine>,
  status: RunStatus,
  why: { error?: string; reason: string; problems?: Problem[]; memos: DecidedMemos },
): Promise<Executed> {
  const logs = draft.turn.parsed.plan.actions.map((action) => newLog(action, skipped(why.reason)));
  const run: Run = { ...newRun(), logs };
  const count = why.problems?.length ?? 0;
  const error = why.error ?? `${count} ${count === 1 ? 'problem' : 'problems'} found in the plan`;
  return publish(draft, run, why.memos, { status, error, problems: why.problems ?? [], rolledBack: null });
}

interface RunOutcome {
  status: RunStatus;
  error: string | null;
  problems: Problem[];
  rolledBack: RolledBack | null;
}

async function publish(
  draft: RunDraft<ReadyLine>,
  run: Run,
  memos: DecidedMemos,
  { status, error, problems, rolledBack }: RunOutcome,
): Promise<Executed> {
  const { project, line, turn, started } = draft;
  const left = run.logs.flatMap((log) => (log.status === 'SKIPPED' ? [log.index] : []));
  const report = await maskReport(project.masker, {
    version: 1,
    session: line.session,
    turn: turn.turn,
    plan: {
      title: turn.parsed.plan.title,
      sha256: project.hash(turn.plan),
      grammar: newestGrammar,
      ...(await readPlanner(project, line)),
    },
    run_summary: {
      status,
      start_time: started.toISOString(),
      end_time: project.clock.now().toISOString(),
      error,
      ...(status === 'SUCCESS' && left.length > 0 ? { not_run: left } : {}),
    },
    memos,
    action_logs: run.logs,
    ...(rolledBack === null ? {} : { rollback: toReported(rolledBack) }),
    changes: [],
    validation_errors: problems,
  });
  try {
    return { line, ...(await publishReport(project, line, turn.turn, report, run)) };
  } catch (error) {
    const isDone = run.logs.some(({ duration_ms }) => duration_ms !== undefined);
    throw isDone && error instanceof TeddyError ? await unreportedError(project, report, error) : error;
  }
}

function toReported({ restored, left, aside }: RolledBack): ReportedRollback {
  return { restored, left, moved_aside: aside.map(({ path }) => path) };
}

/** Returns the error for a report that could not be published. Keeps the report as a blob if that is still possible. */
async function unreportedError(project: Project, report: Report, error: TeddyError): Promise<TeddyError> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(renderReport(report));
  const kept = await batch.flush().then(
    () => ` The report of this run was saved: \`git cat-file -p ${oid}\`.`,
    () => '',
  );
  const message = `The actions were run, but their report could not be published: ${error.message}`;
  return new TeddyError(error.code, message, `${error.hint ?? ''}${kept}`.trim(), { cause: error });
}

async function readPlanner(project: Project, line: ReadyLine): Promise<{ agent: string | null; model: string | null }> {
  for await (const { commit } of project.repository.store.firstParents(line.state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'plan') return { agent: entry.agent ?? null, model: entry.model ?? null };
    if (entry?.kind === 'start') break;
  }
  return { agent: null, model: null };
}
