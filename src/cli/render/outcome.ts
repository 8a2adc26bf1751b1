/** Renders a plan's outcome for the user: status, actions, restored files, decisions. */
import { describeNotRun, type ActionLog, type Report } from '../../plan/report/report.ts';
import { formatDuration } from '../../session/spending/describe-spending.ts';
import type { Style, Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

const statusStyles: Record<string, Style> = {
  SUCCESS: 'green',
  FAILURE: 'red',
  VALIDATION_FAILED: 'red',
  ABORTED: 'yellow',
  SKIPPED: 'yellow',
};

/** Returns lines without indentation. */
export function renderOutcome(terminal: Terminal, report: Report): string[] {
  return [
    ...renderSummary(terminal, report),
    ...report.action_logs.flatMap((log) => renderLog(terminal, log)),
    ...report.validation_errors.map(
      ({ line, column, message, hint }) =>
        `plan.md:${line}:${column}: ${toVisible(message)}${hint === undefined ? '' : ` (${toVisible(hint)})`}`,
    ),
    ...renderMemos(report),
    ...renderRollback(terminal, report),
  ];
}

/** Renders the summary. The user's reason may have several lines. */
function renderSummary(terminal: Terminal, report: Report): string[] {
  const { status, error, start_time: start, end_time: end } = report.run_summary;
  const took = formatDuration(Math.max(Date.parse(end) - Date.parse(start), 0));
  const told = error ?? describeNotRun(report);
  const [why, ...more] = told === null ? [] : toVisible(told).trimEnd().split('\n');
  const head = `${styleStatus(terminal, status)} ${terminal.style('dim', `in ${took}`)}`;
  return [why === undefined ? head : `${head}: ${why}`, ...more.map((line) => `  ${line}`)];
}

export function styleStatus(terminal: Terminal, status: string): string {
  return terminal.style(statusStyles[status] ?? 'bold', status);
}

const shownLines = 10;

/** Returns one line; for a failed command, also the place of the failure and the end of its output. */
function renderLog(terminal: Terminal, log: ActionLog): string[] {
  const { index, action_type: type, status, details } = log;
  const more = [
    ...(details?.return_code === undefined || details.return_code === 0 ? [] : [`exit ${details.return_code}`]),
    ...(details?.timed_out ? ['timed out'] : []),
    ...(log.duration_ms === undefined ? [] : [formatDuration(log.duration_ms)]),
    ...(log.modified_by_user ? ['changed by the user'] : []),
  ];
  const notes = more.length === 0 ? '' : terminal.style('dim', ` ${more.join(', ')}`);
  const reason = details?.reason === undefined ? '' : ` (${toVisible(details.reason)})`;
  const line = `${index}. ${type} ${toVisible(targetOf(log))}: ${styleStatus(terminal, status)}${notes}${reason}`;
  const restored = (details?.restored ?? []).map((path) => `put back as it was before the command: ${path}`);
  return [line, ...[...restored, ...lastOutput(log)].map((text) => terminal.style('dim', `   ${toVisible(text)}`))];
}

/** Returns an action's target: a path, or the first line of a command. */
function targetOf({ params }: Pick<ActionLog, 'params'>): string {
  const [first = ''] = Object.values(params);
  return (typeof first === 'object' ? '' : String(first)).split('\n')[0] ?? '';
}

function lastOutput({ status, details }: ActionLog): string[] {
  if (status !== 'FAILURE' || details === undefined) return [];
  const said = (details.stderr?.trim() ? details.stderr : (details.stdout ?? '')).trimEnd();
  const note = details.note === undefined ? [] : [details.note];
  return [...(said === '' ? [] : said.split('\n').slice(-shownLines)), ...note];
}

function renderMemos({ memos }: Report): string[] {
  const list = (what: string, facts: string[]) => facts.map((fact) => `memo ${what}: ${toVisible(fact)}`);
  return [
    ...list('added', memos.added),
    ...list('removed', memos.removed),
    ...list('not taken', memos.rejected),
    ...list('waits for you', memos.proposed ?? []),
  ];
}

function renderRollback(terminal: Terminal, { rollback }: Report): string[] {
  if (rollback === undefined) return [];
  return [
    ...rollback.restored.map((path) => `rolled back: ${toVisible(path)}`),
    ...rollback.left.map(
      ({ path, reason }) => `${terminal.style('yellow', 'left unchanged:')} ${toVisible(`${path} (${reason})`)}`,
    ),
    ...rollback.moved_aside.map((path) => `kept aside: ${toVisible(path)}`),
  ];
}
