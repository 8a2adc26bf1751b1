/** A turn as the parts of its history. Of a long text no more is held than a person reads. */
import { toTurnHistory } from '../../conversation/turn-history.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import type { HistoryPart } from '../../session/history-text.ts';
import { listTurn } from '../line/read.ts';
import { readTurnTexts, type CutFile } from './read-turn-texts.ts';

export interface TurnParts {
  parts: HistoryPart[];
  cut: CutFile[];
}

/** They are not masked. A plan that somebody has handed in is a part of it, though nobody has said it. Throws UNKNOWN_TURN, DAMAGED_SESSION. */
export async function readTurnParts(
  project: Project,
  { commit, session, turn }: { commit: Oid; session: SessionId; turn: TurnName },
): Promise<TurnParts> {
  const { store } = project.repository;
  const entries = await listTurn(store, commit, session, turn);
  const { transcript, plan, report, cut } = await readTurnTexts(store, { commit, session, turn, entries });
  const parts = [...toTurnHistory(turn, transcript.records, { plan, report }).parts];
  const isSaid = parts.some(({ title }) => !title.startsWith('Message'));
  if (plan !== null && !isSaid) parts.push({ title: 'Plan', text: plan, language: 'markdown', file: 'plan.md' });
  return { parts, cut };
}
