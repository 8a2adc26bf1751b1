/** A line as a command goes on with it: read again only where its branch has moved. */
import type { TranscriptRecord } from '../../conversation/record.ts';
import { decodeTranscript } from '../../conversation/decode-transcript.ts';
import { readLine, toText, type LineState, type LineTurns, type Turn } from '../../conversation/read-line.ts';
import { hasAgentPlan, isUnanswered } from '../../conversation/transcript.ts';
import type { Store } from '../../ports/git.ts';
import type { Entry } from '../../session/entry.ts';
import {
  joinPath,
  toTurnName,
  turnDir,
  turnNumber,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../../names.ts';

export {
  awaitsVerdict,
  findEntry,
  findTurn,
  lookForTurn,
  isOnlyMessage,
  listTurn,
  parsePending,
  readLine,
  readLineTurns,
  readTurn,
  toStatus,
  toText,
} from '../../conversation/read-line.ts';
export type { LineState, LineTurns, Turn, TurnStatus } from '../../conversation/read-line.ts';

interface LineTarget {
  /** The work tree whose HEAD is on the line, if any. */
  workspace: { root: string } | null;
  /** The line as it was when it was read. */
  state?: LineState;
}

/** The line at this commit. It is read only where its state there is not known already. */
export async function readLineAt(store: Store, { workspace, state }: LineTarget, tip: Oid): Promise<LineState> {
  return state?.tip === tip ? state : readLine(store, tip, workspace ? { projectRoot: workspace.root } : {});
}

/** The line as its branch has it now. It is read again only where the branch has moved since. */
export async function refreshLine(
  store: Store,
  line: LineTarget & { ref: RefName; state: LineState },
): Promise<LineState> {
  return readLineAt(store, line, (await store.resolve(line.ref)) ?? line.state.tip);
}

/** The line after an entry of one's own that touches no file of a turn. */
export function withEntry(state: LineState, commit: Oid, entry: Entry): LineState {
  return { ...state, tip: commit, entry, entryOid: commit };
}

/** The latest turn if it waits for an answer. One with the plan of another agent has no room for a plan of teddy's. */
export function findWaiting({ latest }: Pick<LineState, 'latest'>): Turn | null {
  return latest?.status === 'open' && !hasAgentPlan(latest.records) ? latest : null;
}

/** The latest turn if a question about its plan waits for an answer. */
export function findAsked({ latest }: Pick<LineState, 'latest'>): Turn | null {
  return latest?.status === 'planned' && isUnanswered(latest.records) ? latest : null;
}

/** The open turn, or the one after the latest. */
export function nextTurn({ latest }: LineState): TurnName {
  const waiting = findWaiting({ latest });
  if (waiting !== null) return waiting.turn;
  return toTurnName((latest ? turnNumber(latest.turn) : 0) + 1);
}

/** The records of a turn; its plan and its report are not read. */
export async function readRecords(
  store: Store,
  { entryOid, session }: LineTurns,
  turn: TurnName,
): Promise<TranscriptRecord[]> {
  return decodeTranscript((await readTurnFile(store, entryOid, session, turn, 'transcript.jsonl')) ?? '').records;
}

/** A file of a turn, as the commit has it. */
export async function readTurnFile(
  store: Store,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
  name: string,
): Promise<string | null> {
  const found = await store.readFile(commit, joinPath(turnDir(session, turn), name));
  return found && toText(found.bytes);
}
