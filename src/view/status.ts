/** How far a turn has come, and what was said in it. */
import type { TurnName } from '../names.ts';
import { parsePlan, type ParseOptions } from '../plan/parse.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import type { HistoryPart } from '../session/history-text.ts';
import type { TranscriptRecord } from '../conversation/record.ts';
import { endsDenied, endsJudged, hasAgentPlan, lastAnswer, userMessages } from '../conversation/transcript.ts';
import { toTurnHistory } from '../conversation/turn-history.ts';

/** `open`: no complete answer yet. `planned`: a plan without a report. `closed`: anything else. */
export type TurnStatus = 'open' | 'planned' | 'closed';

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
export interface Asides {
  thoughts: number;
  notes: number;
}

export function countAsides(records: readonly TranscriptRecord[]): Asides {
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
