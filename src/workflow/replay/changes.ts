/** The changes of a report against those of its commit: the same, and each made by one action that can have made it. */
import { writtenPath } from '../../plan/actions/actions.ts';
import type { Action } from '../../plan/plan.ts';
import type { ReportedChange } from '../../plan/report.ts';
import type { CommitChange } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import { runsScripts, wasRun, type Findings, type RecordedRun } from './turn.ts';

export function compareChanges(run: RecordedRun, findings: Findings): void {
  for (const path of new Set([...run.changes.keys(), ...run.rows.keys()])) {
    const [row, change] = [run.rows.get(path), run.changes.get(path)];
    const action = row?.action ?? null;
    if (row === undefined) {
      const message = `The commit changes ${path}, and no action of the report explains it.`;
      findings.differ({ path, action: findWriter(run, path) }, message);
    } else if (change === undefined)
      findings.differ({ action, path }, `The report says that ${path} was changed, and the commit does not change it.`);
    else if (!isSameChange(row, change))
      findings.differ(
        { action, path },
        `The report and the commit do not say the same of ${path}: ${describe(row, change)}.`,
      );
    else if (!isPlanned(run, row) && !hasToldMode(row, change))
      findings.differ({ action, path }, `${path} has the mode ${change.mode}, which the report does not say.`);
  }
  if (run.rows.size !== run.report.changes.length)
    findings.differ({}, 'The report lists a path twice among its changes.');
  for (const row of run.report.changes) refuseUnexplained(run, row, findings);
}

function isSameChange(row: ReportedChange, change: CommitChange): boolean {
  return row.change === change.change && row.before === change.before && row.after === change.after;
}

/** Whether the plan says what becomes of the file, its mode as well. */
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

/** A file that the plan writes through a link is reported where it lies: that is compared with the content. */
function refuseUnexplained({ parsed, logs }: RecordedRun, { action, path }: ReportedChange, findings: Findings): void {
  const made: Action | undefined = parsed.plan.actions[action - 1];
  if (made === undefined)
    findings.differ(
      { path },
      `The report says that action ${action} changed ${path}, and the plan has no such action.`,
    );
  else if (!wasRun(logs.get(action)))
    findings.differ({ action, path }, `Action ${action} was skipped, and the report says that it changed ${path}.`);
  else if (!runsScripts(made) && writtenPath(made) === null)
    findings.differ(
      { action, path },
      `Action ${action} (${made.type}) changes no file, and the report says that it changed ${path}.`,
    );
}
