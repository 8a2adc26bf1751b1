/** Checks that a report agrees with its commit. */
import { TeddyError } from '../../errors.ts';
import { labelReport } from '../line/entry-labels.ts';
import type { Report, ReportedChange } from '../../plan/report/report.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import type { CommitChange } from '../../ports/git.ts';
import { encodeEntry, labelLimits, toLabel } from '../../session/entries/entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { joinPath, turnDir, type RepoPath } from '../../names.ts';
import { toText } from '../../view/view.ts';
import type { Step, WalkedLine } from './walked-line.ts';

export async function checkReport(walk: WalkedLine, step: Step): Promise<void> {
  const { entry, commit, blame } = step;
  if (entry.kind !== 'report' || entry.turn === null) return;
  const path = joinPath(turnDir(walk.session, entry.turn), 'report.md');
  const content = await commit.contents.get(path)?.read();
  if (content === undefined) return blame('report', path, 'A report entry contains no report.');
  if (content.kind !== 'bytes') return;
  const report = readReport(toText(content.bytes), (message) => blame('schema', path, message));
  if (report === null) return;
  for (const message of compare(walk, step, report)) blame('report', path, message);
  for (const message of compareLabels(walk, step, report)) blame('trailers', null, message);
  for (const { at, message } of compareChanges(report.changes, commit.changes)) blame('report', at, message);
}

/** Returns null after reporting an unreadable report. */
export function readReport(text: string, blame: (message: string) => void): Report | null {
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
    ...(report.session === session ? [] : [`The report is for session ${report.session}.`]),
    ...(report.turn === entry.turn ? [] : [`The report is for turn ${report.turn}.`]),
    ...(status === entry.status
      ? []
      : [`The report says ${status}, but Teddy-Status says ${entry.status ?? 'nothing'}.`]),
    ...(plan === null || project.hash(plan) === report.plan.sha256
      ? []
      : ["The report does not belong to this turn's plan."]),
  ];
}

/** Returns faults for labels on the line that disagree with the report. */
function compareLabels({ current }: WalkedLine, { commit, entry }: Step, report: Report): string[] {
  const { agent, title, model } = report.plan;
  const written = current?.turn === entry.turn ? current.planEntry : undefined;
  const label = (text: string | null | undefined) => (text == null ? null : toLabel(text, labelLimits.title));
  // A text masked in the label or the report may be masked differently in the other.
  const isMasked = [commit.commit.message, title, written?.title].some((text) => text?.includes('[masked'));
  const isPlanned =
    written === undefined ||
    (label(written.title) === label(title) &&
      label(written.agent) === label(agent) &&
      label(written.model) === label(model));
  const again = encodeEntry({ ...entry, ...labelReport(report) });
  return [
    ...(isMasked || withoutTrailers(again) === withoutTrailers(commit.commit.message)
      ? []
      : ["The entry's message does not match the report."]),
    ...(label(entry.agent) === label(agent) ? [] : ["Teddy-Agent does not match the report's agent."]),
    ...(isMasked || isPlanned ? [] : ["The report's title, agent or model does not match the entry of its plan."]),
  ];
}

function withoutTrailers(message: string): string {
  return message.trimEnd().split('\n\n').slice(0, -1).join('\n\n');
}

interface Difference {
  at: RepoPath;
  message: string;
}

/** Compares the changes, which must affect exactly the same files, from the same content to the same content. */
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
  { path: at, change, before, after, mode }: ReportedChange,
  made: CommitChange | undefined,
): Difference[] {
  if (made === undefined) return [{ at, message: 'The report names a change that the commit does not make.' }];
  if (made.change !== change) return [{ at, message: `The report says ${change}, but the file is ${made.change}.` }];
  if (made.before !== before)
    return [{ at, message: 'The report records different content for the file before the run.' }];
  if (made.after !== after)
    return [{ at, message: 'The report records different content for the file after the run.' }];
  const isSame = mode === undefined ? made.mode === made.oldMode || isPlain(made) : made.mode === mode;
  return isSame ? [] : [{ at, message: `The file has the mode ${made.mode}, which the report does not record.` }];
}

function isPlain({ mode }: CommitChange): boolean {
  return mode === null || mode === '100644';
}
