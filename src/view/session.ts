/** Reads a session along one of its lines: its steps, and its turns as far as the labels of their commits tell. */
import { compareTurns, type Oid, type SessionId, type TurnName } from '../names.ts';
import type { SessionStore, WalkedCommit } from '../ports/git.ts';
import { comesLater, type Entry, type VerdictWord } from '../session/entries/entry.ts';
import { howUndone } from '../session/lines/line-paths.ts';
import { isStartOf, toDecoded, type DecodedCommit } from '../session/entries/logged-entry.ts';
import { isAnswer, sumSpent, type Spending } from '../session/spending/spending.ts';
import { groupBy } from '../session/text/group-by.ts';
import { answerKinds } from '../session/lines/line-order.ts';
import { type RunStatus, runStatuses } from '../session/entries/entry-trailers.ts';

/** A commit of the line: an entry of the session, or one of the user's own between them. */
export interface Step extends DecodedCommit {
  /** The first. */
  parent: Oid | null;
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
  /** Where the range begins, else the parent of the session's start; null when there is none, or the history is cut off. */
  base: Oid | null;
  /** The history that is here, as in a shallow clone, ends before what was asked for began, or right at the session's start. */
  isCut: boolean;
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
  /** No more steps than this are read, the newest ones. */
  most?: number | undefined;
}

type Walks = Pick<SessionStore, 'firstParents' | 'firstParentsOf' | 'readCommit' | 'readSize'>;

/** Throws GIT_FAILED where a commit is missing. */
export async function readSession(store: Walks, range: SessionRange, options: SessionOptions = {}): Promise<Session> {
  const walked = await readSteps(store, range, options);
  return { ...walked, turns: [...groupByTurn(walked.steps)].map(([turn, own]) => outlineTurn(turn, own)) };
}

/** Reads the session without its turns, for a caller that only lists its commits. Throws GIT_FAILED where a commit is missing. */
export async function readSteps(
  store: Walks,
  range: SessionRange,
  { only, most = Infinity }: SessionOptions = {},
): Promise<Omit<Session, 'turns'>> {
  const { session, tip, after = null } = range;
  const steps: Step[] = [];
  let source: Oid | null = null;
  const hasEnded = await walk(store, tip, after, (walked) => {
    const step = toStep(walked);
    const { entry } = step;
    if (entry !== null && entry.session !== session) return true;
    if (entry !== null) source ??= step.commit;
    if (only !== undefined && isBefore(entry, only)) return false;
    if (only === undefined || entry?.turn === only || entry?.kind === 'start') steps.push(step);
    return !isStartOf(step, session) && steps.length < most;
  });
  steps.reverse();
  const start = steps[0] !== undefined && isStartOf(steps[0], session) ? steps[0] : null;
  const isCut = after === null && (start === null ? hasEnded : await isFirstHere(store, start));
  return {
    session,
    tip,
    steps,
    source,
    base: isCut ? null : (start?.parent ?? after),
    isCut,
    baseBranch: start?.entry?.baseBranch ?? null,
    agent: start?.entry?.foreign?.agent ?? null,
  };
}

/** Whether the commit names a parent that is not here; `git rev-list` does not tell of such a parent. */
async function isFirstHere(store: Walks, { commit, parent }: Step): Promise<boolean> {
  if (parent === null) return (await store.readCommit(commit)).parents.length > 0;
  return (await store.readSize(parent)) === null;
}

/** Walks that go further are cheaper by one git process, which sends all commits along. */
const followedCommits = 40;

/** Passes the commits on, newest first, until `take` wants no more. True: `take` wanted more than there are. */
async function walk(
  store: Walks,
  tip: Oid,
  after: Oid | null,
  take: (walked: WalkedCommit) => boolean,
): Promise<boolean> {
  let followed = 0;
  let last: Oid | null = null;
  for await (const { oid, commit } of store.firstParents(tip, after === null ? [] : [after])) {
    if (!take({ ...commit, oid, parent: commit.parents[0] ?? null })) return false;
    followed += 1;
    if (after !== null || followed < followedCommits) continue;
    last = oid;
    break;
  }
  if (last === null) return true;
  for await (const walked of store.firstParentsOf([last])) if (walked.oid !== last && !take(walked)) return false;
  return true;
}

export function toStep(walked: WalkedCommit): Step {
  const { commit, entry, subject, ident, committer } = toDecoded(walked.oid, walked);
  return { commit, parent: walked.parent, entry, subject, ident, committer };
}

/** Entries of earlier turns may stand later: they take a turn back, or judge its plan. */
function isBefore(entry: Entry | null, turn: TurnName): boolean {
  return entry !== null && entry.turn !== null && !comesLater(entry.kind) && compareTurns(entry.turn, turn) < 0;
}

/** Groups steps in their order; what is of no turn is left out. */
export function groupByTurn<Of extends Pick<Step, 'entry'>>(steps: readonly Of[]): Map<TurnName, Of[]> {
  const ofTurns = steps.filter(({ entry }) => entry !== null && entry.turn !== null);
  return groupBy(ofTurns, ({ entry }) => entry?.turn as TurnName);
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
    isAnswered: entries.some(({ kind }) => answerKinds.includes(kind)),
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

/** The last undo decides. */
function findUndo(steps: readonly Pick<Step, 'entry' | 'commit'>[]): Pick<TurnOutline, 'undoneBy' | 'partlyUndoneBy'> {
  const last = steps.findLast(({ entry }) => entry?.kind === 'undo');
  const how = howUndone(last?.entry);
  const commit = last?.commit ?? null;
  return { undoneBy: how === 'whole' ? commit : null, partlyUndoneBy: how === 'part' ? commit : null };
}
