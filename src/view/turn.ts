/** Reads one turn: its commits' labels, its progress, its conversation, its plan, and the report of the run. */
import type { TurnStatus } from '../session/lines/line-order.ts';
import { captureSource, type TranscriptRecord } from '../conversation/records/record.ts';
import { resolveFiles } from '../conversation/history/resolve-files.ts';
import { endsDenied, endsJudged, hasAgentPlan, lastAnswer, userMessages } from '../conversation/records/transcript.ts';
import { toTurnHistory } from '../conversation/history/turn-history.ts';
import type { SessionId, TurnName } from '../names.ts';
import { parsePlan, type ParseOptions } from '../plan/parse/parse.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import type { HistoryPart } from '../session/context/history-text.ts';
import { maxShownText, readBodies, type BodyOptions, type CutFile, type TurnAt, type TurnBodies } from './bodies.ts';
import { outlineTurn, type Session, type TurnOutline } from './session.ts';

export interface Turn extends TurnOutline, TurnContent, TurnSummary {
  session: SessionId;
}

/** A turn's files, decoded. */
export interface TurnContent extends Pick<TurnSummary, 'asides'> {
  /** Every record has its content, including the records that represent the plan and the report. */
  records: TranscriptRecord[];
  plan: string | null;
  /** The YAML as written. */
  report: string | null;
  /** The files that were read only in part. */
  cut: CutFile[];
}

/** Throws UNKNOWN_TURN, DAMAGED_SESSION. */
export async function readTurn(
  store: Parameters<typeof readBodies>[0],
  { session, turns, source, tip }: Session,
  turn: TurnName,
  options: BodyOptions = {},
): Promise<Turn> {
  const outline = turns.find((one) => one.turn === turn) ?? outlineTurn(turn, []);
  return toTurn(session, outline, await readBodies(store, { commit: source ?? tip, session, turn }, options));
}

/** Combines a turn's description from its commits with its files. */
export function toTurn(session: SessionId, outline: TurnOutline, bodies: TurnBodies): Turn {
  const { turn } = outline;
  const { plan, report, transcript } = bodies;
  const summary = summarizeTurn(turn, transcript.records, { plan, hasReport: report !== null });
  return { session, ...outline, ...toContent(turn, bodies), ...summary };
}

/**
 * Reads only the files, for a caller that needs many turns but not the parts of the conversation. Throws UNKNOWN_TURN,
 * DAMAGED_SESSION.
 */
export async function readContent(
  store: Parameters<typeof readBodies>[0],
  at: TurnAt,
  options: BodyOptions = {},
): Promise<TurnContent> {
  return toContent(at.turn, await readBodies(store, at, options));
}

function toContent(turn: TurnName, bodies: TurnBodies): TurnContent {
  const { plan, report, transcript, cut } = bodies;
  const { records } = resolveFiles(turn, transcript, bodies).transcript;
  return { records, plan, report, cut, asides: countAsides(transcript.records) };
}

/** Returns true if any record comes from a program that teddy captures. */
export function isCaptured(records: readonly TranscriptRecord[]): boolean {
  return records.some((record) => 'source' in record && record.source === captureSource);
}

/**
 * Reads a turn as the parts of its history; keeps no more of a long text than a user reads. A submitted plan is one of
 * the parts, although nobody said it. Throws UNKNOWN_TURN, DAMAGED_SESSION.
 */
export async function readParts(
  store: Parameters<typeof readBodies>[0],
  at: TurnAt,
): Promise<{ parts: HistoryPart[]; cut: CutFile[] }> {
  const bodies = await readBodies(store, at, { most: maxShownText });
  const { plan, transcript, cut } = bodies;
  const parts = [...toTurnHistory(at.turn, transcript.records, bodies).parts];
  const isSaid = parts.some(({ title }) => !title.startsWith('Message'));
  if (plan !== null && !isSaid) parts.push({ title: 'Plan', text: plan, language: 'markdown', file: 'plan.md' });
  return { parts, cut };
}

/** Parses a plan, unless its report exists, because teddy can then no longer execute it. */
export function parsePending(plan: string | null, hasReport: boolean, options: ParseOptions = {}): ParsedPlan | null {
  return plan === null || hasReport ? null : parsePlan(plan, options);
}

/** `pending` is the parsed plan if it has no report yet. Another agent's plan does not wait for execution. */
export function toStatus(records: TranscriptRecord[], pending: ParsedPlan | null, hasReport: boolean): TurnStatus {
  if (hasReport) return 'closed';
  if (pending !== null && !hasAgentPlan(records)) return isOnlyMessage(pending) ? 'closed' : 'planned';
  const isOver = lastAnswer(records)?.complete === true || endsDenied(records) || endsJudged(records);
  return isOver ? 'closed' : 'open';
}

/** Returns true if a plan contains only a message, so that there is nothing to execute. */
export function isOnlyMessage({ plan, problems }: ParsedPlan): boolean {
  return problems.length === 0 && plan.message !== null && plan.actions.length === 0 && plan.memos.length === 0;
}

/** A turn's messages, without its report's content. */
export interface TurnSummary {
  status: TurnStatus;
  /** The user's words, in order. */
  messages: string[];
  /** Everything in its original order except the report, including tool calls and spoken words. */
  said: readonly HistoryPart[];
  /** An answer that is not a plan. */
  reply: string | null;
  replyIsPartial: boolean;
  /** The records outside `said`. */
  asides: Asides;
}

/** The numbers of a model's thoughts and of notes. */
interface Asides {
  thoughts: number;
  notes: number;
}

function countAsides(records: readonly TranscriptRecord[]): Asides {
  const count = (type: 'thinking' | 'note') => records.filter((record) => record.type === type).length;
  return { thoughts: count('thinking'), notes: count('note') };
}

function summarizeTurn(
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
