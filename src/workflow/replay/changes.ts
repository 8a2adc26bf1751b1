/** Compares a report's changes with its commit's, and checks that each could come from its action. */
import { writtenPath, toParams } from '../../plan/actions/actions.ts';
import type { Action } from '../../plan/plan.ts';
import type { ReportedChange, ActionLog } from '../../plan/report/report.ts';
import type { CommitChange } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import { runsScripts, wasRun, type Findings, type RecordedRun } from './turn.ts';

export function compareChanges(run: RecordedRun, findings: Findings): void {
  for (const path of new Set([...run.changes.keys(), ...run.rows.keys()])) {
    const [row, change] = [run.rows.get(path), run.changes.get(path)];
    const action = row?.action ?? null;
    if (row === undefined) {
      const message = `The commit changes ${path}, but no action in the report explains it.`;
      findings.differ({ path, action: findWriter(run, path) }, message);
    } else if (change === undefined)
      findings.differ({ action, path }, `The report says that ${path} was changed, but the commit does not change it.`);
    else if (!isSameChange(row, change))
      findings.differ({ action, path }, `The report and the commit disagree about ${path}: ${describe(row, change)}.`);
    else if (!isPlanned(run, row) && !hasToldMode(row, change))
      findings.differ({ action, path }, `${path} has the mode ${change.mode}, which the report does not record.`);
  }
  if (run.rows.size !== run.report.changes.length)
    findings.differ({}, 'The report lists a path twice among its changes.');
  for (const row of run.report.changes) refuseUnexplained(run, row, findings);
}

function isSameChange(row: ReportedChange, change: CommitChange): boolean {
  return row.change === change.change && row.before === change.before && row.after === change.after;
}

/** Returns true if the plan determines the file's content and mode. */
function isPlanned({ parsed, logs }: RecordedRun, { action }: ReportedChange): boolean {
  const planned = parsed.plan.actions[action - 1];
  return planned !== undefined && writtenPath(planned) !== null && logs.get(action)?.modified_by_user !== true;
}

function hasToldMode({ mode: told }: ReportedChange, { mode, oldMode }: CommitChange): boolean {
  return told === undefined ? mode === null || mode === '100644' || mode === oldMode : mode === told;
}

function describe(row: ReportedChange, { change, before, after }: CommitChange): string {
  const show = (kind: string, from: string | null, to: string | null) =>
    `${kind} ${from?.slice(0, 10) ?? 'nothing'} -> ${to?.slice(0, 10) ?? 'nothing'}`;
  return `${show(row.change, row.before, row.after)} there, ${show(change, before, after)} here`;
}

function findWriter({ parsed }: RecordedRun, path: RepoPath): number | null {
  return parsed.plan.actions.findLast((action) => writtenPath(action) === path)?.index ?? null;
}

/** For a file that the plan writes through a link, the report contains the real path, so teddy compares its content. */
function refuseUnexplained({ parsed, logs }: RecordedRun, { action, path }: ReportedChange, findings: Findings): void {
  const made: Action | undefined = parsed.plan.actions[action - 1];
  if (made === undefined)
    findings.differ(
      { path },
      `The report says that action ${action} changed ${path}, but the plan has no such action.`,
    );
  else if (!wasRun(logs.get(action)))
    findings.differ({ action, path }, `Action ${action} was skipped, but the report says that it changed ${path}.`);
  else if (!runsScripts(made) && writtenPath(made) === null)
    findings.differ(
      { action, path },
      `Action ${action} (${made.type}) changes no files, but the report says that it changed ${path}.`,
    );
}

/** Compares a report's statements about the actions with the plan, and with each other. */
export function compareLogs(run: RecordedRun, findings: Findings): void {
  const { parsed, report, logs } = run;
  const { actions } = parsed.plan;
  if (report.plan.title !== parsed.plan.title) findings.differ({}, 'The title in the report does not match the plan.');
  if (logs.size !== report.action_logs.length) findings.differ({}, 'The report lists an action twice.');
  for (const index of logs.keys()) {
    if (!actions.some((action) => action.index === index))
      findings.differ({ action: index }, `The report lists action ${index}, which the plan does not have.`);
  }
  for (const action of actions) compareLog(action, logs.get(action.index), findings);
  const contradiction = findContradiction(run);
  if (contradiction !== null) findings.differ({}, contradiction);
}

function compareLog(action: Action, log: ActionLog | undefined, findings: Findings): void {
  const { index, type } = action;
  if (log === undefined)
    return findings.differ({ action: index }, `The report does not list action ${index} (${type}).`);
  if (log.action_type !== type)
    return findings.differ(
      { action: index },
      `The report calls action ${index} ${log.action_type}; the plan says ${type}.`,
    );
  const [told, planned] = [log.params, toParams(action)];
  // If the user edited the command, the report has the edited version.
  const isEdited = (key: string) => log.modified_by_user === true && key === 'command';
  const key = [...new Set([...Object.keys(told), ...Object.keys(planned)])].find(
    (one) => !isEdited(one) && JSON.stringify(told[one]) !== JSON.stringify(planned[one]),
  );
  if (key !== undefined)
    findings.differ(
      { action: index },
      `\`${key}\` of action ${index} (${type}) differs between the report and the plan.`,
    );
  const { return_code: exitCode } = log.details ?? {};
  if (type === 'EXECUTE' && log.status === 'SUCCESS' && exitCode !== 0)
    findings.differ(
      { action: index },
      `Action ${index} has the status SUCCESS and the exit code ${exitCode ?? '(none)'}.`,
    );
  if (type === 'EXECUTE' && log.status === 'FAILURE' && exitCode === 0 && log.details?.reason === undefined)
    findings.differ({ action: index }, `Action ${index} has the status FAILURE and the exit code 0.`);
}

/** Checks that the run's status follows from its actions' statuses. */
function findContradiction({ report, parsed }: RecordedRun): string | null {
  const { run_summary: summary, action_logs: logs, validation_errors: problems, changes } = report;
  const isSkipped = logs.every(({ status }) => status === 'SKIPPED');
  const says = `The report's status is ${summary.status}`;
  switch (summary.status) {
    case 'VALIDATION_FAILED':
      if (problems.length === 0) return `${says}, but it lists no problem in the plan.`;
      return isSkipped && changes.length === 0 ? null : `${says}, but something was done.`;
    case 'SKIPPED':
      return isSkipped && logs.length > 0 ? null : `${says}, but something was done.`;
    case 'SUCCESS': {
      if (isSkipped && logs.length > 0) return `${says}, but nothing was done.`;
      const bad = logs.find(({ status, index }) => {
        const action = parsed.plan.actions[index - 1];
        const isAllowed = action?.type === 'EXECUTE' && action.allowFailure;
        return status === 'ABORTED' || (status === 'FAILURE' && !isAllowed);
      });
      return bad === undefined ? null : `${says}, but action ${bad.index} has the status ${bad.status}.`;
    }
    case 'FAILURE':
    case 'ABORTED':
      return summary.error === null ? `${says}, but it names no error.` : null;
  }
}
