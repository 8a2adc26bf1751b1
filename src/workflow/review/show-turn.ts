/** Shows one of a line's turns: the conversation, the plan, and the results of running it. */
import {
  isCaptured,
  maxShownText,
  readSession,
  readTurn,
  readTurnVerdicts,
  type CutFile,
  type Turn,
  type TurnSummary,
  type Verdict,
} from '../../view/view.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import type { KeptPromise } from '../../plan/report/promise.ts';
import type { Report } from '../../plan/report/report.ts';
import type { ChangedCommit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import { toLogged, type LoggedEntry } from '../../session/entries/logged-entry.ts';
import { readStarts } from '../../session/lines/session-starts.ts';
import type { Spending } from '../../session/spending/spending.ts';
import { diffFiles } from './diff-files.ts';
import { findTurnOf, type FoundTurn } from './find-turn.ts';
import { comparePromise } from './turn.ts';

export interface ShownTurn extends TurnSummary {
  session: SessionId;
  line: string;
  turn: TurnName;
  plan: string | null;
  report: Report | null;
  /** The plan compared with what the turn touched; null when nothing was carried out. */
  promise: KeptPromise | null;
  /** Unified diff of the report's changes. */
  diff: string;
  /** The turn's commits, oldest first. */
  entries: LoggedEntry[];
  /** The agent that gave the last answer; in a captured turn, the captured program. Null when nobody has answered. */
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** The cost of all its answers, if the endpoint has reported it. */
  spent: Spending;
  /** The commit that reverted the turn's code. */
  undoneBy: Oid | null;
  /** The commit that reverted only some of the turn's code. */
  partlyUndoneBy: Oid | null;
  /** The verdicts on its plan, oldest first. */
  verdicts: Verdict[];
  /** With `bounded`, the files with long texts that end with the number of omitted characters. */
  cut: CutFile[];
}

/**
 * Shows the line's last turn unless `turn` is given. `turn` may also be a line or a commit; this function then shows
 * its last turn, in the state at that point. `bounded` keeps no more of a long text than a person reads. Throws
 * UNKNOWN_TURN and the errors of `findRecorded`.
 */
export async function showTurn(
  project: Project,
  request: { selector?: string | undefined; turn?: string | undefined; bounded?: boolean },
): Promise<ShownTurn> {
  const { store } = project.repository;
  const found = await findTurnOf(project, { text: request.turn, selector: request.selector });
  const session = await readSession(store, found.line, { only: found.turn });
  const { steps, records, ...turn } = await readTurn(store, session, found.turn, {
    most: request.bounded === true ? maxShownText : undefined,
  });
  const report = turn.report === null ? null : parseReport(turn.report);
  const diffs = report === null ? [] : await diffFiles(store, report.changes);
  return {
    session: found.session,
    line: found.line.name,
    turn: turn.turn,
    status: turn.status,
    messages: turn.messages,
    said: turn.said,
    reply: turn.reply,
    replyIsPartial: turn.replyIsPartial,
    asides: turn.asides,
    plan: turn.plan,
    report,
    promise: comparePromise({ ...turn, records, steps }, report, await readChanges(store, steps, turn)),
    diff: diffs.map(({ diff }) => diff).join(''),
    entries: steps.filter(({ entry }) => entry !== null).map(toLogged),
    agent: turn.agent ?? (isCaptured(records) ? await findFollowed(project, found, steps) : null),
    provider: turn.provider,
    model: turn.model,
    spent: turn.spent,
    undoneBy: turn.undoneBy,
    partlyUndoneBy: turn.partlyUndoneBy,
    verdicts: await readTurnVerdicts(project, { session: found.session, turn: found.turn }, steps),
    cut: turn.cut,
  };
}

/** Reads the changes of a turn with another agent's plan. Absent parents, as in a shallow clone, leave a step's changes unknown. */
async function readChanges(
  store: Store,
  steps: Turn['steps'],
  { plan, report, isAgentPlan }: Omit<Turn, 'steps' | 'records'>,
) {
  const changes = new Map<Oid, ChangedCommit['changes']>();
  const known = steps.filter(({ parent }) => parent !== null);
  if (report === null && plan !== null && isAgentPlan)
    for await (const one of store.changesOf(known.map(({ commit, parent }) => ({ oid: commit, parent }))))
      changes.set(one.oid, one.changes);
  return (commit: Oid) => changes.get(commit) ?? [];
}

/** Names the program whose session teddy captured in this turn; a later turn may be teddy's own. */
async function findFollowed(
  project: Project,
  { session, state }: FoundTurn,
  steps: Turn['steps'],
): Promise<string | null> {
  const created = steps.find(({ entry }) => entry !== null)?.entry?.created;
  if (created === undefined) return null;
  const starts = await readStarts(project, [{ session, oid: state.entryOid, created }]);
  return starts.get(session)?.agent ?? null;
}
