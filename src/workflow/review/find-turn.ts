/** Finds the turn that the user means: by its name on a line, or as the last turn of a line or commit. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseTurnName, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { mayFollowTurn } from '../../session/entries/entry.ts';
import type { LoggedEntry } from '../../session/entries/logged-entry.ts';
import { findTurn, lookForTurn, readLineTurns, type LineTurns, type Session } from '../../view/view.ts';
import { findLineWith, findRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { listSessionLines } from '../../session/lines/session-lines.ts';

export interface FoundTurn {
  session: SessionId;
  line: RecordedLine;
  /** The state of the whole line, or its state at the named commit. */
  state: LineTurns;
  turn: TurnName;
}

export interface TurnSelection {
  /** A turn, or a line or commit for its last turn. Defaults to the line's last turn. */
  text?: string | undefined;
  /** The line that has the turn, as `findRecorded` accepts it. */
  selector?: string | undefined;
}

/**
 * Finds a turn. If a line has no `02`, finds its `02-branch-01`. Throws UNKNOWN_TURN, USAGE, and the errors of
 * `findRecorded`.
 */
export async function findTurnOf(project: Project, { text, selector }: TurnSelection): Promise<FoundTurn> {
  if (text === undefined) return lastTurnOf(project, await findRecorded(project, selector));
  if (!isTurnLike(text)) return findByTarget(project, text, selector);
  const line = await findRecorded(project, selector);
  const state = await readLineTurns(project.repository.store, line.tip);
  const elsewhere = lookForTurn(state, text) === null ? await findElsewhere(project, state, parseTurnName(text)) : null;
  return elsewhere ?? { session: state.session, line, state, turn: findTurn(state, text) };
}

/** Finds a turn as `findTurnOf` does, but prefers a line with exactly this name, even the main line, to compare two turns. */
export async function findExactTurn(project: Project, { text, selector }: TurnSelection): Promise<FoundTurn> {
  if (text !== undefined && isTurnLike(text)) {
    const line = await findRecorded(project, selector);
    const state = await readLineTurns(project.repository.store, line.tip);
    const wanted = parseTurnName(text);
    const found = state.turns.includes(wanted) ? null : await findOnLine(project, state, wanted, (one) => one.isMain);
    if (found !== null) return found;
  }
  return findTurnOf(project, { text, selector });
}

/** A name of seven or more digits may be a commit. */
function isTurnLike(text: string): boolean {
  return /^\d{1,6}(?:-branch-\d{1,6})?$/.test(text);
}

async function findByTarget(project: Project, text: string, selector: string | undefined): Promise<FoundTurn> {
  if (selector === undefined) return lastTurnOf(project, await findRecorded(project, text));
  const hint = 'Name a turn, such as 02 or 02-branch-01, or omit `-s`.';
  throw new TeddyError('USAGE', `${JSON.stringify(text)} is not a turn, and -s names a session as well.`, hint);
}

async function lastTurnOf({ repository: { store } }: Project, line: RecordedLine): Promise<FoundTurn> {
  const state = await readLineTurns(store, line.tip);
  const turn = state.turns.at(-1);
  if (turn !== undefined) return { session: state.session, line, state, turn };
  throw new TeddyError('UNKNOWN_TURN', `${state.session} has no turns yet.`, 'Start with `teddy plan -m "..."`.');
}

async function findElsewhere(project: Project, { session }: LineTurns, turn: TurnName): Promise<FoundTurn | null> {
  const line = await findLineWith(project, session, turn);
  if (line === null) return null;
  return { session, line, state: await readLineTurns(project.repository.store, line.tip), turn };
}

async function findOnLine(
  project: Project,
  { session }: LineTurns,
  turn: TurnName,
  isWanted: (line: Awaited<ReturnType<typeof listSessionLines>>['lines'][number]) => boolean,
): Promise<FoundTurn | null> {
  const { lines } = await listSessionLines(project, session);
  const found = lines.find(isWanted);
  if (found === undefined) return null;
  const state = await readLineTurns(project.repository.store, found.tip);
  if (!state.turns.includes(turn)) return null;
  const { name, ref, tip } = found;
  return { session, line: { session, name, ref, tip, after: null }, state, turn };
}

/** Returns the preceding turn on the line; null for the first turn. */
export function turnBefore({ state, turn }: FoundTurn): TurnName | null {
  const at = state.turns.indexOf(turn);
  return at > 0 ? (state.turns[at - 1] ?? null) : null;
}

/** Returns the commit with the code as the turn left it, without the user's own later edits. */
export function codeOf({ line }: FoundTurn, entries: readonly Pick<LoggedEntry, 'commit' | 'entry'>[]): Oid {
  return entries.findLast(({ entry }) => !mayFollowTurn(entry?.kind))?.commit ?? line.tip;
}

/** Throws SHALLOW_CLONE when the history is shallow and this clone contains none of the turn's commits. */
export function requireCommits({ steps, isCut }: Pick<Session, 'steps' | 'isCut'>, turn: TurnName): void {
  if (!isCut || steps.some(({ entry }) => entry?.turn === turn)) return;
  throw new TeddyError(
    'SHALLOW_CLONE',
    `This clone is shallow and has no commit of turn ${turn}.`,
    'Fetch the whole history: `git fetch --unshallow`.',
  );
}
