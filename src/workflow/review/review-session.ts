/** What a reviewer wants to know of a line: its turns, what they were to do and did, what they cost, what has changed. */
import type { TranscriptRecord } from '../../conversation/record.ts';
import type { Report, RunStatus } from '../../plan/report.ts';
import { parseReport } from '../../plan/report-schema.ts';
import type { ChangedCommit, Project, Store } from '../../ports.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import type { Oid, SessionId, TurnName } from '../../session/names.ts';
import { isStartOf, toLogged } from '../log-session.ts';
import { readTurns } from '../read-conversation.ts';
import { readLine } from '../read-line.ts';
import { isAnswer, sumSpent, type Spending } from './count-spending.ts';
import { diffFiles, isCode, listCodeChanges, type FileDiff } from './diff-files.ts';
import { findRecorded, type RecordedLine } from './find-recorded.ts';
import { maskReview } from './mask-review.ts';

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
  /** Of its plan; null: there is none. */
  plan: string | null;
  /** There is a plan or another answer, whoever gave it. */
  isAnswered: boolean;
  /** Of its report; null: it was not run, or there is nothing to run. */
  outcome: RunStatus | null;
  error: string | null;
  actions: ReviewedAction[];
  models: string[];
  spent: Spending;
  commits: Oid[];
  /** What its commits, taken together, have changed outside of `.teddy`. */
  files: ChangedFile[];
  isUndone: boolean;
}

interface OwnCommit {
  commit: Oid;
  subject: string;
  /** The turn that it stands after; null: it stands before the first. */
  after: TurnName | null;
}

export interface Review {
  session: SessionId;
  line: string;
  tip: Oid;
  /** What the line started from; null: nothing was there. */
  base: Oid | null;
  baseBranch: string | null;
  turns: ReviewedTurn[];
  /** The user's own. */
  commits: OwnCommit[];
  spent: Spending;
  /** Between base and tip, outside of `.teddy`. */
  files: ChangedFile[];
}

interface Step extends ChangedCommit {
  entry: Entry | null;
}

/** Without secrets: every text is masked. Throws what `findRecorded` throws, DAMAGED_SESSION, MASKING_FAILED. */
export async function reviewSession(project: Project, target: string | undefined): Promise<Review> {
  const { store } = project.repository;
  const line = await findRecorded(project, target);
  const { base, baseBranch } = await findBase(store, line);
  const steps = await readSteps(store, line, base);
  const said = await readSaid(store, line);
  const turns = [];
  for (const [turn, own] of groupByTurn(steps)) turns.push(await reviewTurn(store, turn, own, said.get(turn) ?? []));
  return maskReview(project.masker, {
    session: line.session,
    line: line.name,
    tip: line.tip,
    base,
    baseBranch,
    turns,
    commits: listOwn(steps),
    spent: sumSpent(steps.flatMap(({ entry }) => entry ?? [])),
    files: await countFiles(store, await listCodeChanges(store, base, line.tip)),
  });
}

/** Where a range begins, else the parent of the session's start. */
async function findBase(
  store: Store,
  { session, tip, after }: RecordedLine,
): Promise<{ base: Oid | null; baseBranch: string | null }> {
  if (after !== null) return { base: after, baseBranch: null };
  let base: Oid | null = null;
  for await (const { oid, commit } of store.firstParents(tip)) {
    base = commit.parents[0] ?? null;
    const logged = toLogged(oid, commit);
    if (isStartOf(logged, session)) return { base, baseBranch: logged.entry?.baseBranch ?? null };
  }
  return { base: null, baseBranch: null };
}

/** Oldest first; of another session that this one started from, nothing. */
async function readSteps(store: Store, { session, tip }: RecordedLine, base: Oid | null): Promise<Step[]> {
  const steps: Step[] = [];
  for await (const step of store.walkChanges(tip, base === null ? [] : [base])) {
    const entry = decodeEntry(step.commit.message);
    if (entry === null || entry.session === session) steps.push({ ...step, entry });
  }
  return steps;
}

async function readSaid(store: Store, { session, name, tip }: RecordedLine): Promise<Map<string, TranscriptRecord[]>> {
  const { entryOid } = await readLine(store, tip);
  const { turns } = await readTurns(store, { session, line: name, commit: tip, source: entryOid });
  return new Map(turns.map(({ turn, transcript }) => [turn, transcript.records]));
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

async function reviewTurn(
  store: Store,
  turn: TurnName,
  own: readonly Step[],
  records: readonly TranscriptRecord[],
): Promise<ReviewedTurn> {
  const entries = own.flatMap(({ entry }) => entry ?? []);
  const done = own.filter(({ entry }) => entry?.kind !== 'undo');
  const report = readReport(records);
  return {
    turn,
    message: textsOf(records, (source) => source !== 'report').join('\n\n'),
    plan: entries.findLast(({ kind }) => kind === 'plan')?.title ?? null,
    isAnswered: records.some(({ type }) => type === 'assistant'),
    outcome: report?.run_summary.status ?? null,
    error: report?.run_summary.error ?? null,
    actions: report === null ? await readPlanned(records) : report.action_logs.map(toAction),
    models: [...new Set(entries.filter(isAnswer).flatMap(({ model }) => model ?? []))],
    spent: sumSpent(entries),
    commits: own.map(({ oid }) => oid),
    files: await countFiles(store, joinChanges(done)),
    isUndone: done.length < own.length,
  };
}

/** What the user said, or what ran, by the record's source. */
function textsOf(records: readonly TranscriptRecord[], isWanted: (source: string) => boolean): string[] {
  return records.flatMap((record) =>
    record.type === 'user' && isWanted(record.source) && 'content' in record.message ? [record.message.content] : [],
  );
}

function readReport(records: readonly TranscriptRecord[]): Report | null {
  const text = textsOf(records, (source) => source === 'report').at(-1);
  return text === undefined ? null : parseReport(text);
}

/** Of a plan that was not run yet. */
async function readPlanned(records: readonly TranscriptRecord[]): Promise<ReviewedAction[]> {
  const planned = records.findLast((record) => record.type === 'assistant' && record.source === 'plan');
  if (planned?.type !== 'assistant' || !('content' in planned.message)) return [];
  const [{ parsePlan }, { toParams }] = await Promise.all([
    import('../../plan/parse.ts'),
    import('../report-params.ts'),
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

/** Of a path that several commits changed, from before the first to after the last. */
function joinChanges(steps: readonly Step[]): ChangedCommit['changes'] {
  const joined = new Map<string, ChangedCommit['changes'][number]>();
  for (const change of steps.flatMap(({ changes }) => changes)) {
    if (!isCode(change.path)) continue;
    const before = joined.get(change.path);
    const old = before === undefined ? change.before : before.before;
    const kind = old === null ? 'added' : change.after === null ? 'deleted' : 'modified';
    joined.set(change.path, { ...change, before: old, change: kind });
  }
  return [...joined.values()].filter(({ before, after }) => before !== after);
}

async function countFiles(store: Store, changes: Parameters<typeof diffFiles>[1]): Promise<ChangedFile[]> {
  return (await diffFiles(store, changes)).map(({ diff: _diff, ...file }) => file);
}

function listOwn(steps: readonly Step[]): OwnCommit[] {
  let after: TurnName | null = null;
  const own: OwnCommit[] = [];
  for (const { oid, commit, entry } of steps) {
    if (entry?.turn) after = entry.turn;
    if (entry === null) own.push({ commit: oid, subject: commit.message.split('\n')[0] ?? '', after });
  }
  return own;
}
