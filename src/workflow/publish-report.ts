/** The end of a run: one `report` entry with the outcome and exactly the code that the run changed. */
import { TeddyError } from '../errors.ts';
import { renderReport, type Report, type ReportedChange } from '../plan/report.ts';
import type { Project, TreeChange, Workspace } from '../ports.ts';
import type { Entry } from '../session/entry.ts';
import { joinPath, turnDir, type Oid, type RepoPath, type TurnName } from '../session/names.ts';
import { isSecretName } from '../session/secret-names.ts';
import { appendEntry, type FileEdit } from './append-entry.ts';
import type { ReadyLine } from './prepare-line.ts';
import { readLine } from './read-line.ts';
import type { Run } from './run-actions.ts';

export interface Published {
  commit: Oid;
  report: Report;
  leftOut: { path: RepoPath; reason: string }[];
}

/** A new file that a command made is committed up to this size. */
const maxNewFileBytes = 1024 * 1024;

export async function publishReport(
  project: Project,
  line: ReadyLine & { workspace: Workspace },
  turn: TurnName,
  unfinished: Report,
  run: Run,
): Promise<Published> {
  const { store } = project.repository;
  const { workspace } = line;
  let report = unfinished;
  let leftOut: Published['leftOut'] = [];
  const { commit } = await appendEntry(project, line, async (tip) => {
    const state = await readLine(store, tip);
    refuseClosed(state.latest?.turn === turn && state.latest.status === 'planned', turn);
    const { tree } = await store.readCommit(tip);
    leftOut = await findLeftOut(project, workspace, tip, run);
    const paths = [...run.changed.keys()].filter((path) => !leftOut.some((left) => left.path === path));
    const codeTree = paths.length === 0 ? tree : await workspace.treeOfPaths(tree, paths);
    const changes =
      paths.length === 0
        ? []
        : (await store.diffTrees(tree, codeTree)).filter(({ path }) => !path.startsWith('.teddy/'));
    report = { ...unfinished, changes: changes.map((change) => toReported(change, run)) };
    const text = renderReport(report);
    return {
      entry: toEntry(project, state.entry, report, project.hash(text)),
      files: toFiles(line, turn, text, run),
      codeTree,
    };
  });
  return { commit, report, leftOut };
}

function refuseClosed(isPending: boolean, turn: TurnName): void {
  if (isPending) return;
  throw new TeddyError(
    'REF_MOVED',
    `Turn ${turn} was executed by another process meanwhile.`,
    `\`teddy session show ${turn}\` shows its report.`,
  );
}

/** What must not get into a commit by itself: what git ignores, secrets, and big new files. */
async function findLeftOut(project: Project, workspace: Workspace, tip: Oid, run: Run): Promise<Published['leftOut']> {
  const { store } = project.repository;
  const fresh: RepoPath[] = [];
  for (const path of run.changed.keys()) if ((await store.readFile(tip, path)) === null) fresh.push(path);
  const ignored = new Set(await workspace.ignored(fresh));
  const left: Published['leftOut'] = [];
  for (const path of fresh) {
    const bytes = await workspace.readDisk(path);
    if (bytes === null) continue;
    const byCommand = run.logs.find(({ index }) => index === run.changed.get(path))?.action_type === 'EXECUTE';
    if (ignored.has(path)) left.push({ path, reason: 'git ignores it' });
    else if (isSecretName(path)) left.push({ path, reason: 'named like a secret' });
    else if (byCommand && bytes.length > maxNewFileBytes) left.push({ path, reason: 'over 1 MiB' });
  }
  return left;
}

function toReported({ path, change, before, after }: TreeChange, run: Run): ReportedChange {
  return { path, change, before, after, action: run.changed.get(path) ?? 0 };
}

function toFiles(line: ReadyLine, turn: TurnName, text: string, run: Run): FileEdit[] {
  const dir = turnDir(line.session, turn);
  return [
    { path: joinPath(dir, 'report.md'), bytes: text },
    ...run.outputs.map(({ action, text: output }) => ({ path: joinPath(dir, `output/${action}.log`), bytes: output })),
  ];
}

function toEntry(project: Project, last: Entry, report: Report, sha256: string): Entry {
  const { status, error } = report.run_summary;
  return {
    kind: 'report',
    session: last.session,
    turn: report.turn,
    id: project.ids.entryId(),
    created: last.created,
    title: `${status} ${report.plan.title}`,
    details: [
      ...(error === null ? [] : [error]),
      ...report.action_logs.map(
        (log) =>
          `${log.index}. ${log.action_type} ${String(Object.values(log.params)[0] ?? '').split('\n')[0]}: ${log.status}`,
      ),
    ],
    ...(report.plan.agent === null ? {} : { agent: report.plan.agent }),
    status,
    sha256,
  };
}
