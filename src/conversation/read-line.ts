/** Reads a line at one of its commits: its turns, and how far the latest one has come. */
import { TeddyError } from '../errors.ts';
import {
  isTurnName,
  parseTurnName,
  sessionDir,
  sortTurns,
  turnDir,
  turnNumber,
  type Oid,
  type SessionId,
  type TurnName,
} from '../names.ts';
import { parsePlan, type ParseOptions } from '../plan/parse.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import type { SessionStore, TreeEntry } from '../ports/git.ts';
import { decodeEntry, type Entry } from '../session/entry.ts';
import type { HistoryPart } from '../session/history-text.ts';
import { decodeTranscript } from './decode-transcript.ts';
import type { TranscriptRecord } from './record.ts';
import { endsDenied, endsJudged, hasAgentPlan, lastAnswer, userMessages } from './transcript.ts';
import { toTurnHistory } from './turn-history.ts';

/** `open`: no complete answer yet. `planned`: a plan without a report. `closed`: anything else. */
export type TurnStatus = 'open' | 'planned' | 'closed';

export interface Turn {
  turn: TurnName;
  status: TurnStatus;
  records: TranscriptRecord[];
  transcript: Uint8Array;
  plan: Uint8Array | null;
  /** Null where there is no plan of teddy's, or its report is there. */
  parsed: ParsedPlan | null;
  report: Uint8Array | null;
}

export interface LineTurns {
  tip: Oid;
  session: SessionId;
  /** The nearest entry at or below the tip. */
  entry: Entry;
  entryOid: Oid;
  /** The names of all turns, in order. */
  turns: TurnName[];
}

export interface LineState extends LineTurns {
  latest: Turn | null;
}

/** `options` say how its pending plan is parsed. */
export async function readLine(store: SessionStore, tip: Oid, options: ParseOptions = {}): Promise<LineState> {
  const state = await readLineTurns(store, tip);
  const last = state.turns.at(-1);
  return {
    ...state,
    latest: last === undefined ? null : await readTurn(store, state.entryOid, state.session, last, options),
  };
}

/** No file of any turn is read. */
export async function readLineTurns(store: SessionStore, tip: Oid): Promise<LineTurns> {
  const { oid, entry } = await findEntry(store, tip);
  const dir = await store.readDir(oid, sessionDir(entry.session));
  const turns: TurnName[] = [];
  for (const { mode, name } of dir?.entries ?? []) if (mode === '40000' && isTurnName(name)) turns.push(name);
  return { tip, session: entry.session, entry, entryOid: oid, turns: sortTurns(turns) };
}

/** The nearest entry along the first parents; commits of the user's own are passed over. */
export async function findEntry(store: SessionStore, tip: Oid): Promise<{ oid: Oid; entry: Entry }> {
  for await (const { oid, commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry) return { oid, entry };
  }
  throw new TeddyError(
    'NOT_ON_LINE',
    `No session has an entry at or below ${tip.slice(0, 12)}.`,
    'Choose a session with -s.',
  );
}

/** Throws UNKNOWN_TURN when the commit has no such turn. */
export async function readTurn(
  store: SessionStore,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
  options: ParseOptions = {},
): Promise<Turn> {
  const entries = await listTurn(store, commit, session, turn);
  const read = async (name: string) => {
    const found = entries.find((entry) => entry.name === name);
    return found ? store.readBlob(found.oid) : null;
  };
  const [transcript, plan, report] = await Promise.all([read('transcript.jsonl'), read('plan.md'), read('report.md')]);
  const { records } = decodeTranscript(toText(transcript));
  const parsed = hasAgentPlan(records) ? null : parsePending(plan && toText(plan), report !== null, options);
  return {
    turn,
    status: toStatus(records, parsed, report !== null),
    records,
    transcript: transcript ?? new Uint8Array(),
    plan,
    parsed,
    report,
  };
}

