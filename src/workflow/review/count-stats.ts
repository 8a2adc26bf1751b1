/**
 * Computes statistics for all sessions: turns, plans, failures, cost, and the lines of code that are still in HEAD, by
 * model and by person.
 */
import { nullIfDamaged, TeddyError } from '../../errors.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import type { Report } from '../../plan/report/report.ts';
import type { Project } from '../../ports/project.ts';
import { mayFollowTurn, type Entry } from '../../session/entries/entry.ts';
import { groupBy } from '../../session/text/group-by.ts';
import { entryMs, identSeconds } from '../../session/entries/logged-entry.ts';
import { isAnswer, sumSpent, type Spending } from '../../session/spending/spending.ts';
import { joinPath, turnDir, type Oid, type TurnName } from '../../names.ts';
import { attributeLines } from '../blame/attribute-lines.ts';
import { readCodeSteps } from '../blame/code-steps.ts';
import { listRecorded } from '../line/find-recorded.ts';
import { toText, walkLines } from '../../view/view.ts';
import { readPrices } from './count-cost.ts';

export interface StatsRequest {
  /** Counts only turns that began, and lines that were committed, since this time; null for all. */
  sinceMs: number | null;
  /** Called before the lines of each file are counted. */
  onFile?: ((done: number, all: number) => void) | undefined;
  signal: AbortSignal;
}

export interface Stats {
  sessions: number;
  turns: number;
  plans: {
    /** Plans that were executed, or that somebody approved. */
    accepted: number;
    rejected: number;
    /** Plans that nobody has judged. */
    pending: number;
  };
  actions: { run: number; failed: number };
  spent: Spending;
  /** The lines in HEAD in the files that sessions have changed; null when there is no commit. */
  lines: LineStats | null;
}

export interface LineStats {
  files: number;
  /** The model with the most lines comes first; `model` is null when nothing names it. */
  models: { model: string | null; lines: number }[];
  people: number;
  unknown: number;
}

interface WalkedEntry {
  oid: Oid;
  entry: Entry;
  /**
   * The ID of the entry that opened its turn, because two lines may each have a turn with the same name. Null when the
   * entry does not belong to a turn.
   */
  opened: string | null;
}

/** Throws GIT_FAILED, DAMAGED_SESSION, BAD_SETTING or INTERRUPTED. */
export async function countStats(project: Project, request: StatsRequest): Promise<Stats> {
  if ((await project.repository.store.cutCommits()).size > 0)
    project.notices.warn(
      'This clone is shallow: some turns and line authors are unknown. `git fetch --unshallow` fetches the rest.',
    );
  const lines = await listRecorded(project);
  const walked = await readEntries(project, lines);
  const turns = groupTurns(walked, request.sinceMs);
  const entries = turns.flat().map(({ entry }) => entry);
  const { priceOf } = await readPrices(project, entries);
  const stats: Stats = {
    sessions: new Set(entries.map(({ session }) => session)).size,
    turns: turns.length,
    plans: { accepted: 0, rejected: 0, pending: 0 },
    actions: { run: 0, failed: 0 },
    spent: sumSpent(entries, priceOf),
    lines: null,
  };
  for (const turn of turns) await addTurn(project, stats, turn);
  return { ...stats, lines: await countLines(project, walked, request) };
}

/** Reads the entries of all lines, oldest first. */
async function readEntries({ repository }: Project, lines: Parameters<typeof walkLines>[1]): Promise<WalkedEntry[]> {
  const steps = [...(await walkLines(repository.store, lines)).values()].toReversed();
  /** Each commit's turn. */
  const latest = new Map<Oid, { turn: TurnName; opened: string }>();
  const walked: WalkedEntry[] = [];
  for (const { commit: oid, parent, entry } of steps) {
    const before = parent === null ? undefined : latest.get(parent);
    const turn = entry?.turn ?? null;
    const isNext = entry !== null && turn !== null && turn !== before?.turn && !mayFollowTurn(entry.kind);
    const own = isNext ? { turn, opened: entry.id } : before;
    if (own !== undefined) latest.set(oid, own);
    if (entry !== null) walked.push({ oid, entry, opened: turn === null ? null : (own?.opened ?? null) });
  }
  return walked;
}

