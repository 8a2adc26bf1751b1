/** Reads one turn: what its commits say of it, how far it has come, what was said in it, its plan, and the report of running that. */
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

/** The files of a turn, decoded. */
export interface TurnContent extends Pick<TurnSummary, 'asides'> {
  /** Every record holds its content, also those that stand for the plan and the report. */
  records: TranscriptRecord[];
  plan: string | null;
  /** YAML, as it was written. */
  report: string | null;
  /** The files of which not all was read. */
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

/** Joins what the commits say of a turn with its files. */
export function toTurn(session: SessionId, outline: TurnOutline, bodies: TurnBodies): Turn {
  const { turn } = outline;
  const { plan, report, transcript } = bodies;
  const summary = summarizeTurn(turn, transcript.records, { plan, hasReport: report !== null });
  return { session, ...outline, ...toContent(turn, bodies), ...summary };
}

/** Reads the files alone, for a caller that needs many turns and not what was said in them part by part. Throws UNKNOWN_TURN, DAMAGED_SESSION. */
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

/** Whether a program that teddy has followed has said it. */
export function isCaptured(records: readonly TranscriptRecord[]): boolean {
  return records.some((record) => 'source' in record && record.source === captureSource);
}

/**
 * Reads a turn as the parts of its history; of a long text no more is held than a person reads. A plan that somebody has handed in is
 * one of them, though nobody has said it. Throws UNKNOWN_TURN, DAMAGED_SESSION.
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

/** A plan that only speaks has nothing to execute. */
export function isOnlyMessage({ plan, problems }: ParsedPlan): boolean {
  return problems.length === 0 && plan.message !== null && plan.actions.length === 0 && plan.memos.length === 0;
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