/** Its directory. Throws UNKNOWN_TURN when the commit has no such turn. */
export async function listTurn(
  store: Pick<SessionStore, 'readDir'>,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
): Promise<TreeEntry[]> {
  const listed = await store.readDir(commit, turnDir(session, turn));
  if (listed === null) throw unknownTurnError(session, turn);
  return listed.entries;
}

/** The turn that a person means; `02` also means `02-branch-01` on a line that has no plain turn 02. */
export function findTurn(state: LineTurns, text: string): TurnName {
  const turn = lookForTurn(state, text);
  if (turn === null) throw unknownTurnError(state.session, parseTurnName(text));
  return turn;
}

/** The same; null: the line has no such turn. */
export function lookForTurn({ turns }: Pick<LineTurns, 'turns'>, text: string): TurnName | null {
  const wanted = parseTurnName(text);
  if (turns.includes(wanted)) return wanted;
  const sameNumber = turns.filter((turn) => turnNumber(turn) === turnNumber(wanted));
  return sameNumber.length === 1 && !wanted.includes('-') ? (sameNumber[0] ?? null) : null;
}

function unknownTurnError(session: SessionId, turn: string): TeddyError {
  return new TeddyError(
    'UNKNOWN_TURN',
    `There is no turn ${turn} on this line of ${session}.`,
    `\`teddy session log ${session}\` shows the turns.`,
  );
}

/** A plan that has its report is not parsed: nobody executes it any more. */
export function parsePending(plan: string | null, hasReport: boolean, options: ParseOptions = {}): ParsedPlan | null {
  return plan === null || hasReport ? null : parsePlan(plan, options);
}

/** `pending` is the plan without a report, parsed; the plan of another agent waits for no execution. */
export function toStatus(records: TranscriptRecord[], pending: ParsedPlan | null, hasReport: boolean): TurnStatus {
  if (hasReport) return 'closed';
  if (pending !== null && !hasAgentPlan(records)) return isOnlyMessage(pending) ? 'closed' : 'planned';
  const isOver = lastAnswer(records)?.complete === true || endsDenied(records) || endsJudged(records);
  return isOver ? 'closed' : 'open';
}

/** The line ends with the plan of another agent: nobody has judged it, and the agent has not gone on. */
export function awaitsVerdict({ latest, entry }: Pick<LineState, 'latest' | 'entry'>): boolean {
  return entry.kind === 'plan' && latest?.status === 'open' && hasAgentPlan(latest.records);
}

/** A plan that only speaks has nothing to execute. */
export function isOnlyMessage({ plan, problems }: ParsedPlan): boolean {
  return problems.length === 0 && plan.message !== null && plan.actions.length === 0 && plan.memos.length === 0;
}

export function toText(bytes: Uint8Array | null): string {
  return bytes === null ? '' : new TextDecoder().decode(bytes);
}

/** The messages of a turn, without the content of its report. */
export interface TurnSummary {
  status: TurnStatus;
  /** The user's words, in order. */
  messages: string[];
  /** Everything in its order, tool calls and what was spoken included, but for the report. */
  said: readonly HistoryPart[];
  /** An answer that is no plan. */
  reply: string | null;
  replyIsPartial: boolean;
  /** Not among what was said. */
  asides: Asides;
}

/** Counts the records of what a model thought, and the notes. */
export interface Asides {
  thoughts: number;
  notes: number;
}

function countAsides(records: readonly TranscriptRecord[]): Asides {
  const count = (type: 'thinking' | 'note') => records.filter((record) => record.type === type).length;
  return { thoughts: count('thinking'), notes: count('note') };
}

export function summarizeTurn(
  turn: TurnName,
  records: TranscriptRecord[],
  { plan, hasReport }: { plan: string | null; hasReport: boolean },
): TurnSummary {
  const answer = plan === null ? lastAnswer(records) : null;
  return {
    status: toStatus(records, parsePending(plan, hasReport), hasReport),
    messages: userMessages(records),
    said: toTurnHistory(turn, records, { plan, report: null }).parts,
    reply: answer && 'text' in answer ? answer.text : null,
    replyIsPartial: answer?.complete === false,
    asides: countAsides(records),
  };
}