function groupTurns(walked: readonly WalkedEntry[], sinceMs: number | null): WalkedEntry[][] {
  const turns = [...groupBy(walked, ({ opened }) => opened)].flatMap(([opened, own]) => (opened === null ? [] : [own]));
  return turns.filter(([first]) => sinceMs === null || (first !== undefined && entryMs(first.entry) >= sinceMs));
}

async function addTurn(project: Project, stats: Stats, walked: readonly WalkedEntry[]): Promise<void> {
  const entries = walked.map(({ entry }) => entry);
  const reported = walked.findLast(({ entry }) => entry.kind === 'report');
  const report = reported === undefined ? null : await readReport(project, reported);
  const ran = report?.action_logs.filter(({ status }) => status === 'SUCCESS' || status === 'FAILURE') ?? [];
  stats.actions.run += ran.length;
  stats.actions.failed += ran.filter(({ status }) => status === 'FAILURE').length;
  if (!entries.some(({ kind }) => kind === 'plan')) return;
  const verdict = entries.findLast(({ verdict: word }) => word === 'approved' || word === 'rejected')?.verdict;
  const isRejected = verdict === 'rejected' || (reported?.entry.status === 'ABORTED' && ran.length === 0);
  if (isRejected) stats.plans.rejected += 1;
  else if (reported !== undefined || verdict === 'approved') stats.plans.accepted += 1;
  else stats.plans.pending += 1;
}

/** Returns null for a damaged report, which does not count. */
async function readReport({ repository: { store } }: Project, { oid, entry }: WalkedEntry): Promise<Report | null> {
  const file = await store.readFile(oid, joinPath(turnDir(entry.session, entry.turn as TurnName), 'report.md'));
  try {
    return file === null ? null : parseReport(toText(file.bytes));
  } catch (error) {
    return nullIfDamaged(error);
  }
}

async function countLines(
  project: Project,
  walked: readonly WalkedEntry[],
  { sinceMs, onFile, signal }: StatsRequest,
): Promise<LineStats | null> {
  const { repository } = project;
  const head = await repository.store.resolve('HEAD');
  if (head === null) return null;
  const { steps } = await readCodeSteps({ repository }, [head]);
  const own = new Set([...steps.values()].flatMap(({ files }) => files.map(({ path }) => path)));
  const seconds = [...steps.values()].reduce((least, step) => Math.min(least, step.seconds), Infinity);
  const changed = await repository.blame.followNames(own, head, seconds);
  const files = (await repository.store.listTree(head)).filter(
    ({ path, mode }) => changed.has(path) && mode.startsWith('100'),
  );
  const models = toModels(walked);
  const lines = new Map<string | null, number>();
  const stats: LineStats = { files: files.length, models: [], people: 0, unknown: 0 };
  for (const [at, { path }] of files.entries()) {
    if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted while counting lines.');
    onFile?.(at, files.length);
    const { runs } = await attributeLines({ repository }, { path, commit: head, ranges: [] });
    for (const { author, texts } of runs) {
      if (author.kind === 'uncommitted') continue;
      if (sinceMs !== null && (await committedMs(project, author.commit)) < sinceMs) continue;
      const model = models.get(author.commit) ?? null;
      if (author.kind === 'turn') lines.set(model, (lines.get(model) ?? 0) + texts.length);
      else if (author.kind === 'person') stats.people += texts.length;
      else stats.unknown += texts.length;
    }
  }
  stats.models = [...lines].map(([model, count]) => ({ model, lines: count })).toSorted((a, b) => b.lines - a.lines);
  return stats;
}

/** Maps each commit to the model that answered last in its turn. */
function toModels(walked: readonly WalkedEntry[]): Map<Oid, string> {
  const [byTurn, models] = [new Map<string, string>(), new Map<Oid, string>()];
  for (const { oid, entry, opened } of walked) {
    if (opened === null) continue;
    if (isAnswer(entry) && entry.model !== undefined) byTurn.set(opened, entry.model);
    const model = byTurn.get(opened);
    if (model !== undefined) models.set(oid, model);
  }
  return models;
}

async function committedMs({ repository: { store } }: Project, commit: Oid): Promise<number> {
  const { committer } = await store.readCommit(commit);
  return 1000 * identSeconds(committer);
}
