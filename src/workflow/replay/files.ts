/** Compares the files that a plan writes in the replay with the files in the report's commit. */
import { equalBytes } from '../../session/text/bytes.ts';
import { writtenPath } from '../../plan/actions/actions.ts';
import { renderUnifiedDiff } from '../../plan/match/diff.ts';
import type { Action } from '../../plan/plan.ts';
import type { CommitChange } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import { inspectTree } from '../line/inspect-tree.ts';
import { foreignReason, whyUnsure, type RedoneActions, type WrittenFile } from './actions.ts';
import { cutDiff, compareContent, findConversions } from './content.ts';
import { isConverted, whyNotTaken } from './rules.ts';
import type { Findings, RecordedRun } from './turn.ts';

export async function compareFiles(run: RecordedRun, redone: RedoneActions, findings: Findings): Promise<void> {
  for (const file of redone.written.values()) await compareFile(run, redone, file, findings);
  for (const { index } of run.report.action_logs) await compareWritten(run, redone, index, findings);
  for (const row of run.report.changes) {
    const action = run.parsed.plan.actions[row.action - 1];
    const planned = action === undefined ? null : writtenPath(action);
    if (planned === null) continue;
    if (run.logs.get(row.action)?.modified_by_user === true) {
      findings.leaveOpen(row.path, row.action, whatUserWrote(row.action));
      if (row.path !== planned && !(await liesBehindLink(run, row.path, planned)))
        findings.differ(
          { action: row.action, path: row.path },
          `Action ${row.action} writes ${planned}, but the report says that it changed ${row.path}.`,
        );
    } else if (redone.written.get(row.path) === undefined && findings.actions.get(row.action)?.outcome === 'same')
      findings.differ(
        { action: row.action, path: row.path },
        `Action ${row.action} writes ${planned}, but the report says that it changed ${row.path}.`,
      );
  }
}

/** The user, rather than the plan, may have overwritten the content, and nobody can find out. */
async function compareWritten(
  run: RecordedRun,
  { written }: RedoneActions,
  index: number,
  findings: Findings,
): Promise<void> {
  const [action, log] = [run.parsed.plan.actions[index - 1], run.logs.get(index)];
  const path = action === undefined ? null : writtenPath(action);
  if (path === null) return;
  const isThere = run.changes.has(path) || written.has(path) || run.report.rollback !== undefined;
  if (log?.modified_by_user !== true || log.status !== 'SUCCESS' || isThere) return;
  if (run.report.changes.some((row) => row.action === index) || (await whyNotTaken(run, path)) !== null) return;
  findings.leaveOpen(path, index, `${whatUserWrote(index)}; the commit does not change the file`);
}

function whatUserWrote(action: number): string {
  return `the user wrote it instead of action ${action}, and the plan does not contain that text`;
}

async function liesBehindLink({ project, base }: RecordedRun, path: RepoPath, planned: RepoPath): Promise<boolean> {
  const target = await inspectTree(project.repository.store, base)(planned);
  return (target.kind === 'file' || target.kind === 'absent') && target.real === path;
}

async function compareFile(
  run: RecordedRun,
  redone: RedoneActions,
  file: WrittenFile,
  findings: Findings,
): Promise<void> {
  const { path, action } = file;
  const { rollback } = run.report;
  const [change, row] = [run.changes.get(path), run.rows.get(path)];
  if (rollback !== undefined) {
    const isLeft = rollback.left.some((left) => left.path === path);
    if (isLeft) {
      findings.leaveOpen(path, row?.action ?? action.index, 'it could not be rolled back');
      return findings.settle(action, 'not_compared', 'it could not be rolled back');
    }
    if (change !== undefined)
      return findings.differ({ action: action.index, path }, `${path} was rolled back, but the commit changes it.`);
    return findings.settle(action, 'same', 'rolled back');
  }
  if (change === undefined) return compareUnchanged(run, redone, file, findings);
  if (row !== undefined && row.action !== action.index) {
    if (row.action > action.index && redone.scripts.includes(row.action)) {
      findings.leaveOpen(path, row.action, `action ${row.action}, a command, changed it after action ${action.index}`);
      const isSeen = redone.moments.isSeen(action.index);
      const note = `action ${row.action}, a command, changed the file after it`;
      return findings.settle(action, isSeen ? 'same' : 'not_compared', note);
    }
    const message = `The last action that writes ${path} is ${action.index}, but the report says it was ${row.action}.`;
    return findings.differ({ action: action.index, path }, message);
  }
  await compareChanged(run, redone, { file, change }, findings);
}

