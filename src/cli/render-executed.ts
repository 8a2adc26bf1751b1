/** What `session execute` says when the turn is closed, for a person and for a program. */
import { exitCodes } from '../errors.ts';
import type { Executed } from '../workflow/finish-run.ts';
import { toVisible, type Terminal } from './terminal.ts';

export function toExecutedJson({ line, report, commit, leftOut }: Executed): object {
  return {
    session: line.session,
    turn: report.turn,
    commit,
    status: report.run_summary.status,
    report,
    left_out: leftOut,
  };
}

export function showExecuted(terminal: Terminal, { line, report, commit, leftOut }: Executed): void {
  const { status, error } = report.run_summary;
  for (const { line: at, column, message, hint } of report.validation_errors) {
    terminal.say(`${terminal.style('red', 'plan.md', 'stderr')}:${at}:${column}: ${toVisible(message)}`);
    if (hint !== undefined) terminal.say(`         ${toVisible(hint)}`);
  }
  for (const { path, reason } of leftOut)
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} ${toVisible(path)} is not in the commit: ${reason}.`,
    );
  const changed = report.changes.length;
  const files = `${changed} ${changed === 1 ? 'file' : 'files'} changed`;
  terminal.print(
    `${terminal.style(status === 'SUCCESS' ? 'green' : 'red', status)} turn ${report.turn} of ${line.session}: ${files}, report ${commit.slice(0, 10)}${error === null ? '' : ` (${toVisible(error)})`}\n`,
  );
  terminal.say(
    status === 'SUCCESS'
      ? `See it: git show ${commit.slice(0, 10)}`
      : 'Next: teddy session plan -m "..." tells the model; it sees the report.',
  );
}

/** To reject a plan is what was asked for. */
export function toExitCode({ report }: Executed, isRejected: boolean): number {
  const { status, error } = report.run_summary;
  if (status === 'SUCCESS' || isRejected) return 0;
  if (status === 'SKIPPED') return exitCodes.NOT_APPROVED;
  if (status === 'ABORTED') return error === 'interrupted' ? exitCodes.INTERRUPTED : exitCodes.NOT_APPROVED;
  return exitCodes.ACTION_FAILED;
}
