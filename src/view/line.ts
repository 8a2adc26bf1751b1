/** Reads a line at one of its commits: its turns, and the progress of the latest one. */
import { decodeTranscript } from '../conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../conversation/records/record.ts';
import { endsWithAgentPlan, hasAgentPlan, isUnanswered } from '../conversation/records/transcript.ts';
import { TeddyError } from '../errors.ts';
import {
  isTurnName,
  parseTurnName,
  sessionDir,
  sortTurns,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../names.ts';
import type { ParseOptions } from '../plan/parse/parse.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import type { SessionStore } from '../ports/git.ts';
import { decodeEntry, type Entry } from '../session/entries/entry.ts';
import { listTurn, readTurnFile, toText, unknownTurnError } from './bodies.ts';
import { parsePending, toStatus } from './turn.ts';
import type { TurnStatus } from '../session/lines/line-order.ts';

/** A turn in the form that continuing code needs: the bytes of its files, and its plan while the plan is pending. */
export interface TurnState {
  turn: TurnName;
  status: TurnStatus;
  records: TranscriptRecord[];
  transcript: Uint8Array;
  plan: Uint8Array | null;
  /** Null when there is no plan in teddy's grammar, or when its report exists. */
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
  latest: TurnState | null;
}

/** Reads a line and its latest turn. `options` control how the pending plan is parsed. */
export async function readLine(store: SessionStore, tip: Oid, options: ParseOptions = {}): Promise<LineState> {
  const state = await readLineTurns(store, tip);
  const last = state.turns.at(-1);
  return {
    ...state,
    latest: last === undefined ? null : await readTurnState(store, state.entryOid, state.session, last, options),
  };
}

/** Reads a line without the files of its turns. */
export async function readLineTurns(store: SessionStore, tip: Oid): Promise<LineTurns> {
  const { oid, entry } = await findEntry(store, tip);
  const dir = await store.readDir(oid, sessionDir(entry.session));
  const turns: TurnName[] = [];
  for (const { mode, name } of dir?.entries ?? []) if (mode === '40000' && isTurnName(name)) turns.push(name);
  return { tip, session: entry.session, entry, entryOid: oid, turns: sortTurns(turns) };
}

/**
 * Returns the nearest entry along the first parents, skipping the user's own commits. Throws NOT_ON_LINE when there is
 * no entry.
 */
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
export async function readTurnState(
  store: SessionStore,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
  options: ParseOptions = {},
): Promise<TurnState> {
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

/**
 * Returns the turn that the user's text means; `02` also means `02-branch-01` on a line without a plain turn 02. Throws
 * UNKNOWN_TURN.
 */
export function findTurn(state: LineTurns, text: string): TurnName {
  const turn = lookForTurn(state, text);
  if (turn === null) throw unknownTurnError(state.session, parseTurnName(text));
  return turn;
}

/** Like `findTurn`, but returns null when the line has no such turn. */
export function lookForTurn({ turns }: Pick<LineTurns, 'turns'>, text: string): TurnName | null {
  const wanted = parseTurnName(text);
  if (turns.includes(wanted)) return wanted;
  const sameNumber = turns.filter((turn) => turnNumber(turn) === turnNumber(wanted));
  return sameNumber.length === 1 && !wanted.includes('-') ? (sameNumber[0] ?? null) : null;
}

/** Returns true if the line's last turn ends with another agent's plan that waits for a verdict. */
export function awaitsVerdict({ latest }: Pick<LineState, 'latest'>): boolean {
  return latest !== null && endsWithAgentPlan(latest.records);
}

interface LineTarget {
  /** The work tree whose HEAD is on the line, if any. */
  workspace: { root: string } | null;
  /** The line as last read. */
  state?: LineState;
}

/** Returns the line at this commit, and reads it only when its state at that commit is not known yet. */
export async function readLineAt(store: SessionStore, { workspace, state }: LineTarget, tip: Oid): Promise<LineState> {
  return state?.tip === tip ? state : readLine(store, tip, workspace ? { projectRoot: workspace.root } : {});
}

/** Returns the line at the current tip of its branch, and reads it only when the branch has moved. */
export async function refreshLine(
  store: SessionStore,
  line: LineTarget & { ref: RefName; state: LineState },
): Promise<LineState> {
  return readLineAt(store, line, (await store.resolve(line.ref)) ?? line.state.tip);
}

/** Returns the line after this process added an entry that changes none of a turn's files. */
export function withEntry(state: LineState, commit: Oid, entry: Entry): LineState {
  return { ...state, tip: commit, entry, entryOid: commit };
}

/**
 * Returns the latest turn if it waits for an answer. A turn with another agent's plan cannot take a plan in teddy's
 * grammar.
 */
export function findWaiting({ latest }: Pick<LineState, 'latest'>): TurnState | null {
  return latest?.status === 'open' && !hasAgentPlan(latest.records) ? latest : null;
}

/** Returns the latest turn if a question about its plan waits for an answer. */
export function findAsked({ latest }: Pick<LineState, 'latest'>): TurnState | null {
  return latest?.status === 'planned' && isUnanswered(latest.records) ? latest : null;
}

/** Returns the open turn, or the one after the latest. */
export function nextTurn({ latest }: LineState): TurnName {
  const waiting = findWaiting({ latest });
  if (waiting !== null) return waiting.turn;
  return toTurnName((latest ? turnNumber(latest.turn) : 0) + 1);
}

/** Reads the records of a turn without its plan and report. */
export async function readRecords(
  store: SessionStore,
  { entryOid, session }: LineTurns,
  turn: TurnName,
): Promise<TranscriptRecord[]> {
  return decodeTranscript((await readTurnFile(store, { commit: entryOid, session, turn }, 'transcript.jsonl')) ?? '')
    .records;
}
