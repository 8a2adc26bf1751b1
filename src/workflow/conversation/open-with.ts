/** Continues a session in another agent: turns its history into one of that agent's own logs, under a new ID. */
import { toHistory } from '../../conversation/history/fold-history.ts';
import type { Repair } from '../../conversation/history/history.ts';
import { readLine, readTurns } from '../../view/view.ts';
import { agents, type AgentName } from '../../agents/agents.ts';
import { TeddyError } from '../../errors.ts';
import { compareTurns, parseTurnName, type Oid, type SessionId, type TurnName } from '../../names.ts';
import type { AgentLogDirectory } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import { findConversation } from '../line/read-conversation.ts';

export interface OpenedSession {
  session: SessionId;
  commit: Oid;
  /** The last turn that the agent receives. */
  turn: TurnName;
  turns: number;
  agent: AgentName;
  /** The agent's own ID for the session. */
  id: string;
  path: string;
  cwd: string;
  /** The command that resumes the session. */
  command: string;
  isInstalled: boolean;
  repairs: Repair[];
  /** The session's newest turn if its plan waits to be executed or rejected; null otherwise. */
  pendingPlan: TurnName | null;
}

/**
 * Opens the session up to its end or to `turn`. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, UNKNOWN_TURN,
 * DAMAGED_SESSION, and the errors of `logs`; in these cases writes nothing.
 */
export async function openWith(
  project: Project,
  target: { selector: string | undefined; turn?: string | undefined },
  { agent, logs }: { agent: AgentName; logs: AgentLogDirectory },
): Promise<OpenedSession> {
  const { openWith: opening, title } = agents[agent];
  if (opening === undefined) throw new Error(`${title} cannot read teddy's logs.`);
  const until = target.turn === undefined ? null : parseTurnName(target.turn);
  const place = await findConversation(project, target);
  const { session, commit } = place;
  const read = await readTurns(project.repository.store, place);
  const turns =
    until === null ? read.turns : read.turns.filter(({ turn }) => compareTurns(turn as TurnName, until) <= 0);
  const turn = turns.at(-1)?.turn as TurnName | undefined;
  const history = toHistory(turns);
  if (turn === undefined || (until !== null && turn !== until) || history.turns.length === 0)
    throw noTurnError(session, turn === until ? null : until);
  const startedAt = project.clock.now();
  const uuid = opening.uuid === 7 ? project.ids.entryId() : project.ids.writeId();
  const id = opening.toId?.(uuid) ?? uuid;
  const { cwd, provider, isInstalled } = logs;
  const options = { id, cwd, provider, startedAt: startedAt.toISOString() };
  const lines = (await opening.render())(history, options, project.hash);
  const path = await logs.add({ id, startedAt }, lines.map((line) => `${line}\n`).join(''));
  const command = opening.resume(id, path);
  const repairs = [...read.repairs, ...history.repairs];
  const { latest } = await readLine(project.repository.store, commit);
  const pendingPlan = latest?.status === 'planned' ? latest.turn : null;
  const made = { id, path, cwd, command, isInstalled };
  return { session, commit, turn, turns: turns.length, agent, ...made, repairs, pendingPlan };
}

function noTurnError(session: SessionId, until: TurnName | null): TeddyError {
  return until === null
    ? new TeddyError('UNKNOWN_TURN', `Nothing has been said in ${session} yet.`, 'Start with `teddy plan -m "..."`.')
    : new TeddyError('UNKNOWN_TURN', `${session} has no turn ${until}.`, `\`teddy log ${session}\` shows the turns.`);
}
