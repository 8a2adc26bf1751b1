/** Renders a report as one YAML document. Apart from `report.ts`, so that reading a status does not load the package for YAML. */
import { Document, Scalar, visit } from 'yaml';
import type { ActionDetails, ActionLog, Report, ReportedRollback } from './report.ts';

/** Keys stand in a fixed order, lines are never folded, and every string is read back exactly. Ends with a newline. */
export function renderReport(report: Report): string {
  // Strings that YAML 1.1 takes for something else (`yes`, dates) are quoted for readers of that version.
  const document = new Document(inOrder(report), { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, { Scalar: (_, scalar) => chooseStyle(scalar) });
  // Without a width nothing is folded, and text of several lines is a literal block.
  return document.toString({ doubleQuotedAsJSON: true, lineWidth: 0 });
}

/** Blocks of white space alone do not survive the YAML package. */
function chooseStyle(scalar: Scalar): void {
  if (typeof scalar.value === 'string' && /^\s*$/.test(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
}

/** Parameters stay in the order of the plan. */
function inOrder(report: Report): object {
  const { version, session, turn, plan, run_summary, memos, action_logs, rollback, changes, validation_errors } =
    report;
  return {
    version,
    session,
    turn,
    plan: pick(plan, ['title', 'sha256', 'grammar', 'agent', 'model']),
    run_summary: pick(run_summary, ['status', 'start_time', 'end_time', 'error', 'not_run']),
    memos: pick(memos, ['added', 'removed', 'rejected', 'proposed']),
    action_logs: action_logs.map(logInOrder),
    ...(rollback === undefined ? {} : { rollback: rollbackInOrder(rollback) }),
    changes: changes.map((change) => pick(change, ['path', 'change', 'before', 'after', 'mode', 'action'])),
    validation_errors: validation_errors.map((problem) =>
      pick(problem, ['line', 'column', 'action', 'message', 'hint']),
    ),
  };
}

function rollbackInOrder({ restored, left, moved_aside }: ReportedRollback): object {
  return { restored, left: left.map((one) => pick(one, ['path', 'reason'])), moved_aside };
}

function logInOrder({ details, ...log }: ActionLog): object {
  const head = pick(log, [
    'index',
    'action_type',
    'status',
    'params',
    'approved_by',
    'modified_by_user',
    'duration_ms',
    'tree',
  ]);
  return details === undefined ? head : { ...head, details: pick(details, detailKeys) };
}

const detailKeys: (keyof ActionDetails)[] = [
  'reason',
  'comment',
  'match',
  'line',
  'matches',
  'return_code',
  'failed_command',
  'failed_line',
  'stdout',
  'stderr',
  'timed_out',
  'truncated',
  'note',
  'searches',
  'output_file',
  'restored',
  'url',
  'final_url',
  'content_type',
  'bytes',
  'masked',
  'page_file',
  'answer',
];

/** Absent keys stay absent. */
function pick<T extends object>(source: T, keys: (keyof T & string)[]): object {
  return Object.fromEntries(keys.filter((key) => source[key] !== undefined).map((key) => [key, source[key]]));
}
