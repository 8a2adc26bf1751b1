/** The earlier turns of a line as the model may read them: rendered once, secrets masked, newest first. */
import type { TranscriptRecord } from '../conversation/record.ts';
import { lastAnswer, userMessages } from '../conversation/transcript.ts';
import type { Project } from '../ports.ts';
import { estimateTokens } from '../session/tokens.ts';
import { renderTurn, type TurnHistory } from '../session/history-text.ts';
import type { TurnName } from '../session/names.ts';
import { readTurn, toText, type LineState, type Turn } from './read-line.ts';

export interface HistoryTurn {
  turn: TurnName;
  text: string;
  masked: number;
  /** An estimate, rounded up. */
  tokens: number;
}

/** Turns are read so many at a time: one by one would wait for git each time, all at once would read what is not shown. */
const turnsAtATime = 32;

export function readNewestTurns(
  project: Project,
  state: LineState,
  newestFirst: readonly TurnName[],
): Promise<HistoryTurn[]> {
  return readTurns(project, state, newestFirst.slice(0, turnsAtATime));
}

/** Goes on after `newest`, and reads at least what fits into `room` tokens. */
export async function readOlderTurns(
  project: Project,
  state: LineState,
  newestFirst: readonly TurnName[],
  newest: readonly HistoryTurn[],
  room: number,
): Promise<HistoryTurn[]> {
  const turns = [...newest];
  let tokens = countAtLeast(newest);
  while (turns.length < newestFirst.length && tokens <= room) {
    const older = await readTurns(project, state, newestFirst.slice(turns.length, turns.length + turnsAtATime));
    turns.push(...older);
    tokens += countAtLeast(older);
  }
  return turns;
}

/** Each estimate is rounded up: together they may have nearly one token a turn less. */
function countAtLeast(turns: readonly HistoryTurn[]): number {
  return turns.reduce((sum, { tokens }) => sum + tokens - 1, 0);
}

function readTurns(project: Project, state: LineState, turns: readonly TurnName[]): Promise<HistoryTurn[]> {
  const { store } = project.repository;
  return Promise.all(
    turns.map(async (name) => {
      const turn = toHistory(await readTurn(store, state.entryOid, state.session, name));
      const { shown, masked } = await maskTurn(project, turn);
      const text = renderTurn(shown);
      return { turn: name, text, masked, tokens: estimateTokens(text) };
    }),
  );
}

/** Part by part, so that no mask reaches from one part into the next. */
async function maskTurn(project: Project, turn: TurnHistory): Promise<{ shown: TurnHistory; masked: number }> {
  let masked = 0;
  const mask = async (text: string, path?: string) => {
    const { text: shown, count } = await project.masker.mask(text, path);
    masked += count;
    return shown;
  };
  const [messages, plan, replies, report] = await Promise.all([
    Promise.all(turn.messages.map((text) => mask(text))),
    turn.plan === null ? null : mask(turn.plan, 'plan.md'),
    Promise.all(turn.replies.map((text) => mask(text))),
    turn.report === null ? null : mask(turn.report, 'report.md'),
  ]);
  return { shown: { turn: turn.turn, messages, plan, replies, report }, masked };
}

function toHistory({ turn, records, plan, report }: Turn): TurnHistory {
  return {
    turn,
    messages: userMessages(records),
    plan: plan && toText(plan),
    replies: plan === null ? readReplies(records) : [],
    report: report && toText(report),
  };
}

function readReplies(records: TranscriptRecord[]): string[] {
  const answer = lastAnswer(records);
  return answer && 'text' in answer ? [answer.text] : [];
}
