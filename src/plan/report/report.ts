/**
 * A plan's outcome, as recorded in `report.md`, with the file's names and order. teddy uses this table to write, check
 * and describe reports.
 */
import { isSessionId, isTurnName, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { actionDetails, param } from '../effects/action-details.ts';
import { actionNames } from '../actions/actions.ts';
import { boolean, integer, list, nullable, number, object, oneOf, optional, record, text } from '../effects/fields.ts';
import type { ValueOf } from '../effects/fields.ts';
import { runStatuses } from '../../session/entries/entry-trailers.ts';

const texts = list(text());
const paths = list(text<RepoPath>());
const position = integer(1);
const oid = text<Oid>(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const sha256 = text(/^[0-9a-f]{64}$/);
/** ISO 8601, in UTC, with milliseconds. */
const time = text(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/**
 * `sha256` is the hash of the plan's bytes. `grammar` is the version that parsed the plan; reports written before
 * versions existed lack it, which means 1.
 */
const plan = object({
  title: text(),
  sha256,
  grammar: optional(position),
  agent: nullable(text()),
  model: nullable(text()),
});

const runSummary = object({
  status: oneOf(...runStatuses),
  start_time: time,
  end_time: time,
  error: nullable(text()),
  /** With SUCCESS: the indexes of the actions that the user did not choose. */
  not_run: optional(list(position)),
});

const memos = object({
  added: texts,
  removed: texts,
  rejected: texts,
  /** True when the user was asked about `rejected` and said no. Older reports lack it, and do not tell. */
  asked: optional(boolean),
  /** Memos proposed when no user was available; they wait for the user. */
  proposed: optional(texts),
});
export type ReportedMemos = ValueOf<typeof memos>;

const actionLog = object({
  /** Counted from 1, in plan order. */
  index: position,
  action_type: oneOf(...actionNames),
  status: oneOf('SUCCESS', 'FAILURE', 'SKIPPED', 'ABORTED'),
  /** In plan order. */
  params: record(param),
  /** `flag`: approved by `-y`. */
  approved_by: optional(oneOf('user', 'flag', 'none')),
  modified_by_user: optional(boolean),
  duration_ms: optional(number(0)),
  /**
   * The ID of git's tree after an action that may change files: the code, without `.teddy/`, that this report's commit
   * would have contained at that point. Absent when teddy could not determine the tree, and in older reports.
   */
  tree: optional(oid),
  details: optional(actionDetails),
});
export type ActionLog = ValueOf<typeof actionLog>;

/** The files that teddy restored after a failure, and the files that it could not restore. */
const rollback = object({
  restored: paths,
  left: list(object({ path: text<RepoPath>(), reason: text() })),
  /** Files that somebody else had changed since the action; teddy saved their content outside the work tree. */
  moved_aside: paths,
});
export type ReportedRollback = ValueOf<typeof rollback>;

const change = object({
  path: text<RepoPath>(),
  change: oneOf('added', 'modified', 'deleted'),
  before: nullable(oid),
  after: nullable(oid),
  /** git's mode after the run, unless that is a plain file's mode (100644). */
  mode: optional(oneOf('100755', '120000', '160000')),
  /** The index of the action that made the change. */
  action: position,
});
export type ReportedChange = ValueOf<typeof change>;

/** See `Problem`. */
const problem = object({
  line: position,
  column: position,
  action: optional(position),
  message: text(),
  hint: optional(text()),
});

export const reportFields = object({
  version: oneOf(1),
  session: text<SessionId>(isSessionId),
  turn: text<TurnName>(isTurnName),
  plan,
  run_summary: runSummary,
  memos,
  action_logs: list(actionLog),
  rollback: optional(rollback),
  changes: list(change),
  validation_errors: list(problem),
});
export interface Report extends ValueOf<typeof reportFields> {}

/** Returns text such as `1 of 2 actions was not run`; null when all actions ran, or the error already states the reason. */
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
