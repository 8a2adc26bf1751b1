/** Reads one turn: what its commits say of it, what was said in it, its plan, and the report of running that. */

import { captureSource, type TranscriptRecord } from '../conversation/record.ts';
import { resolveFiles } from '../conversation/resolve-files.ts';
import { toTurnHistory } from '../conversation/turn-history.ts';
import type { SessionId, TurnName } from '../names.ts';
import type { HistoryPart } from '../session/history-text.ts';
import { maxShownText, readBodies, type BodyOptions, type CutFile, type TurnAt, type TurnBodies } from './bodies.ts';
import { countAsides, summarizeTurn, type TurnSummary } from './status.ts';
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

/** For whoever needs many turns, and not what was said in them part by part. Throws UNKNOWN_TURN, DAMAGED_SESSION. */
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
