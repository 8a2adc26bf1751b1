/**
 * A line whose report was rewritten together with its commit: every hash, trailer and label agrees with the forged
 * text.
 */
import { labelReport } from '../../src/workflow/line/entry-labels.ts';
import { parseReport, renderReport } from '../../src/plan/report/report-yaml.ts';
import type { ActionLog, Report, ReportedChange } from '../../src/plan/report/report.ts';
import { decodeEntry, encodeEntry, type Entry } from '../../src/session/entries/entry.ts';
import { joinPath, parseTurnName, turnDir, type Oid, type RepoPath } from '../../src/names.ts';
import { openEditedCode } from '../../src/workflow/line/edited-code.ts';
import { mayChangeFiles } from '../../src/workflow/run/left-files.ts';
import type { MemoryProject } from './memory-repository.ts';
import { listSteps, tamper, type Tampering } from './tampering.ts';

export interface Forgery {
  /** The turn whose record is forged. */
  turn?: string;
  plan?: (text: string) => string;
  report?: (report: Report) => Report;
  /** The files that the report's commit changes: a row in `changes` for each, by this action. */
  files?: Tampering[];
  /** The action that supposedly changed the files; the trees from there on are made to agree. */
  by?: number;
  /** The report has no trees, like those from earlier versions. */
  isOld?: boolean;
}

/** The tip of a line like the one up to `tip`, with the forgery in it. */
export async function forge(project: MemoryProject, tip: Oid, forgery: Forgery): Promise<Oid> {
  const planned = forgery.plan === undefined ? tip : await forgePlan(project, tip, forgery.plan, forgery.turn ?? '01');
  return forgeReport(project, planned, forgery);
}

async function forgePlan(project: MemoryProject, tip: Oid, rewrite: (text: string) => string, turn: string) {
  const { oid, entry } = await findEntry(project, tip, 'plan', turn);
  const path = joinPath(turnDir(entry.session, parseTurnName(turn)), 'plan.md');
  const text = rewrite((await project.readAt(tip, path)) ?? '');
  const message = () => encodeEntry({ ...entry, sha256: project.hash(text) });
  return tamper(project, tip, oid, [{ path, bytes: Buffer.from(text), message }]);
}

async function forgeReport(project: MemoryProject, tip: Oid, forgery: Forgery): Promise<Oid> {
  const { store } = project.repository;
  const { turn = '01', files = [], by } = forgery;
  const { oid, entry } = await findEntry(project, tip, 'report', turn);
  const dir = turnDir(entry.session, parseTurnName(turn));
  const path = joinPath(dir, 'report.md');
  const known = parseReport((await project.readAt(tip, path)) ?? '');
  const base = (await store.readCommit(oid)).parents[0] as Oid;
  const bare = await tamper(project, tip, oid, files);
  const forged = (await findEntry(project, bare, 'report', turn)).oid;
  const rows = by === undefined ? known.changes : await listRows(project, base, forged, { known, by, files });
  const planText = (await project.readAt(forged, joinPath(dir, 'plan.md'))) ?? '';
  const start = { ...known, plan: { ...known.plan, sha256: project.hash(planText) }, changes: rows };
  const told = forgery.report?.(start) ?? start;
  const logs = await forgeTrees(project, base, forged, told, by);
  const report = { ...told, action_logs: forgery.isOld ? logs.map(withoutTree) : logs };
  const text = renderReport(report);
  const message = () => encodeEntry(toEntry(entry, report, project.hash(text)));
  return tamper(project, bare, forged, [{ path, bytes: Buffer.from(text), message }]);
}

/**
 * Lists the rows in the forged commit's changes; each forged file by the action `by`, the others unchanged from the
 * report.
 */
async function listRows(
  { repository: { store } }: MemoryProject,
  base: Oid,
  forged: Oid,
  { known, by, files }: { known: Report; by: number; files: Tampering[] },
): Promise<ReportedChange[]> {
  const code = (await store.diffTrees(base, forged)).filter(({ path }) => !path.startsWith('.teddy/'));
  return code.map(({ path, change, before, after, mode }) => {
    const isForged = files.some((one) => one.path === path);
    const action = isForged ? by : (known.changes.find((row) => row.path === path)?.action ?? by);
    const isTold = mode === '100755' || mode === '120000' || mode === '160000';
    return { path, change, before, after, ...(isTold ? { mode } : {}), action };
  });
}

/** After each action from `by` on: the earlier code, with all supposed changes up to then. */
async function forgeTrees(
  { repository: { store } }: MemoryProject,
  base: Oid,
  forged: Oid,
  { action_logs: logs, changes }: Report,
  by = Number.POSITIVE_INFINITY,
): Promise<ActionLog[]> {
  const code = await openEditedCode(store, (await store.readCommit(base)).tree);
  const final = await openEditedCode(store, (await store.readCommit(forged)).tree);
  const made: ActionLog[] = [];
  for (const { tree, ...log } of logs) {
    for (const { path, action } of changes) if (action === log.index) await code.set(path, await final.get(path));
    const next = log.index >= by ? await code.oid() : tree;
    made.push(mayChangeFiles(log) && next !== undefined ? { ...log, tree: next } : log);
  }
  return made;
}

function toEntry(entry: Entry, report: Report, sha256: string): Entry {
  return { ...entry, ...labelReport(report), status: report.run_summary.status, sha256 };
}

async function findEntry(project: MemoryProject, tip: Oid, kind: string, turn: string) {
  for (const { oid } of await listSteps(project, tip)) {
    const entry = decodeEntry((await project.repository.store.readCommit(oid)).message);
    if (entry?.kind === kind && entry.turn === turn) return { oid, entry };
  }
  throw new Error(`There is no ${kind} of turn ${turn}.`);
}

export function withoutTree(log: ActionLog): ActionLog {
  const old = { ...log };
  delete old.tree;
  return old;
}

/** The same report with other action logs. */
export function withLogs(change: (log: ActionLog) => ActionLog): (report: Report) => Report {
  return (report) => ({ ...report, action_logs: report.action_logs.map(change) });
}

export function file(path: string, text: string | null, mode?: Tampering['mode']): Tampering {
  const bytes = text === null ? null : Buffer.from(text);
  return { path: path as RepoPath, bytes, ...(mode === undefined ? {} : { mode }) };
}
