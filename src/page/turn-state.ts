/** Describes how a turn or an action ended, with a word and a tone. */
import type { ActionLog, Report } from '../plan/report/report.ts';
import type { PageTurn } from './session-page.ts';

type Tone = 'good' | 'bad' | 'warn' | 'quiet' | 'wait';

export interface TurnState {
  tone: Tone;
  word: string;
}

/** Returns the last verdict on the plan; null when nobody has given one. */
export function lastWord({ verdicts }: PageTurn): 'approved' | 'rejected' | null {
  const words = verdicts.flatMap(({ verdict }) => (verdict === 'none' ? [] : [verdict]));
  return words.at(-1) ?? null;
}

export function toTurnState(turn: PageTurn): TurnState {
  const { undoneBy, partlyUndoneBy, outcome, status, plan, report } = turn;
  const word = lastWord(turn);
  if (undoneBy !== null) return { tone: 'quiet', word: 'undone' };
  if (partlyUndoneBy !== null) return { tone: 'warn', word: 'partly undone' };
  if (report !== null && isRejected(report.report)) return { tone: 'warn', word: 'rejected' };
  if (report?.report.run_summary.not_run !== undefined) return { tone: 'warn', word: 'partly done' };
  if (outcome !== null) return outcomes[outcome];
  if (isInvalid(turn)) return outcomes.VALIDATION_FAILED;
  if (status === 'planned')
    return { tone: 'wait', word: word === 'approved' ? 'approved, not run' : 'waiting for approval' };
  if (plan?.isForeign === true && word !== null) return { tone: word === 'approved' ? 'good' : 'warn', word };
  if (turn.awaitsVerdict) return { tone: 'wait', word: 'waiting for a verdict' };
  if (status === 'open')
    return {
      tone: 'wait',
      word: turn.parts.some(({ kind }) => kind === 'message') ? 'not answered' : 'no message yet',
    };
  return { tone: 'good', word: plan === null || plan.isForeign ? 'answered' : 'nothing to run' };
}

const outcomes: Record<NonNullable<PageTurn['outcome']>, TurnState> = {
  SUCCESS: { tone: 'good', word: 'done' },
  FAILURE: { tone: 'bad', word: 'failed' },
  VALIDATION_FAILED: { tone: 'bad', word: 'invalid plan' },
  SKIPPED: { tone: 'warn', word: 'not run' },
  ABORTED: { tone: 'warn', word: 'stopped' },
};

/** Returns true if the user rejected the whole plan; a run that was stopped has the same status. */
export function isRejected({ run_summary: { status }, action_logs: logs }: Report): boolean {
  return status === 'ABORTED' && logs.every(({ details }) => details?.reason === 'rejected');
}

/** Returns true if no part of the plan ran; the report states the reason once, for the whole plan. */
export function isUnrun(report: Report): boolean {
  return report.run_summary.status === 'VALIDATION_FAILED' || isRejected(report);
}

/** Returns true if the plan waits but would not run: nobody can approve or run it. */
export function isInvalid({ plan }: Pick<PageTurn, 'plan'>): boolean {
  return plan?.preview != null && plan.preview.problems.length > 0;
}

/** An action without a log is still waiting. */
export function toActionState(log: ActionLog | null, isPending: boolean, hasProblem: boolean): TurnState {
  if (hasProblem) return { tone: 'bad', word: 'cannot run' };
  if (log === null) return isPending ? { tone: 'wait', word: 'waits' } : { tone: 'quiet', word: 'not reached' };
  const { status, modified_by_user: isModified } = log;
  if (status === 'SUCCESS' && isModified) return { tone: 'warn', word: 'done, changed by the user' };
  return { SUCCESS: done, FAILURE: outcomes.FAILURE, SKIPPED: skipped, ABORTED: outcomes.ABORTED }[status];
}

const done: TurnState = { tone: 'good', word: 'done' };
const skipped: TurnState = { tone: 'warn', word: 'skipped' };
