/** One turn as a review tells of it: all of it out of its records and commits, or its row out of the labels of its commits alone. */
import { countAsides, type Asides } from '../../conversation/read-line.ts';
import type { TranscriptRecord } from '../../conversation/record.ts';
import { runStatuses, type Report, type RunStatus } from '../../plan/report.ts';
import { parseReport } from '../../plan/report-schema.ts';
import type { ChangedCommit, Store } from '../../ports/git.ts';
import type { Entry, EntryKind, VerdictWord } from '../../session/entry.ts';
import { howUndone } from '../../session/line-paths.ts';
import type { LoggedEntry } from '../../session/logged-entry.ts';
import type { Verdict } from '../line/read-verdicts.ts';
import type { Oid, TurnName } from '../../names.ts';
import type { CutFile } from './read-turn-texts.ts';
import { isAnswer, sumSpent, type Spending } from '../../session/spending.ts';
import { diffFiles, isCode, type FileDiff } from './diff-files.ts';
import { listAnswerers, listDecisions, type Answerer, type Decision } from './who.ts';

export type ChangedFile = Omit<FileDiff, 'diff'>;

export interface ReviewedAction {
  index: number;
  type: string;
  /** A path, a command's first line, ... */
  target: string;
  /** Null: not run. */
  status: Report['action_logs'][number]['status'] | null;
  exitCode: number | null;
  durationMs: number | null;
  reason: string | null;
}

export interface ReviewedTurn {
  turn: TurnName;
  /** All that the user said, in order. */
  message: string;
  /** The title of its plan; null when there is none. */
  plan: string | null;
  /** There is a plan or another answer, whoever gave it. */
  isAnswered: boolean;
  /** The status in its report; null when it was not run, or when there is nothing to run. */
  outcome: RunStatus | null;
  error: string | null;
  actions: ReviewedAction[];
  models: string[];
  /** The same with their providers, and whoever else has answered. */
  answeredBy: Answerer[];
  spent: Spending;
  commits: Oid[];
  /** The files outside `.teddy` that its commits, taken together, have changed. */
  files: ChangedFile[];
  isUndone: boolean;
  /** Some of its code is taken back, and some is not. */
  isPartlyUndone: boolean;
  /** The last word on its plan, as its commit says; null: nobody has judged it. */
  verdict: VerdictWord | null;
  /** Another agent has made its plan, which teddy does not run. */
  isAgentPlan: boolean;
  /** The verdicts on its plan, oldest first. */
  verdicts: Verdict[];
  /** The decision when it was run, or not. */
  decisions: Decision[];
  asides: Asides;
  /** Files of which not all was read. */
  cut: CutFile[];
}

/** The turn as far as the labels of its commits describe it; the text of a label has one line, and is short. */
export interface TurnLabel extends Pick<
  ReviewedTurn,
  'turn' | 'message' | 'plan' | 'isAnswered' | 'isUndone' | 'isPartlyUndone' | 'verdict' | 'isAgentPlan'
> {
  /** `unknown`: there is a report, and its commit does not say how the run has ended. */
  outcome: RunStatus | 'unknown' | null;
}

export interface Step {
  oid: Oid;
  /** The first. */
  parent: Oid | null;
  subject: string;
  /** The name that the commit has. */
  author: string;
  /** Null: the user's own. */
  entry: Entry | null;
}

const answers: readonly EntryKind[] = ['plan', 'reply', 'exchange'];

export function labelTurn(turn: TurnName, own: readonly Step[]): TurnLabel {
  const entries = own.flatMap(({ entry }) => entry ?? []);
  const report = entries.findLast(({ kind }) => kind === 'report');
  return {
    turn,
    message: (entries.find(({ kind }) => kind === 'message') ?? entries[0])?.title ?? '',
    plan: titleOfPlan(entries),
    isAnswered: entries.some(({ kind }) => answers.includes(kind)),
    outcome: report === undefined ? null : (runStatuses.find((status) => status === report.status) ?? 'unknown'),
    isUndone: howUndone(findUndo(own)?.entry) === 'whole',
    isPartlyUndone: howUndone(findUndo(own)?.entry) === 'part',
    ...labelPlan(entries),
  };
}

/** Only the plans of teddy's own name the agent of the request. */
function labelPlan(entries: readonly Entry[]): Pick<TurnLabel, 'verdict' | 'isAgentPlan'> {
  const plan = entries.findLast(({ kind }) => kind === 'plan');
  const words = entries.flatMap(({ kind, verdict }) => (kind === 'approval' && verdict !== undefined ? [verdict] : []));
  return {
    verdict: words.findLast((word) => word !== 'none') ?? null,
    isAgentPlan: plan !== undefined && plan.agent === undefined,
  };
}

function titleOfPlan(entries: readonly Entry[]): string | null {
  return entries.findLast(({ kind }) => kind === 'plan')?.title ?? null;
}

/** The last undo decides. */
function findUndo<Of extends Pick<Step, 'entry'>>(own: readonly Of[]): Of | undefined {
  return own.findLast(({ entry }) => entry?.kind === 'undo');
}

