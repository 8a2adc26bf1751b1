/** Reads a session along one of its lines: its steps, and what the commits' labels reveal about its turns. */
import { compareTurns, type Oid, type SessionId, type TurnName } from '../names.ts';
import type { SessionStore, WalkedCommit } from '../ports/git.ts';
import { mayFollowTurn, type Entry, type VerdictWord } from '../session/entries/entry.ts';
import { undoneExtent } from '../session/lines/line-paths.ts';
import { isStartOf, toDecoded, type DecodedCommit } from '../session/entries/logged-entry.ts';
import { isAnswer, sumSpent, type Spending } from '../session/spending/spending.ts';
import { groupBy } from '../session/text/group-by.ts';
import { answerKinds } from '../session/lines/line-order.ts';
import { type RunStatus, runStatuses } from '../session/entries/entry-trailers.ts';

/** One of the line's commits: an entry of the session, or the user's own commit in between. */
export interface Step extends DecodedCommit {
  /** The first parent. */
  parent: Oid | null;
}

/** A turn as described by its commits' labels. A label's text is one short line. */
export interface TurnOutline {
  turn: TurnName;
  /** Oldest first. */
  steps: Step[];
  /** The first message's title, otherwise the first step's. */
  title: string;
  /** The plan's title; null when there is none. */
  planTitle: string | null;
  /** True when the turn has a plan or another answer, from anyone. */
  isAnswered: boolean;
  /** `unknown` when the report's commit does not record how the run ended. Null when there is no report. */
  outcome: RunStatus | 'unknown' | null;
  /** The last verdict on the turn's plan; null when nobody has judged the plan. */
  verdict: VerdictWord | null;
  /** True when another agent made the turn's plan, so that teddy does not run it. */
  isAgentPlan: boolean;
  /** The agent that gave the last answer, according to its commit. */
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** All models that answered in the turn. */
  models: string[];
  /** The cost of all the turn's answers, if the endpoints reported it. */
  spent: Spending;
  /** The commit that undid the turn's code. */
  undoneBy: Oid | null;
  /** The commit that undid only some of the turn's code. */
  partlyUndoneBy: Oid | null;
}

export interface Session {
  session: SessionId;
  tip: Oid;
  /** Oldest first, without the steps of another session from which this one started. */
  steps: Step[];
  /** Sorted by their first steps. */
  turns: TurnOutline[];
  /** The newest entry, whose tree contains the files of all turns. Null when the range has no entry. */
  source: Oid | null;
  /**
   * The commit before the range, otherwise the parent of the session's start; null when there is none, or when the
   * history is cut off.
   */
  base: Oid | null;
  /**
   * True when the available history, as in a shallow clone, ends before the requested range begins, or right at the
   * session's start.
   */
  isCut: boolean;
  /** The branch from which the session started, according to its first entry. */
  baseBranch: string | null;
  /** The other agent that owns the session. */
  agent: string | null;
}

export interface SessionRange {
  session: SessionId;
  tip: Oid;
  /** The commit before the range; null for the whole line. */
  after?: Oid | null;
}

export interface SessionOptions {
  /** Reads only this turn's steps; the walk ends at earlier turns. */
  only?: TurnName | undefined;
  /** Reads at most this many of the newest steps. */
  most?: number | undefined;
}

type Walks = Pick<SessionStore, 'firstParents' | 'firstParentsOf' | 'readCommit' | 'readSize'>;

/** Throws GIT_FAILED when a commit is missing. */
export async function readSession(store: Walks, range: SessionRange, options: SessionOptions = {}): Promise<Session> {
  const walked = await readSteps(store, range, options);
  return { ...walked, turns: [...groupByTurn(walked.steps)].map(([turn, own]) => outlineTurn(turn, own)) };
}

/**
 * Reads the session without its turns, for a caller that only lists its commits. Throws GIT_FAILED when a commit is
 * missing.
 */
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

/** Returns true if the commit's parent is missing here; `git rev-list` does not report a missing parent. */
async function isFirstHere(store: Walks, { commit, parent }: Step): Promise<boolean> {
  if (parent === null) return (await store.readCommit(commit)).parents.length > 0;
  return (await store.readSize(parent)) === null;
}

/** For longer walks, a single git process that sends all commits is cheaper. */
const followedCommits = 40;

/** Passes the commits on, newest first, until `take` returns false. Returns true when the commits ran out first. */
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

/**
 * Returns true if the entry belongs to an earlier turn. Ignores entries that undo a turn or judge its plan, because
 * they may come later.
 */
function isBefore(entry: Entry | null, turn: TurnName): boolean {
  return entry !== null && entry.turn !== null && !mayFollowTurn(entry.kind) && compareTurns(entry.turn, turn) < 0;
}

/** Groups steps by turn, in their order; drops steps that do not belong to a turn. */
export function groupByTurn<Of extends Pick<Step, 'entry'>>(steps: readonly Of[]): Map<TurnName, Of[]> {
  const ofTurns = steps.filter(({ entry }) => entry !== null && entry.turn !== null);
  return groupBy(ofTurns, ({ entry }) => entry?.turn as TurnName);
}

/** Describes a turn from its steps, oldest first; there are none when no commit mentions the turn. */
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
    // Only teddy's own plans name the agent of the request.
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
  const how = undoneExtent(last?.entry);
  const commit = last?.commit ?? null;
  return { undoneBy: how === 'whole' ? commit : null, partlyUndoneBy: how === 'part' ? commit : null };
}
