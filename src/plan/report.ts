/** The outcome of a plan, as it stands in `report.md`. The names are those of the file. */
import type { Oid, RepoPath, SessionId, TurnName } from '../names.ts';
import { countOf } from '../session/describe-spending.ts';
import type { ActionType, Problem } from './plan.ts';

export const runStatuses = ['SUCCESS', 'FAILURE', 'VALIDATION_FAILED', 'SKIPPED', 'ABORTED'] as const;
export type RunStatus = (typeof runStatuses)[number];
type ActionStatus = 'SUCCESS' | 'FAILURE' | 'SKIPPED' | 'ABORTED';

export interface Report {
  version: 1;
  session: SessionId;
  turn: TurnName;
  plan: ReportedPlan;
  run_summary: RunSummary;
  memos: ReportedMemos;
  action_logs: ActionLog[];
  rollback?: ReportedRollback;
  changes: ReportedChange[];
  validation_errors: Problem[];
}

/**
 * `sha256` is of the plan's bytes, in hexadecimal. `grammar` is the version that they were read with; reports from before
 * there were versions have none, and mean 1.
 */
interface ReportedPlan {
  title: string;
  sha256: string;
  grammar?: number;
  agent: string | null;
  model: string | null;
}

/** Times are ISO 8601, in UTC, with milliseconds. */
interface RunSummary {
  status: RunStatus;
  start_time: string;
  end_time: string;
  error: string | null;
  /** With SUCCESS: the indexes of the actions that nobody wanted run. */
  not_run?: number[];
}

/** The files that were put back after a failure, and those that could not be. */
export interface ReportedRollback {
  restored: RepoPath[];
  left: { path: RepoPath; reason: string }[];
  /** Found changed by somebody else than the run: their content was kept outside of the work tree. */
  moved_aside: RepoPath[];
}

export interface ReportedMemos {
  added: string[];
  removed: string[];
  rejected: string[];
  /** Nobody could be asked about these: they wait for the user. */
  proposed?: string[];
}

export interface ActionLog {
  /** From 1, in the order of the plan. */
  index: number;
  action_type: ActionType;
  status: ActionStatus;
  params: Record<string, ReportedParam>;
  /** `flag`: by `-y`. */
  approved_by?: 'user' | 'flag' | 'none';
  modified_by_user?: boolean;
  duration_ms?: number;
  /**
   * The id of git's tree after an action that may change files: the code that this report's commit would have had then, without
   * `.teddy/`. Absent where it could not be told, and in reports from before there was one.
   */
  tree?: Oid;
  details?: ActionDetails;
}

export type ReportedParam = string | number | boolean | Record<string, string>;

/** Each action has those that say something about it. */
export interface ActionDetails {
  /** Why it was skipped, failed or aborted. */
  reason?: string;
  /** The user's words with their no. */
  comment?: string;
  /** EDIT: how and at which line (from 1) the first place was found; `matches` when there was more than one. */
  match?: string;
  line?: number;
  matches?: { pair: number; match: string; line: number }[];
  /** EXECUTE. */
  return_code?: number;
  failed_command?: string;
  failed_line?: number;
  stdout?: string;
  stderr?: string;
  timed_out?: boolean;
  truncated?: boolean;
  /** Advice, where the output tells the reason. */
  note?: string;
  /** RESEARCH: the queries that were run, in order. */
  searches?: ReportedSearch[];
  /** EXECUTE and RESEARCH: where the whole output is, relative to the turn. */
  output_file?: string;
  /** Files of `.teddy/` that the command changed, and that are as they were again. */
  restored?: RepoPath[];
  /** READ of a URL: as it was asked for, and where redirects led when that is another one. */
  url?: string;
  final_url?: string;
  content_type?: string;
  /** The size of the stored page; `masked` is how many secrets of it are masked. */
  bytes?: number;
  masked?: number;
  /** Where the page is, relative to the turn. */
  page_file?: string;
  /** CHAT_WITH_USER and PROMPT. */
  answer?: string;
}

/** `result`: the first lines of what the command printed; `stderr`, its last lines, only where it failed. */
export interface ReportedSearch {
  query: string;
  return_code: number;
  result: string;
  stderr?: string;
  timed_out?: boolean;
  truncated?: boolean;
}

export interface ReportedChange {
  path: RepoPath;
  change: 'added' | 'modified' | 'deleted';
  before: Oid | null;
  after: Oid | null;
  /** git's mode after the run, where the file is anything else than a plain one (100644). */
  mode?: '100755' | '120000' | '160000';
  /** The index of the action that made it. */
  action: number;
}

/** `1 of 2 actions was not run`; null: the run was whole, or its error says why it was not. */
export function describeNotRun({
  run_summary,
  action_logs,
}: {
  run_summary: Pick<Report['run_summary'], 'not_run'>;
  action_logs: readonly unknown[];
}): string | null {
  const { not_run: left } = run_summary;
  if (left === undefined) return null;
  return `${left.length} of ${countOf(action_logs.length, 'action')} ${left.length === 1 ? 'was' : 'were'} not run`;
}
