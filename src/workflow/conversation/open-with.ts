/** Continues a session in another agent: turns its history into one of that agent's own logs, under a new ID. */
import { toHistory } from '../../conversation/history/fold-history.ts';
import type { Repair } from '../../conversation/history/history.ts';
import { readTurns } from '../../view/view.ts';
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
}

/**
 * `target` is `<session>` or `<session>:<turn>`. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, UNKNOWN_TURN,
 * DAMAGED_SESSION, and the errors of `logs`; in these cases writes nothing.
 */
export async function openWith(
  project: Project,
  target: string,
  { agent, logs }: { agent: AgentName; logs: AgentLogDirectory },
): Promise<OpenedSession> {
  const { openWith: opening, title } = agents[agent];
  if (opening === undefined) throw new Error(`${title} cannot read teddy's logs.`);
  const { selector, until } = parseTarget(target);
  const place = await findConversation(project, { selector });
  const { session, commit } = place;
  const read = await readTurns(project.repository.store, place);
  const turns =
    until === null ? read.turns : read.turns.filter(({ turn }) => compareTurns(turn as TurnName, until) <= 0);
  const turn = turns.at(-1)?.turn as TurnName | undefined;
  const history = toHistory(turns);
  if (turn === undefined || (until !== null && turn !== until) || history.turns.length === 0)
    throw noTurnError(session, turn === until ? null : until);
  const startedAt = project.clock.now();
  const id = opening.uuid === 7 ? project.ids.entryId() : project.ids.writeId();
  const { cwd, provider, isInstalled } = logs;
  const options = { id, cwd, provider, startedAt: startedAt.toISOString() };
  const lines = (await opening.render())(history, options, project.hash);
  const path = await logs.add({ id, startedAt }, lines.map((line) => `${line}\n`).join(''));
  const command = opening.resume(id);
  const repairs = [...read.repairs, ...history.repairs];
  return { session, commit, turn, turns: turns.length, agent, id, path, cwd, command, isInstalled, repairs };
}

/** Splits the target at its colon; session and branch names never contain one. */
function parseTarget(target: string): { selector: string; until: TurnName | null } {
  const colon = target.indexOf(':');
  if (colon === -1) return { selector: target, until: null };
  return { selector: target.slice(0, colon), until: parseTurnName(target.slice(colon + 1)) };
}

function noTurnError(session: SessionId, until: TurnName | null): TeddyError {
  return until === null
    ? new TeddyError('UNKNOWN_TURN', `Nothing has been said in ${session} yet.`, 'Start with `teddy plan -m "..."`.')
    : new TeddyError('UNKNOWN_TURN', `${session} has no turn ${until}.`, `\`teddy log ${session}\` shows the turns.`);
}