/** The commits that have taken back the code of a turn, or have left it taken back in part. */
export function toUndoneBy(own: readonly Pick<LoggedEntry, 'entry' | 'commit'>[]): {
  undoneBy: Oid | null;
  partlyUndoneBy: Oid | null;
} {
  const last = findUndo(own);
  const how = howUndone(last?.entry);
  const commit = last?.commit ?? null;
  return { undoneBy: how === 'whole' ? commit : null, partlyUndoneBy: how === 'part' ? commit : null };
}

/** In their order; what is of no turn is left out. */
export function groupByTurn<Of extends Pick<Step, 'entry'>>(steps: readonly Of[]): Map<TurnName, Of[]> {
  const groups = new Map<TurnName, Of[]>();
  for (const step of steps) {
    const turn = step.entry?.turn ?? null;
    if (turn === null) continue;
    const group = groups.get(turn);
    if (group === undefined) groups.set(turn, [step]);
    else group.push(step);
  }
  return groups;
}

interface ReadTurn {
  turn: TurnName;
  own: readonly Step[];
  records: readonly TranscriptRecord[];
  verdicts: Verdict[];
  cut: CutFile[];
  /** The other agent whose session it is. */
  agent: string | null;
  changesOf(commit: Oid): ChangedCommit['changes'];
}

/** `changesOf`: what a commit has changed. */
export async function reviewTurn(
  store: Store,
  { turn, own, records, verdicts, cut, agent, changesOf }: ReadTurn,
): Promise<ReviewedTurn> {
  const entries = own.flatMap(({ entry }) => entry ?? []);
  const done = own.filter(({ entry }) => entry?.kind !== 'undo').flatMap(({ oid }) => changesOf(oid));
  const report = readReport(records);
  return {
    turn,
    message: textsOf(records, (source) => source !== 'report').join('\n\n'),
    plan: titleOfPlan(entries),
    isAnswered: records.some(({ type }) => type === 'assistant'),
    outcome: report?.run_summary.status ?? null,
    error: report?.run_summary.error ?? null,
    actions: report === null ? await readPlanned(records) : report.action_logs.map(toAction),
    models: [...new Set(entries.filter(isAnswer).flatMap(({ model }) => model ?? []))],
    answeredBy: listAnswerers(entries, agent),
    spent: sumSpent(entries),
    commits: own.map(({ oid }) => oid),
    files: await countFiles(store, joinChanges(done)),
    isUndone: howUndone(findUndo(own)?.entry) === 'whole',
    isPartlyUndone: howUndone(findUndo(own)?.entry) === 'part',
    ...labelPlan(entries),
    verdicts,
    decisions: listDecisions(report, own.findLast(({ entry }) => entry?.kind === 'report')?.author, verdicts),
    asides: countAsides(records),
    cut,
  };
}

/** The texts of the user's records with a wanted source: words, or what ran. */
function textsOf(records: readonly TranscriptRecord[], isWanted: (source: string) => boolean): string[] {
  return records.flatMap((record) =>
    record.type === 'user' && isWanted(record.source) && 'content' in record.message ? [record.message.content] : [],
  );
}

function readReport(records: readonly TranscriptRecord[]): Report | null {
  const text = textsOf(records, (source) => source === 'report').at(-1);
  return text === undefined ? null : parseReport(text);
}

/** Reads the actions of a plan that was not run yet. */
async function readPlanned(records: readonly TranscriptRecord[]): Promise<ReviewedAction[]> {
  const planned = records.findLast((record) => record.type === 'assistant' && record.source === 'plan');
  if (planned?.type !== 'assistant' || !('content' in planned.message)) return [];
  const [{ parsePlan }, { toParams }] = await Promise.all([
    import('../../plan/parse.ts'),
    import('../../plan/report-params.ts'),
  ]);
  return parsePlan(planned.message.content).plan.actions.map((action) =>
    toAction({ index: action.index, action_type: action.type, status: null, params: toParams(action) }),
  );
}

type LoggedAction = Omit<Report['action_logs'][number], 'status'> & { status: ReviewedAction['status'] };

function toAction({ index, action_type: type, status, params, details, duration_ms }: LoggedAction): ReviewedAction {
  const [first = ''] = Object.values(params);
  return {
    index,
    type,
    target: typeof first === 'object' ? '' : (String(first).split('\n')[0] ?? ''),
    status,
    exitCode: details?.return_code ?? null,
    durationMs: duration_ms ?? null,
    reason: details?.reason ?? null,
  };
}

/** Joins the changes of a path that several commits changed: from before the first to after the last. */
export function joinChanges(changes: ChangedCommit['changes']): ChangedCommit['changes'] {
  const joined = new Map<string, ChangedCommit['changes'][number]>();
  for (const change of changes) {
    if (!isCode(change.path)) continue;
    const before = joined.get(change.path);
    const old = before === undefined ? change.before : before.before;
    const kind = old === null ? 'added' : change.after === null ? 'deleted' : 'modified';
    joined.set(change.path, { ...change, before: old, change: kind });
  }
  return [...joined.values()].filter(({ before, after }) => before !== after);
}

export async function countFiles(store: Store, changes: Parameters<typeof diffFiles>[1]): Promise<ChangedFile[]> {
  return (await diffFiles(store, changes)).map(({ diff: _diff, ...file }) => file);
}