async function compareChanged(
  run: RecordedRun,
  redone: RedoneActions,
  { file, change }: { file: WrittenFile; change: CommitChange },
  findings: Findings,
): Promise<void> {
  const { path, action, after } = file;
  const about = { action: action.index, path };
  if (change.after === null) return findings.differ(about, `The plan writes ${path}, but the commit deletes it.`);
  const recorded =
    change.mode === '160000' ? new Uint8Array() : await run.project.repository.store.readBlob(change.after);
  const verdict = compareContent(after, recorded);
  if (verdict === 'different') {
    // A CREATE's content depends only on how git stores it.
    const known = action.type === 'CREATE' ? { ...run, foreign: new Set<RepoPath>() } : run;
    const before = action.type === 'CREATE' ? { ...redone, scripts: [] } : redone;
    const unsure = await whyUnsure(known, action, path, before);
    if (unsure !== null) {
      findings.leaveOpen(path, action.index, unsure);
      return findings.settle(action, 'not_compared', unsure);
    }
    const diff = cutDiff(renderUnifiedDiff(path, recorded, after));
    return findings.differ({ ...about, diff }, `${path} is not what the plan produces.`);
  }
  const mode = change.oldMode ?? '100644';
  if (change.mode !== mode && !mayHaveMode(action, change, redone))
    return findings.differ(about, `The mode of ${path} became ${change.mode}; the plan leaves it ${mode}.`);
  const open =
    change.mode !== mode
      ? `a command before action ${action.index} set its mode to ${change.mode}`
      : await whyOpen(run, action, path, after, recorded);
  if (open !== null) findings.leaveOpen(path, action.index, open);
  else findings.prove(path);
  if (verdict === 'normalised')
    findings.settle(action, 'same', 'except for line endings or $Id$, which git itself changes');
  else if (file.isUnsure) findings.settle(action, 'same', 'as far as it got');
}

/** Returns the reason why the bytes are unproven although the plan contains them; null when they are proven. */
async function whyOpen(
  { project, commit, moved }: RecordedRun,
  { index }: Action,
  path: RepoPath,
  replayed: Uint8Array,
  recorded: Uint8Array,
): Promise<string | null> {
  const by = equalBytes(replayed, recorded) ? [] : (findConversions(replayed, recorded) ?? []);
  if (by.length > 0 && !(await isConverted(project.repository.store, commit, path, by)))
    return `its ${by.join(' and ')} differ, and no .gitattributes says that git changes them`;
  const planned = moved.get(index);
  return planned === undefined
    ? null
    : `the plan names ${planned}, and only the report says that this is the same file`;
}

/**
 * Returns true if an earlier command may have made the file, or changed its mode. The file cannot have existed when
 * CREATE requires a new file.
 */
function mayHaveMode(action: Action, { oldMode }: CommitChange, { scripts }: RedoneActions): boolean {
  const isNew = action.type === 'CREATE' && !action.overwrite && oldMode === null;
  return !isNew && scripts.some((index) => index < action.index);
}

async function compareUnchanged(
  run: RecordedRun,
  redone: RedoneActions,
  { path, action, before, after, isUnsure }: WrittenFile,
  findings: Findings,
): Promise<void> {
  if (isUnsure || equalBytes(before, after)) return;
  if (before !== null && compareContent(after, before) !== 'different') return;
  const left = await whyLeftOut(run, redone, { path, action: action.index, isNew: before === null });
  if (left !== null) {
    if (!left.isProven) findings.leaveOpen(path, action.index, left.reason);
    return findings.settle(action, redone.moments.isSeen(action.index) ? 'same' : 'not_compared', left.reason);
  }
  const diff = cutDiff(renderUnifiedDiff(path, before, after));
  const hint = before === null ? '; nothing in the repository says that git ignores it' : '';
  findings.differ(
    { action: action.index, path, diff },
    `The plan writes ${path}, but the commit does not contain it${hint}.`,
  );
}

/** Returns the reason why a change may be missing from a valid commit. `isProven` means that the repository itself shows it. */
async function whyLeftOut(
  run: RecordedRun,
  { scripts, moments }: RedoneActions,
  { path, action, isNew }: { path: RepoPath; action: number; isNew: boolean },
): Promise<{ reason: string; isProven: boolean } | null> {
  const { report, foreign } = run;
  const guess = (reason: string) => ({ reason, isProven: false });
  const notTaken = isNew ? await whyNotTaken(run, path) : null;
  if (notTaken?.isProven === true) return notTaken;
  const later = scripts.find((index) => index > action && !moments.isQuiet(index));
  if (later !== undefined) return guess(`action ${later}, a command, ran after it, and no change is left`);
  if (foreign.has(path)) return guess(foreignReason);
  const { status, error } = report.run_summary;
  if (
    status === 'FAILURE' &&
    report.changes.length === 0 &&
    report.action_logs.every((log) => log.status !== 'FAILURE')
  )
    return guess(`git did not accept the changes: ${error}`);
  return notTaken;
}
