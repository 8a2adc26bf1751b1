/** Renders the result of `teddy execute` after the turn closes, for the user and for a program. */
import { exitCodes } from '../../errors.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { describeNotRun } from '../../plan/report/report.ts';
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { ExecutedOrReplanned, ReplanStop } from '../../workflow/run/execute-or-replan.ts';
import type { Executed } from '../../workflow/run/finish.ts';
import type { RolledBackRun } from '../../workflow/run/settle.ts';
import { showProblems } from './problems.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

/** Returns the last execution; `tries` are the earlier plans, all of them invalid. */
export function toExecutedJson({ executed, tries, stopped }: ExecutedOrReplanned): object {
  const { line, report, commit, leftOut } = executed;
  return {
    session: line.session,
    line: shortRef(line.ref),
    turn: report.turn,
    commit,
    status: report.run_summary.status,
    report,
    leftOut,
    tries: tries.map((earlier) => ({
      turn: earlier.report.turn,
      commit: earlier.commit,
      status: earlier.report.run_summary.status,
      problems: earlier.report.validation_errors,
    })),
    replanStopped: stopped && { reason: stopped.reason, message: describeStop(stopped) },
  };
}

export function showExecuted(terminal: Terminal, { line, report, commit, leftOut }: Executed): void {
  const { status, error } = report.run_summary;
  showProblems(terminal, report.validation_errors);
  for (const { path, reason } of leftOut)
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} ${toVisible(path)} is not in the commit: ${reason}.`,
    );
  if (report.rollback) {
    const { restored } = report.rollback;
    terminal.say(`Rolled back: restored ${countOf(restored.length, 'file')}.`);
  }
  const changed = report.changes.length;
  const files = `${countOf(changed, 'file')} changed`;
  const why = error === null ? describeNotRun(report) : (describeError(report) ?? error);
  const tone = status !== 'SUCCESS' ? 'red' : why === null ? 'green' : 'yellow';
  terminal.print(
    `${terminal.style(tone, status)} turn ${report.turn} of ${line.session}: ${files}, report ${commit.slice(0, 10)}${why === null ? '' : `: ${toVisible(why)}`}\n`,
  );
}

/** Returns, for example, `action 2 of 3, EXECUTE, failed`, or null when no action explains the status. */
function describeError({ run_summary, action_logs: logs }: Executed['report']): string | null {
  const failed = logs.find(({ status }) => status === 'FAILURE');
  if (failed === undefined || !run_summary.error?.startsWith('action ')) return null;
  return `action ${failed.index} of ${logs.length}, ${failed.action_type}, failed`;
}

export function toRolledBackJson({ session, turn, restored, left, aside }: RolledBackRun): object {
  return { session, turn, restored, left, movedAside: aside };
}

export function showRolledBack(
  terminal: Terminal,
  { session, turn, restored }: RolledBackRun,
  selector: string | undefined,
): void {
  const option = selector === undefined ? '' : ` -s ${toShellWord(selector)}`;
  terminal.print(`Rolled back turn ${turn} of ${session}: restored ${countOf(restored.length, 'file')}.\n`);
  terminal.say(`The plan is pending again: teddy execute${option}`);
}

/** Suggests what the user can do after the last execution. `option` names the line in a command. */
export function showNext(
  terminal: Terminal,
  { executed, stopped }: ExecutedOrReplanned,
  { namesNext, option }: { namesNext: boolean; option: string },
): void {
  const { report, commit } = executed;
  if (stopped) showStop(terminal, stopped);
  const isSuccess = report.run_summary.status === 'SUCCESS';
  if (isSuccess) terminal.say(`See it: git show ${commit.slice(0, 10)}`);
  const goesOn = isSuccess ? namesNext : stopped?.reason === 'no_plan';
  if (!goesOn && !isSuccess) terminal.say('The model sees the report with your next message.');
  if (goesOn || !isSuccess) terminal.say(`Next: teddy plan${option} -m "..."`);
}

function showStop(terminal: Terminal, stopped: ReplanStop): void {
  const label = terminal.style('yellow', 'warning:', 'stderr');
  terminal.say(`${label} ${toVisible(describeStop(stopped))}`);
  if (stopped.reason !== 'budget_spent' || stopped.error.hint === undefined) return;
  terminal.say(`         ${toVisible(stopped.error.hint)}`);
}

function describeStop(stopped: ReplanStop): string {
  switch (stopped.reason) {
    case 'limit': {
      const { maxTries } = stopped;
      const plans = maxTries === 1 ? '1 other plan' : `${maxTries} other plans`;
      return `teddy asked for ${plans}, as many as --replan allows, and the last one is not valid either.`;
    }
    case 'same_problems':
      return 'The same problems occurred twice, so teddy did not ask for another plan.';
    case 'budget_spent':
      return `teddy did not ask for another plan: ${stopped.error.message}`;
    case 'no_plan':
      return `The answer in turn ${stopped.turn} has nothing to run, so it is not another plan.`;
  }
}

/** Rejecting a plan is a success, because the user asked for it. */
export function toExitCode({ report }: Executed, isRejected: boolean): number {
  const { status, error } = report.run_summary;
  if (status === 'SUCCESS' || isRejected) return 0;
  if (status === 'SKIPPED') return exitCodes.NOT_APPROVED;
  if (status === 'ABORTED') return error === 'interrupted' ? exitCodes.INTERRUPTED : exitCodes.NOT_APPROVED;
  return exitCodes.ACTION_FAILED;
}
