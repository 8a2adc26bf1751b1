/** Reads a line's earlier turns as the model may see them: rendered once, with secrets masked, newest first. */
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
  /**
   * The turn with only the beginning and end of its large bodies, and a list of the missing parts; null when it has no
   * large bodies.
   */
  clipped: { text: string; tokens: number; leftOut: string[] } | null;
}

/** Returns the project with a masker that masks nothing, for texts that stay on this machine and for comparisons. */
export function withoutMasks(project: Project): Project {
  return { ...project, masker: { mask: async (text) => ({ text, count: 0, found: [] }) } };
}

/** Returns the smallest number of tokens that the turn can take, with its large bodies clipped. */
export function countClipped({ clipped, tokens }: HistoryTurn): number {
  return clipped?.tokens ?? tokens;
}

/**
 * The number of turns to read at a time: reading single turns would wait for git each time, and reading all of them
 * would include turns that the request does not show.
 */
const turnsAtATime = 32;

export function readNewestTurns(
  project: Project,
  state: LineState,
  newestFirst: readonly TurnName[],
  limit: number,
): Promise<HistoryTurn[]> {
  return readTurns(project, state, newestFirst.slice(0, turnsAtATime), limit);
}

/** Continues after `newest`, and reads at least as many turns as fit into `room` tokens. `limit` is passed to `clipPart`. */
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
 * Reads an open turn's records other than its latest message; returns null when there are no others. In a conversation,
 * the request already includes the calls since that message unchanged.
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

/** Renders all parts in order. Masks each part separately, so that no mask spans two parts. Throws MASKING_FAILED. */
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

/** Returns a lower bound: each estimate is rounded up, so the sum may be too high by almost one token per turn. */
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
