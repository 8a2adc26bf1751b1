/** Ends a run with one `report` entry that contains the outcome and exactly the run's code changes. */
import { GitKilledError, TeddyError } from '../../errors.ts';
import { labelReport } from '../line/entry-labels.ts';
import { renderReport } from '../../plan/report/report-yaml.ts';
import type { Report, ReportedChange } from '../../plan/report/report.ts';
import type { TreeChange, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { Oid, RepoPath, TurnName } from '../../names.ts';
import { append, type Draft } from '../line/append.ts';
import { addTrees } from './left-files.ts';
import { maskPaths, maskString } from '../line/mask-text.ts';
import {
  anotherRepository,
  findContentReason,
  findNameReason,
  findPathReason,
  isRepository,
  maxNewFileBytes,
  notTeddys,
  notUtf8,
  readNewFile,
  type LeftOutFile,
} from '../line/new-files.ts';
import type { ReadyLine } from '../line/prepare.ts';
import type { Run } from './run.ts';

export interface Published {
  commit: Oid;
  report: Report;
  leftOut: LeftOutFile[];
}

export async function publishReport(
  project: Project,
  line: ReadyLine,
  turn: TurnName,
  unfinished: Report,
  run: Run,
): Promise<Published> {
  const { store } = project.repository;
  const { commit, value } = await append(project, line, async (state) => {
    if (state.latest?.turn !== turn || state.latest.status !== 'planned')
      throw lostPlanError(turn, { isReported: state.latest?.turn === turn && state.latest.report !== null });
    const { tree: before } = await store.readCommit(state.tip);
    // Without files, nothing ran.
    const code = line.workspace === null ? noCode : await takeCode(project, line.workspace, before, run);
    const outside = new Set(code.leftOut.map(({ path }) => path));
    const trees = { store, before, after: code.tree, leftOut: outside };
    const report: Report = {
      ...unfinished,
      action_logs: await addTrees(trees, unfinished.action_logs, run, unfinished.rollback !== undefined),
      changes: code.changes,
      ...toFailure(unfinished, code.failure),
    };
    return { drafts: [toDraft(report, run, code.tree)], value: { report, leftOut: code.leftOut } };
  });
  return { commit, report: value.report, leftOut: await maskLeftOut(project, value.leftOut) };
}

async function maskLeftOut({ masker }: Project, leftOut: LeftOutFile[]): Promise<LeftOutFile[]> {
  const paths = await maskPaths(
    masker,
    leftOut.map(({ path }) => path),
  );
  return leftOut.map(({ path, reason }, at) => ({ path: paths[at] ?? path, reason }));
}

/**
 * Returns the error for a plan that is no longer pending: another process has executed it, or a command has rewritten
 * the line.
 */
function lostPlanError(turn: TurnName, { isReported }: { isReported: boolean }): TeddyError {
  return isReported
    ? new TeddyError('REF_MOVED', `Another process executed turn ${turn} in the meantime.`)
    : new TeddyError(
        'REF_MOVED',
        `The plan of turn ${turn} is no longer on its branch: something rewrote the branch during the run.`,
        '`git reflog` shows where the branch was.',
      );
}

interface TakenCode {
  /** Null when the run changed nothing that git can commit. */
  tree: Oid | null;
  changes: ReportedChange[];
  leftOut: LeftOutFile[];
  /** Why git would not store the changes; null otherwise. */
  failure: string | null;
}

const noCode: TakenCode = { tree: null, changes: [], leftOut: [], failure: null };

/** Returns the code of the tip's tree with exactly the run's changed paths, in their state on disk. */
async function takeCode(project: Project, workspace: Workspace, before: Oid, run: Run): Promise<TakenCode> {
  const { store } = project.repository;
  const leftOut = await findLeftOut(project, workspace, before, run);
  const paths = [...run.changed.keys()].filter((path) => !leftOut.some((left) => left.path === path));
  if (paths.length === 0) return { tree: null, changes: [], leftOut, failure: null };
  try {
    const tree = await treeOfPaths(workspace, before, paths);
    const changes = (await store.diffTrees(before, tree)).filter(({ path }) => !isSessionPath(path));
    return { tree, changes: changes.map((change) => toReported(change, run)), leftOut, failure: null };
  } catch (error) {
    // A filter failed, or core.safecrlf refused: the actions have run, and the report has to record that even without
    // the code. A killed git has not refused anything: the run stays interrupted, with everything recorded, and the
    // next command settles it.
    if (!(error instanceof TeddyError) || error.code !== 'GIT_FAILED' || error instanceof GitKilledError) throw error;
    const refused = paths.map((path) => ({ path, reason: 'git did not accept it' }));
    return {
      tree: null,
      changes: [],
      leftOut: [...leftOut, ...refused],
      failure: await maskString(project.masker, error.message),
    };
  }
}

/** Asks git twice: a real refusal repeats, but a momentary obstacle does not. */
async function treeOfPaths(workspace: Workspace, before: Oid, paths: RepoPath[]): Promise<Oid> {
  return workspace.treeOfPaths(before, paths).catch((error: unknown) => {
    if (!(error instanceof TeddyError) || error.code !== 'GIT_FAILED') throw error;
    return workspace.treeOfPaths(before, paths);
  });
}

function toFailure({ run_summary }: Report, failure: string | null): Pick<Report, 'run_summary'> {
  return { run_summary: failure === null ? run_summary : { ...run_summary, status: 'FAILURE', error: failure } };
}

/** Finds files that teddy never commits automatically: files ignored by git, secrets, and big new files. */
async function findLeftOut(project: Project, workspace: Workspace, before: Oid, run: Run): Promise<LeftOutFile[]> {
  const { store } = project.repository;
  const paths = [...run.changed.keys()];
  const repositories = paths.filter(isRepository);
  const fresh: RepoPath[] = [];
  for (const path of paths) if (!isRepository(path) && (await store.readFile(before, path)) === null) fresh.push(path);
  const ignored = new Set(await workspace.ignored(fresh));
  const left: LeftOutFile[] = repositories.map((path) => ({ path, reason: anotherRepository }));
  for (const path of fresh) {
    if ((await workspace.sizeOnDisk(path)) === null) {
      // No file has the displayed name, because its real name consists of other bytes.
      if (path.includes('\uFFFD')) left.push({ path, reason: notUtf8 });
      continue;
    }
    const reason = ignored.has(path) ? 'git ignores it' : await findReason(project, workspace, path, run);
    if (reason !== null) left.push({ path, reason });
  }
  return [...left, ...[...run.strays].map((path) => ({ path, reason: notTeddys }))];
}

/** A user who approves a plan reads the files that the plan itself writes, but not the files that its commands make. */
async function findReason(project: Project, workspace: Workspace, path: RepoPath, run: Run): Promise<string | null> {
  const byCommand = run.logs.find(({ index }) => index === run.changed.get(path))?.action_type === 'EXECUTE';
  const named = byCommand ? await findPathReason(project, path) : findNameReason(path);
  if (named !== null || !byCommand) return named;
  if (((await workspace.sizeOnDisk(path)) ?? 0) > maxNewFileBytes) return 'over 1 MiB';
  const bytes = await readNewFile(workspace, path);
  if (bytes === 'unreadable') return 'it cannot be read';
  return bytes === null ? null : findContentReason(project, path, bytes);
}

function toReported({ path, change, before, after, mode }: TreeChange, run: Run): ReportedChange {
  const isPlain = mode === null || mode === '100644' || mode === '40000';
  return { path, change, before, after, ...(isPlain ? {} : { mode }), action: run.changed.get(path) ?? 0 };
}

function toDraft(report: Report, { outputs, pages }: Run, tree: Oid | null): Draft {
  const { plan, run_summary, turn } = report;
  return {
    kind: 'report',
    turn,
    label: labelReport(report),
    trailers: { ...(plan.agent === null ? {} : { agent: plan.agent }), status: run_summary.status },
    files: {
      'report.md': renderReport(report),
      ...Object.fromEntries(outputs.map(({ action, text }) => [`output/${action}.log`, text])),
      ...Object.fromEntries(pages.map(({ action, text }) => [`pages/${action}.txt`, text])),
    },
    code: { tree },
  };
}
