/** The turn that a person means: by its name on a line, or as the last one of a line or of a commit. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseTurnName, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { comesLater } from '../../session/entries/entry.ts';
import type { LoggedEntry } from '../../session/entries/logged-entry.ts';
import { findTurn, lookForTurn, readLineTurns, type LineTurns, type Session } from '../../view/view.ts';
import { findLineWith, findRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { listSessionLines } from '../../session/lines/session-lines.ts';

export interface FoundTurn {
  session: SessionId;
  line: RecordedLine;
  /** The state of the whole line, or at the commit that was named. */
  state: LineTurns;
  turn: TurnName;
}

export interface TurnSelection {
  /** A turn; or a line, or a commit: then its last turn. Nothing: the last turn of the line. */
  text?: string | undefined;
  /** The line that has the turn, in the words of `findRecorded`. */
  selector?: string | undefined;
}

/** `02` of a line without one is `02-branch-01` there. Throws UNKNOWN_TURN, USAGE, and what `findRecorded` throws. */
export async function findTurnOf(project: Project, { text, selector }: TurnSelection): Promise<FoundTurn> {
  if (text === undefined) return lastTurnOf(project, await findRecorded(project, selector));
  if (!isTurnLike(text)) return findByTarget(project, text, selector);
  const line = await findRecorded(project, selector);
  const state = await readLineTurns(project.repository.store, line.tip);
  const elsewhere = lookForTurn(state, text) === null ? await findElsewhere(project, state, parseTurnName(text)) : null;
  return elsewhere ?? { session: state.session, line, state, turn: findTurn(state, text) };
}

/** Finds what `findTurnOf` does, but a line of exactly this name counts first, also the main line: for two that are compared. */
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

/** Seven digits and more may be a commit's. */
function isTurnLike(text: string): boolean {
  return /^\d{1,6}(?:-branch-\d{1,6})?$/.test(text);
}

async function findByTarget(project: Project, text: string, selector: string | undefined): Promise<FoundTurn> {
  if (selector === undefined) return lastTurnOf(project, await findRecorded(project, text));
  const hint = 'Give a turn, such as 02 or 02-branch-01, or leave out `-s`.';
  throw new TeddyError('USAGE', `${JSON.stringify(text)} is no turn, and -s names a session as well.`, hint);
}

async function lastTurnOf({ repository: { store } }: Project, line: RecordedLine): Promise<FoundTurn> {
  const state = await readLineTurns(store, line.tip);
  const turn = state.turns.at(-1);
  if (turn !== undefined) return { session: state.session, line, state, turn };
  throw new TeddyError('UNKNOWN_TURN', `${state.session} has no turn yet.`, 'Begin: `teddy session plan -m "..."`.');
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

/** The turn before it on its line; null: it is the first. */
export function turnBefore({ state, turn }: FoundTurn): TurnName | null {
  const at = state.turns.indexOf(turn);
  return at > 0 ? (state.turns[at - 1] ?? null) : null;
}

/** The code as the turn left it: the user's own edits after it are not part of it. */
export function codeOf({ line }: FoundTurn, entries: readonly Pick<LoggedEntry, 'commit' | 'entry'>[]): Oid {
  return entries.findLast(({ entry }) => !comesLater(entry?.kind))?.commit ?? line.tip;
}

/** Throws SHALLOW_CLONE where the history is cut off, and no commit of the turn is here. */
export function requireCommits({ steps, isCut }: Pick<Session, 'steps' | 'isCut'>, turn: TurnName): void {
  if (!isCut || steps.some(({ entry }) => entry?.turn === turn)) return;
  throw new TeddyError(
    'SHALLOW_CLONE',
    `The history is cut off here: no commit of turn ${turn} is in this clone.`,
    'Fetch all of it: `git fetch --unshallow`.',
  );
}
