/** One turn of a line: what was said, the plan, and what running it did. */
import { lastAnswer, userMessages } from '../conversation/transcript.ts';
import { TeddyError } from '../errors.ts';
import { renderUnifiedDiff } from '../plan/diff.ts';
import { parseReport } from '../plan/report-schema.ts';
import type { Report } from '../plan/report.ts';
import type { Project } from '../ports.ts';
import type { HistoryPart } from '../session/history-text.ts';
import { type Oid, type SessionId, type TurnName } from '../session/names.ts';
import { toTurnHistory } from '../session/turn-history.ts';
import { findLine, lineName } from './find-line.ts';
import { findTurn, readLine, readTurn, toText, type LineState, type TurnStatus } from './read-line.ts';

export interface ShownTurn {
  session: SessionId;
  line: string;
  turn: TurnName;
  status: TurnStatus;
  messages: string[];
  /** Everything in its order, tool calls and what was spoken included, but for the report. */
  said: readonly HistoryPart[];
  plan: string | null;
  /** An answer that is no plan. */
  reply: string | null;
  replyIsPartial: boolean;
  report: Report | null;
  /** Unified diff of what the report says was changed. */
  diff: string;
}

/** Without a turn, the last one. Throws UNKNOWN_TURN. */
export async function showTurn(
  project: Project,
  request: { selector?: string | undefined; turn?: string | undefined },
): Promise<ShownTurn> {
  const { store } = project.repository;
  const line = await findLine(project, request.selector);
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) throw new TeddyError('UNKNOWN_SESSION', `${lineName(line)} has no commit.`);
  const state = await readLine(store, tip);
  const name = findShown(state, request.turn);
  const turn = await readTurn(store, state.entryOid, state.session, name);
  const answer = turn.plan === null ? lastAnswer(turn.records) : null;
  const report = turn.report === null ? null : parseReport(toText(turn.report));
  return {
    session: state.session,
    line: lineName(line),
    turn: name,
    status: turn.status,
    messages: userMessages(turn.records),
    said: toTurnHistory(name, turn.records, { plan: turn.plan && toText(turn.plan), report: null }).parts,
    plan: turn.plan === null ? null : toText(turn.plan),
    reply: answer && 'text' in answer ? answer.text : null,
    replyIsPartial: answer?.complete === false,
    report,
    diff: report === null ? '' : await renderChanges(project, report),
  };
}

function findShown(state: LineState, wanted: string | undefined): TurnName {
  if (wanted !== undefined) return findTurn(state, wanted);
  const last = state.turns.at(-1);
  if (last !== undefined) return last;
  throw new TeddyError('UNKNOWN_TURN', `${state.session} has no turn yet.`, 'Begin: `teddy session plan -m "..."`.');
}

async function renderChanges(project: Project, report: Report): Promise<string> {
  const { store } = project.repository;
  const read = (oid: Oid | null) => (oid === null ? Promise.resolve(null) : store.readBlob(oid));
  const diffs = await Promise.all(
    report.changes.map(async ({ path, before, after }) =>
      renderUnifiedDiff(path, await read(before), (await read(after)) ?? new Uint8Array()),
    ),
  );
  return diffs.join('');
}
