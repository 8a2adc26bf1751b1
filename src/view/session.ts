/** Reads a session along one of its lines: its steps, and its turns as far as the labels of their commits tell. */
import { compareTurns, type Oid, type SessionId, type TurnName } from '../names.ts';
import { runStatuses, type RunStatus } from '../plan/report.ts';
import type { SessionStore, WalkedCommit } from '../ports/git.ts';
import { comesLater, type Entry, type EntryKind, type VerdictWord } from '../session/entry.ts';
import { howUndone } from '../session/line-paths.ts';
import { isStartOf, toLogged, type LoggedEntry } from '../session/logged-entry.ts';
import { isAnswer, sumSpent, type Spending } from '../session/spending.ts';

/** A commit of the line: an entry of the session, or one of the user's own between them. */
export interface Step extends LoggedEntry {
  /** The first. */
  parent: Oid | null;
  /** The author as the commit has it: name, address, time. */
  ident: string;
}

/** A turn as far as the labels of its commits describe it; the text of a label has one line, and is short. */
export interface TurnOutline {
  turn: TurnName;
  /** Oldest first. */
  steps: Step[];
  /** The title of its first message, else of its first step. */
  title: string;
  /** The title of its plan; null when there is none. */
  planTitle: string | null;
  /** There is a plan or another answer, whoever gave it. */
  isAnswered: boolean;
  /** `unknown`: there is a report, and its commit does not say how the run has ended. Null when there is no report. */
  outcome: RunStatus | 'unknown' | null;
  /** The last word on its plan; null: nobody has judged it. */
  verdict: VerdictWord | null;
  /** Another agent has made its plan, which teddy does not run. */
  isAgentPlan: boolean;
  /** Who gave the last answer, as its commit says. */
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** All models that have answered. */
  models: string[];
  /** The cost of all its answers, as far as the endpoints have reported it. */
  spent: Spending;
  /** The commit that has taken back the code of the turn. */
  undoneBy: Oid | null;
  /** The commit since which only some of the code is taken back. */
  partlyUndoneBy: Oid | null;
}

export interface Session {
  session: SessionId;
  tip: Oid;
  /** Oldest first; of another session that this one started from, nothing. */
  steps: Step[];
  /** In the order of their first steps. */
  turns: TurnOutline[];
  /** The newest entry: its tree holds the files of all turns. Null when the range has no entry. */
  source: Oid | null;
  /** Where the range begins, else the parent of the session's start; null when there is none, or the walk ended before it. */
  base: Oid | null;
  /** The branch on which the session started, as its first entry says. */
  baseBranch: string | null;
  /** The other agent whose session it is. */
  agent: string | null;
}

export interface SessionRange {
  session: SessionId;
  tip: Oid;
  /** The range begins after this commit; null: the whole line. */
  after?: Oid | null;
}

export interface SessionOptions {
  /** The steps of this turn alone are read: the walk ends where earlier turns do. */
  only?: TurnName | undefined;
  /** Reads the commits by a git process of its own: for whoever looks at all of a line that may be long. */
  isLong?: boolean | undefined;
  /** No more steps than this are read, the newest ones. */
  most?: number | undefined;
}

/** Throws GIT_FAILED where a commit is missing. */
export async function readSession(
  store: Pick<SessionStore, 'firstParents' | 'firstParentsOf'>,
  { session, tip, after = null }: SessionRange,
  { only, isLong = false, most = Infinity }: SessionOptions = {},
): Promise<Session> {
  const steps: Step[] = [];
  let start: Step | null = null;
  let source: Oid | null = null;
  for await (const walked of isLong && after === null ? store.firstParentsOf([tip]) : walkRange(store, tip, after)) {
    const step = toStep(walked);
    const { entry } = step;
    if (entry !== null && entry.session !== session) continue;
    if (entry !== null) source ??= step.commit;
    if (only !== undefined && isBefore(entry, only)) break;
    if (only === undefined || entry?.turn === only || entry?.kind === 'start') steps.push(step);
    if (isStartOf(step, session)) start = step;
    if (start !== null || steps.length === most) break;
  }
  steps.reverse();
  return {
    session,
    tip,
    steps,
    turns: [...groupByTurn(steps)].map(([turn, own]) => outlineTurn(turn, own)),
    source,
    base: start?.parent ?? after,
    baseBranch: start?.entry?.baseBranch ?? null,
    agent: start?.entry?.foreign?.agent ?? null,
  };
}

async function* walkRange(
  store: Pick<SessionStore, 'firstParents'>,
  tip: Oid,
  after: Oid | null,
): AsyncGenerator<WalkedCommit> {
  for await (const { oid, commit } of store.firstParents(tip, after === null ? [] : [after]))
    yield { ...commit, oid, parent: commit.parents[0] ?? null };
}

export function toStep(walked: WalkedCommit): Step {
  return { ...toLogged(walked.oid, walked), parent: walked.parent, ident: walked.author };
}

/** The step as a log lists it: without whatever only a walk needs. */
export function toLogEntry({ parent: _parent, ident: _ident, ...logged }: Step): LoggedEntry {
  return logged;
}

/** Entries of earlier turns may stand later: they take a turn back, or judge its plan. */
function isBefore(entry: Entry | null, turn: TurnName): boolean {
  return entry !== null && entry.turn !== null && !comesLater(entry.kind) && compareTurns(entry.turn, turn) < 0;
}

/** Groups steps in their order; what is of no turn is left out. */
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

/** Describes a turn by its steps, oldest first; one that no commit speaks of has none. */
export function outlineTurn(turn: TurnName, steps: Step[]): TurnOutline {
  const entries = steps.flatMap(({ entry }) => entry ?? []);
  const plan = entries.findLast(({ kind }) => kind === 'plan');
  const report = entries.findLast(({ kind }) => kind === 'report');
  const words = entries.flatMap(({ kind, verdict }) => (kind === 'approval' && verdict !== undefined ? [verdict] : []));
  const answered = entries.findLast(({ model }) => model !== undefined);
  return {
    turn,
    steps,
    title: (entries.find(({ kind }) => kind === 'message') ?? entries[0])?.title ?? '',
    planTitle: plan?.title ?? null,
    isAnswered: entries.some(({ kind }) => answers.includes(kind)),
    outcome: report === undefined ? null : (runStatuses.find((status) => status === report.status) ?? 'unknown'),
    verdict: words.findLast((word) => word !== 'none') ?? null,
    // Only the plans of teddy's own name the agent of the request.
    isAgentPlan: plan !== undefined && plan.agent === undefined,
    agent: answered?.agent ?? null,
    provider: answered?.provider ?? null,
    model: answered?.model ?? null,
    models: [...new Set(entries.filter(isAnswer).flatMap(({ model }) => model ?? []))],
    spent: sumSpent(entries),
    ...findUndo(steps),
  };
}

const answers: readonly EntryKind[] = ['plan', 'reply', 'exchange'];

/** The last undo decides. */
function findUndo(steps: readonly Pick<Step, 'entry' | 'commit'>[]): Pick<TurnOutline, 'undoneBy' | 'partlyUndoneBy'> {
  const last = steps.findLast(({ entry }) => entry?.kind === 'undo');
  const how = howUndone(last?.entry);
  const commit = last?.commit ?? null;
  return { undoneBy: how === 'whole' ? commit : null, partlyUndoneBy: how === 'part' ? commit : null };
}
