/** The earlier turns of a line as the model may read them: rendered once, secrets masked, newest first. */
import type { TranscriptRecord } from '../../conversation/record.ts';
import type { TurnFiles } from '../../conversation/resolve-files.ts';
import { afterLastMessage, toEarlierReplies, toFinishedCalls, userMessages } from '../../conversation/transcript.ts';
import type { Project } from '../../ports/project.ts';
import { renderTurn, type HistoryPart } from '../../session/history-text.ts';
import type { TurnName } from '../../names.ts';
import { estimateTokens } from '../../session/tokens.ts';
import { toTurnHistory } from '../../conversation/turn-history.ts';
import { readTurn, toText, type LineState, type Turn } from '../line/read.ts';

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

/**
 * Reads what was said in an open turn beside its latest message; null when nothing was. In a conversation, the calls since that
 * message go with the request unchanged.
 */
export async function readEarlierOfTurn(
  project: Project,
  { turn, records }: Turn,
  { message, mode }: { message: string; mode: 'chat' | undefined },
): Promise<HistoryTurn | null> {
  const since = afterLastMessage(records);
  const isSaid = userMessages(records).at(-1) === message;
  const before = records.slice(0, records.length - since.length - 1);
  const calls = mode === 'chat' ? [] : toFinishedCalls(since);
  const earlier = isSaid ? [...before, ...toEarlierReplies(since), ...calls] : records;
  return earlier.length === 0 ? null : renderRecords(project, turn, earlier, { plan: null, report: null });
}

/** Everything in its order, masked part by part, so that no mask reaches from one part into the next. Throws MASKING_FAILED. */
async function renderRecords(
  project: Project,
  turn: TurnName,
  records: readonly TranscriptRecord[],
  files: TurnFiles,
): Promise<HistoryTurn> {
  const { parts } = toTurnHistory(turn, records, files);
  const masked = await Promise.all(parts.map((part) => maskPart(project, part)));
  const text = renderTurn({ turn, parts: masked.map(({ part }) => part) });
  const count = masked.reduce((sum, one) => sum + one.count, 0);
  return { turn, text, masked: count, tokens: estimateTokens(text) };
}

/** Each estimate is rounded up: together they may have nearly one token a turn less. */
function countAtLeast(turns: readonly HistoryTurn[]): number {
  return turns.reduce((sum, { tokens }) => sum + tokens - 1, 0);
}

function readTurns(project: Project, state: LineState, turns: readonly TurnName[]): Promise<HistoryTurn[]> {
  const { store } = project.repository;
  return Promise.all(
    turns.map(async (name) => {
      const { records, plan, report } = await readTurn(store, state.entryOid, state.session, name);
      return renderRecords(project, name, records, { plan: plan && toText(plan), report: report && toText(report) });
    }),
  );
}

async function maskPart(project: Project, part: HistoryPart): Promise<{ part: HistoryPart; count: number }> {
  const { tool, text, file } = part;
  const [shown, name] = await Promise.all([
    project.masker.mask(text, file),
    tool === undefined ? null : project.masker.mask(tool),
  ]);
  const count = shown.count + (name?.count ?? 0);
  return { part: { ...part, text: shown.text, ...(name === null ? {} : { tool: name.text }) }, count };
}
