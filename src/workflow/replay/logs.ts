/** Compares a report's words about the actions with the plan, and with each other. */
import type { Action } from '../../plan/plan.ts';
import type { ActionLog } from '../../plan/report.ts';
import { toParams } from '../../plan/actions/actions.ts';
import type { Findings, RecordedRun } from './turn.ts';

export function compareLogs(run: RecordedRun, findings: Findings): void {
  const { parsed, report, logs } = run;
  const { actions } = parsed.plan;
  if (report.plan.title !== parsed.plan.title) findings.differ({}, 'The title in the report is not that of the plan.');
  if (logs.size !== report.action_logs.length) findings.differ({}, 'The report tells of an action twice.');
  for (const index of logs.keys()) {
    if (!actions.some((action) => action.index === index))
      findings.differ({ action: index }, `The report tells of action ${index}, which the plan does not have.`);
  }
  for (const action of actions) compareLog(action, logs.get(action.index), findings);
  const contradiction = findContradiction(run);
  if (contradiction !== null) findings.differ({}, contradiction);
}

function compareLog(action: Action, log: ActionLog | undefined, findings: Findings): void {
  const { index, type } = action;
  if (log === undefined)
    return findings.differ({ action: index }, `The report does not tell of action ${index} (${type}).`);
  if (log.action_type !== type)
    return findings.differ(
      { action: index },
      `The report calls action ${index} ${log.action_type}; the plan says ${type}.`,
    );
  const [told, planned] = [log.params, toParams(action)];
  // The report has the command that was run, if the user edited it.
  const isEdited = (key: string) => log.modified_by_user === true && key === 'command';
  const key = [...new Set([...Object.keys(told), ...Object.keys(planned)])].find(
    (one) => !isEdited(one) && JSON.stringify(told[one]) !== JSON.stringify(planned[one]),
  );
  if (key !== undefined)
    findings.differ({ action: index }, `\`${key}\` of action ${index} (${type}) is not in the report as in the plan.`);
  const { return_code: exitCode } = log.details ?? {};
  if (type === 'EXECUTE' && log.status === 'SUCCESS' && exitCode !== 0)
    findings.differ(
      { action: index },
      `Action ${index} has the status SUCCESS and the exit code ${exitCode ?? '(none)'}.`,
    );
  if (type === 'EXECUTE' && log.status === 'FAILURE' && exitCode === 0 && log.details?.reason === undefined)
    findings.differ({ action: index }, `Action ${index} has the status FAILURE and the exit code 0.`);
}

/** How the status of the run follows from those of its actions. */
function findContradiction({ report, parsed }: RecordedRun): string | null {
  const { run_summary: summary, action_logs: logs, validation_errors: problems, changes } = report;
  const isSkipped = logs.every(({ status }) => status === 'SKIPPED');
  const says = `The report's status is ${summary.status}`;
  switch (summary.status) {
    case 'VALIDATION_FAILED':
      if (problems.length === 0) return `${says}, and it has no problem of the plan.`;
      return isSkipped && changes.length === 0 ? null : `${says}, and something was done.`;
    case 'SKIPPED':
      return isSkipped && logs.length > 0 ? null : `${says}, and something was done.`;
    case 'SUCCESS': {
      if (isSkipped && logs.length > 0) return `${says}, and nothing was done.`;
      const bad = logs.find(({ status, index }) => {
        const action = parsed.plan.actions[index - 1];
        const isAllowed = action?.type === 'EXECUTE' && action.allowFailure;
        return status === 'ABORTED' || (status === 'FAILURE' && !isAllowed);
      });
      return bad === undefined ? null : `${says}, and action ${bad.index} has the status ${bad.status}.`;
    }
    case 'FAILURE':
    case 'ABORTED':
      return summary.error === null ? `${says}, and it names no error.` : null;
  }
}
