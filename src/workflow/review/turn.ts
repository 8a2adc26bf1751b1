/** One turn in a review: in full from its records and commits, or as a row from its commits' labels alone. */
import { hasAgentPlan } from '../../conversation/records/transcript.ts';
import type { Step, TurnContent, TurnOutline, Verdict } from '../../view/view.ts';
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import { toParams } from '../../plan/actions/actions.ts';
import { checkProse, checkReport, type KeptPromise } from '../../plan/report/promise.ts';
import type { Report } from '../../plan/report/report.ts';
import type { RunStatus } from '../../session/entries/entry-trailers.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import type { ChangedCommit, Store } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { diffFiles, isCode, type FileDiff } from './diff-files.ts';
import { listAnswerers, listDecisions, type Answerer, type Decision } from './who.ts';

export type ChangedFile = Omit<FileDiff, 'diff'>;

export interface ReviewedAction {
  index: number;
  type: string;
  /** A path, the first line of a command, and so on. */
  target: string;
  /** Null when the action did not run. */
  status: Report['action_logs'][number]['status'] | null;
  exitCode: number | null;
  durationMs: number | null;
  reason: string | null;
}

/** The turn as described by its commits' labels; a label's text is short and has one line. */
export type TurnLabel = Omit<TurnOutline, 'steps'>;

export interface ReviewedTurn extends TurnLabel, Pick<TurnContent, 'asides' | 'cut'> {
  /** Everything that the user said, in order. */
  messages: string[];
  /** The status in the turn's report; null when the plan did not run, or when there is nothing to run. */
  outcome: RunStatus | null;
  error: string | null;
  actions: ReviewedAction[];
  /** The models with their providers, and anybody else who answered. */
  answeredBy: Answerer[];
  commits: Oid[];
  /** The files outside `.teddy` that the turn's commits changed. */
  files: ChangedFile[];
  /** The plan compared with what the turn touched; null when nothing was carried out. */
  promise: KeptPromise | null;
  /** The verdicts on its plan, oldest first. */
  verdicts: Verdict[];
  /** The decisions made when the plan was executed or declined. */
  decisions: Decision[];
}

export function labelTurn({ steps: _steps, ...label }: TurnOutline): TurnLabel {
  return label;
}

interface ReadTurn {
  turn: TurnOutline & TurnContent;
  verdicts: Verdict[];
  /** The other agent that owns the session. */
  agent: string | null;
  changesOf(commit: Oid): ChangedCommit['changes'];
}

/** Reviews a turn; `changesOf` returns a commit's changes. */
export async function reviewTurn(store: Store, { turn, verdicts, agent, changesOf }: ReadTurn): Promise<ReviewedTurn> {
  const { steps, records, asides, cut } = turn;
  const entries = steps.flatMap(({ entry }) => entry ?? []);
  const done = steps.filter(({ entry }) => entry?.kind !== 'undo').flatMap(({ commit }) => changesOf(commit));
  const report = readReport(records);
  const { plan: _plan, report: _report, records: _records, ...outline } = turn;
  return {
    ...labelTurn(outline),
    messages: textsOf(records, (source) => source !== 'report'),
    isAnswered: records.some(({ type }) => type === 'assistant'),
    outcome: report?.run_summary.status ?? null,
    error: report?.run_summary.error ?? null,
    actions: report === null ? await readPlanned(records) : report.action_logs.map(toAction),
    answeredBy: listAnswerers(entries, agent),
    commits: steps.map(({ commit }) => commit),
    files: await countFiles(store, joinChanges(done)),
    promise: comparePromise(turn, report, changesOf),
    verdicts,
    decisions: listDecisions(
      report,
      steps.findLast(({ entry }) => entry?.kind === 'report'),
      verdicts,
    ),
    asides,
    cut,
  };
}

/**
 * Compares a turn's plan with its run. For another agent's plan, compares the prose with the turn's code since its first
 * message; what came before that message is the user's.
 */
export function comparePromise(
  { plan, records, steps }: Pick<TurnContent, 'plan' | 'records'> & { steps: readonly Step[] },
  report: Report | null,
  changesOf: (commit: Oid) => ChangedCommit['changes'],
): KeptPromise | null {
  if (report !== null) return checkReport(report);
  if (plan === null || !hasAgentPlan([...records])) return null;
  const asked = steps.findIndex(({ entry }) => entry?.kind === 'message');
  const own = steps.slice(asked + 1).filter(({ entry }) => entry !== null && entry.kind !== 'undo');
  const changed = joinChanges(own.flatMap(({ commit }) => changesOf(commit))).map(({ path }) => path);
  return changed.length === 0 ? null : checkProse(plan, changed);
}

/** Returns the texts of the user's records from the wanted sources: words, or executed commands. */
function textsOf(records: readonly TranscriptRecord[], isWanted: (source: string) => boolean): string[] {
  return records.flatMap((record) =>
    record.type === 'user' && isWanted(record.source) && 'content' in record.message ? [record.message.content] : [],
  );
}

function readReport(records: readonly TranscriptRecord[]): Report | null {
  const text = textsOf(records, (source) => source === 'report').at(-1);
  return text === undefined ? null : parseReport(text);
}

/** Reads the actions of a plan that has not run. */
async function readPlanned(records: readonly TranscriptRecord[]): Promise<ReviewedAction[]> {
  const planned = records.findLast((record) => record.type === 'assistant' && record.source === 'plan');
  if (planned?.type !== 'assistant' || !('content' in planned.message)) return [];
  const { parsePlan } = await import('../../plan/parse/parse.ts');
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

/** Merges the changes that several commits make to a path into one, from before the first to after the last. */
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
