/** The earlier turns of a line as the model may read them: rendered once, secrets masked, newest first. */
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import type { TurnFiles } from '../../conversation/history/resolve-files.ts';
import {
  afterLastMessage,
  isUnanswered,
  toEarlierReplies,
  toFinishedCalls,
} from '../../conversation/records/transcript.ts';
import type { Project } from '../../ports/project.ts';
import { clipPart, renderTurn, type HistoryPart } from '../../session/context/history-text.ts';
import type { TurnName } from '../../names.ts';
import type { RequestMode } from '../../session/context/context-log.ts';
import { estimateTokens } from '../../session/text/tokens.ts';
import { toTurnHistory } from '../../conversation/history/turn-history.ts';
import { readTurnState, toText, type LineState, type TurnState } from '../../view/view.ts';

export interface HistoryTurn {
  turn: TurnName;
  text: string;
  masked: number;
  /** An estimate, rounded up. */
  tokens: number;
  /** The turn with its large bodies shown by beginning and end, and what that leaves out; null: it has none. */
  clipped: { text: string; tokens: number; leftOut: string[] } | null;
}

/** Masks nothing: for what stays here, and for comparing. */
export function withoutMasks(project: Project): Project {
  return { ...project, masker: { mask: async (text) => ({ text, count: 0, found: [] }) } };
}

/** How many tokens a turn has at least: its large bodies may be clipped. */
export function countClipped({ clipped, tokens }: HistoryTurn): number {
  return clipped?.tokens ?? tokens;
}

/** Turns are read so many at a time: one by one would wait for git each time, all at once would read what is not shown. */
const turnsAtATime = 32;

export function readNewestTurns(
  project: Project,
  state: LineState,
  newestFirst: readonly TurnName[],
  limit: number,
): Promise<HistoryTurn[]> {
  return readTurns(project, state, newestFirst.slice(0, turnsAtATime), limit);
}

/** Goes on after `newest`, and reads at least what fits into `room` tokens. `limit`: what `clipPart` is given. */
export async function readOlderTurns(
  project: Project,
  state: LineState,
  newestFirst: readonly TurnName[],
  newest: readonly HistoryTurn[],
  { room, limit }: { room: number; limit: number },
): Promise<HistoryTurn[]> {
  const turns = [...newest];
  let tokens = countAtLeast(newest);
  while (turns.length < newestFirst.length && tokens <= room) {
    const names = newestFirst.slice(turns.length, turns.length + turnsAtATime);
    const older = await readTurns(project, state, names, limit);
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
  { turn, records, plan }: TurnState,
  { message, mode, limit }: { message: string; mode: RequestMode | undefined; limit: number },
): Promise<HistoryTurn | null> {
  const since = afterLastMessage(records);
  const isSaid = isUnanswered(records, message);
  const before = records.slice(0, records.length - since.length - 1);
  const calls = mode === 'chat' ? [] : toFinishedCalls(since);
  const earlier = isSaid ? [...before, ...toEarlierReplies(since), ...calls] : records;
  return earlier.length === 0
    ? null
    : renderRecords(project, turn, earlier, { plan: plan && toText(plan), report: null }, limit);
}

/** Everything in its order, masked part by part, so that no mask reaches from one part into the next. Throws MASKING_FAILED. */
async function renderRecords(
  project: Project,
  turn: TurnName,
  records: readonly TranscriptRecord[],
  files: TurnFiles,
  limit: number,
): Promise<HistoryTurn> {
  const { parts } = toTurnHistory(turn, records, files);
  const masked = await Promise.all(parts.map((part) => maskPart(project, part)));
  const shown = masked.map(({ part }) => part);
  const text = renderTurn({ turn, parts: shown });
  const count = masked.reduce((sum, one) => sum + one.count, 0);
  return { turn, text, masked: count, tokens: estimateTokens(text), clipped: clipTurn(turn, shown, limit) };
}

function clipTurn(turn: TurnName, parts: readonly HistoryPart[], limit: number): HistoryTurn['clipped'] {
  const clipped = parts.map((part) => clipPart(turn, part, limit));
  const leftOut = clipped.flatMap((one) => (one === null ? [] : [one.leftOut]));
  if (leftOut.length === 0) return null;
  const text = renderTurn({ turn, parts: parts.map((part, at) => clipped[at]?.part ?? part) });
  return { text, tokens: estimateTokens(text), leftOut };
}

/** Each estimate is rounded up: together they may have nearly one token a turn less. */
function countAtLeast(turns: readonly HistoryTurn[]): number {
  return turns.reduce((sum, turn) => sum + countClipped(turn) - 1, 0);
}

function readTurns(
  project: Project,
  state: LineState,
  turns: readonly TurnName[],
  limit: number,
): Promise<HistoryTurn[]> {
  const { store } = project.repository;
  return Promise.all(
    turns.map(async (name) => {
      const { records, plan, report } = await readTurnState(store, state.entryOid, state.session, name);
      const files = { plan: plan && toText(plan), report: report && toText(report) };
      return renderRecords(project, name, records, files, limit);
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
