/** Collects a line's turns for a reviewer, with their plans, results and cost, and the changed files. */
import type { ChangedCommit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { sessionDir, type Oid, type TurnName } from '../../names.ts';
import {
  maxShownText,
  readSession,
  readContent,
  readTurnVerdicts,
  type Session,
  type Step,
  type TurnOutline,
} from '../../view/view.ts';
import { sumSpent } from '../../session/spending/spending.ts';
import { listCodeChanges } from './diff-files.ts';
import { findUnlandedBase } from '../line/session-start.ts';
import { findRecorded, warnOfCut } from '../line/find-recorded.ts';
import { countFiles, labelTurn, reviewTurn, type ReviewedTurn } from './turn.ts';
import type { OwnCommit, Review, ReviewedLine, SignedReview } from './review.ts';
import { listAnswerers, listApprovers, listWorkers } from './who.ts';
import { maskTexts } from '../line/mask-text.ts';

/** Masks secrets in every text. Throws the errors of `findRecorded`, DAMAGED_SESSION or MASKING_FAILED. */
export async function reviewSession(project: Project, target: string | undefined): Promise<Review> {
  const { readTurns, ...line } = await openReview(project, target);
  const turns: ReviewedTurn[] = [];
  for await (const turn of readTurns()) turns.push(turn);
  const inOrder = turns.toReversed();
  return { ...line, turns: inOrder, approvers: listApprovers(inOrder) };
}

/** Opens the same review as `reviewSession`, but reads turns on demand. */
export async function openReview(project: Project, target: string | undefined): Promise<ReviewedLine> {
  const { store } = project.repository;
  const line = await findRecorded(project, target);
  const session = await readSession(store, line);
  warnOfCut(project, session);
  const { steps, base, baseBranch, agent, isCut } = session;
  const review = await maskTexts(project.masker, {
    session: line.session,
    line: line.name,
    tip: line.tip,
    base,
    baseBranch,
    baseSession: base === null ? null : await findUnlandedBase(project, line.session, base),
    turns: session.turns.map(labelTurn),
    models: listAnswerers(
      steps.flatMap(({ entry }) => entry ?? []),
      agent,
    ),
    people: listWorkers(steps),
    commits: listOwn(steps),
    spent: sumSpent(steps.flatMap(({ entry }) => entry ?? [])),
    files: await countFiles(
      store,
      await listCodeChanges(store, isCut ? (steps[0]?.commit ?? line.tip) : base, line.tip),
    ),
  });
  return { ...review, readTurns: () => readNewest(project, session, session.turns.toReversed()) };
}

/** Reviews the newest turns, at most `most`, with git's verdict on the line's signatures. Throws as `reviewSession` does. */
export async function reviewSigned(
  project: Project,
  target: string,
  { most, signal }: { most: number; signal: AbortSignal },
): Promise<SignedReview> {
  const { readTurns, ...line } = await openReview(project, target);
  const newest: ReviewedTurn[] = [];
  for await (const turn of readTurns()) {
    newest.unshift(turn);
    if (newest.length === most) break;
  }
  const not = line.base === null ? [] : [line.base];
  const signatures = await project.repository.store.checkSignatures(line.tip, not, { withKeys: true, signal });
  return { ...line, newest, signatures };
}

/**
 * The number of turns whose changes the first walk reads. Each walk covers twice as many turns as the previous one, so
 * a few walks are enough for all turns.
 */
const firstTurns = 32;
/** A review shows no more than this from any text. */
const maxKept = 65_536;
/** Limits the number of turns that teddy reads at a time, because they may be large. */
const turnsAtOnce = 4;

async function* readNewest(
  project: Project,
  session: Session,
  newest: readonly TurnOutline[],
): AsyncGenerator<ReviewedTurn> {
  const {
    masker,
    repository: { store },
  } = project;
  const { source } = session;
  if (source === null) return;
  const dir = await store.readDir(source, sessionDir(session.session));
  const trees = new Map(dir?.entries.map(({ name, oid, mode }) => [name, mode === '40000' ? oid : undefined]));
  const changes = changeReader(store, session);
  for (let at = 0; at < newest.length; at = 2 * at + firstTurns) {
    const some = newest.slice(at, 2 * at + firstTurns);
    // Turns are sorted by their first steps, so no step in these turns is older than the last turn's first step.
    const read = await changes(some.at(-1)?.steps[0]);
    const changesOf = (commit: Oid) => read.get(commit) ?? [];
    const readOne = async (outline: TurnOutline) => {
      const tree = trees.get(outline.turn);
      const entries = tree === undefined ? [] : await store.readTree(tree);
      const place = { session: session.session, turn: outline.turn };
      const content = await readContent(store, { ...place, commit: source }, { most: maxShownText, entries });
      const verdicts = await readTurnVerdicts(project, place, outline.steps);
      const turn = { ...outline, ...content };
      return maskTexts(masker, await reviewTurn(store, { turn, verdicts, agent: session.agent, changesOf }), maxKept);
    };
    for (let next = 0; next < some.length; next += turnsAtOnce)
      yield* await Promise.all(some.slice(next, next + turnsAtOnce).map(readOne));
  }
}

type Changes = ReadonlyMap<Oid, ChangedCommit['changes']>;

/**
 * Reads the changes from the given step on, and reads none twice. The changes in a shallow history's first commit are
 * unknown.
 */
function changeReader(store: Store, { steps, isCut }: Session): (first: Step | undefined) => Promise<Changes> {
  const known = new Map<Oid, ChangedCommit['changes']>();
  let from = steps.length;
  return async (first) => {
    const next = first === undefined ? from : steps.indexOf(first);
    const unread = steps
      .slice(isCut ? Math.max(next, 1) : next, from)
      .map(({ commit, parent }) => ({ oid: commit, parent }));
    for await (const { oid, changes } of store.changesOf(unread)) known.set(oid, changes);
    from = Math.min(next, from);
    return known;
  };
}

function listOwn(steps: readonly Step[]): OwnCommit[] {
  let after: TurnName | null = null;
  const own: OwnCommit[] = [];
  for (const { commit, subject, entry } of steps) {
    if (entry?.turn) after = entry.turn;
    if (entry === null) own.push({ commit, subject, after });
  }
  return own;
}
