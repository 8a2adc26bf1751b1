/** Whether a report says what its commit did. */
import { TeddyError } from '../../errors.ts';
import type { Report, ReportedChange } from '../../plan/report.ts';
import { parseReport } from '../../plan/report-schema.ts';
import type { CommitChange } from '../../ports.ts';
import { isSessionPath } from '../../session/global-files.ts';
import { joinPath, turnDir, type RepoPath } from '../../session/names.ts';
import { toText } from '../read-line.ts';
import type { Step, WalkedLine } from './walked-line.ts';

export async function checkReport(walk: WalkedLine, step: Step): Promise<void> {
  const { entry, commit, blame } = step;
  if (entry.kind !== 'report' || entry.turn === null) return;
  const path = joinPath(turnDir(walk.session, entry.turn), 'report.md');
  const content = await commit.contents.get(path);
  if (content === undefined) return blame('report', path, 'An entry of the kind report brings no report.');
  if (content.kind !== 'bytes') return;
  const report = readReport(toText(content.bytes), (message) => blame('schema', path, message));
  if (report === null) return;
  for (const message of compare(walk, step, report)) blame('report', path, message);
  for (const { at, message } of compareChanges(report.changes, commit.changes)) blame('report', at, message);
}

function readReport(text: string, blame: (message: string) => void): Report | null {
  try {
    return parseReport(text);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    blame(error.message);
    return null;
  }
}

function compare({ session, current, project }: WalkedLine, { entry }: Step, report: Report): string[] {
  const { status } = report.run_summary;
  const plan = current?.turn === entry.turn ? current.plan : null;
  return [
    ...(report.session === session ? [] : [`The report is of the session ${report.session}.`]),
    ...(report.turn === entry.turn ? [] : [`The report is of turn ${report.turn}.`]),
    ...(status === entry.status ? [] : [`The report says ${status}, and Teddy-Status ${entry.status ?? 'nothing'}.`]),
    ...(plan === null || project.hash(plan) === report.plan.sha256
      ? []
      : ['The report is not of the plan of this turn.']),
  ];
}

interface Difference {
  at: RepoPath;
  message: string;
}

/** Exactly the same files, from the same content to the same content. */
function compareChanges(reported: readonly ReportedChange[], made: readonly CommitChange[]): Difference[] {
  const code = new Map(made.filter(({ path }) => !isSessionPath(path)).map((change) => [change.path, change]));
  const named = new Set(reported.map(({ path }) => path));
  return [
    ...(named.size === reported.length
      ? []
      : reported.slice(0, 1).map(({ path }) => ({ at: path, message: 'The report names a file twice.' }))),
    ...reported.flatMap((change) => compareChange(change, code.get(change.path))),
    ...[...code.keys()]
      .filter((path) => !named.has(path))
      .map((at) => ({ at, message: 'The commit changes a file that the report does not name.' })),
  ];
}

function compareChange(
  { path: at, change, before, after }: ReportedChange,
  made: CommitChange | undefined,
): Difference[] {
  if (made === undefined) return [{ at, message: 'The report names a change that the commit does not make.' }];
  if (made.change !== change) return [{ at, message: `The report says ${change}, and the file is ${made.change}.` }];
  if (made.before !== before) return [{ at, message: 'The report has another content of the file before the run.' }];
  return made.after === after ? [] : [{ at, message: 'The report has another content of the file after the run.' }];
}
