/** Finds a line's next step. */
import { userMessages } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { TurnName } from '../../names.ts';
import { findLine, lineName, type Line } from '../line/find.ts';
import { findWaiting, readLine, readTurnFile, type LineState } from '../../view/view.ts';

/**
 * `execute`: a plan has no report, perhaps because its run was killed. `ask`: a message has no complete answer.
 * `message`: nothing waits, or the turn has no message yet.
 */
export type NextStep = { line: Line } & Waiting;

type Waiting =
  | { kind: 'execute'; turn: TurnName }
  /**
   * `provider`: who was supposed to answer. `mode`: the requested kind of answer; undefined when teddy has not asked
   * anybody about the message yet.
   */
  | { kind: 'ask'; turn: TurnName; mode?: 'chat' | 'plan'; provider?: string }
  | { kind: 'message' };

/** Only looks: the command that takes the step repairs the effects of a crash. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION. */
export async function findNextStep(project: Project, selector: string | undefined): Promise<NextStep> {
  const line = await findLine(project, selector, { appends: true });
  const tip = line.tip ?? line.remoteTip;
  if (tip === null)
    throw new TeddyError(
      'UNKNOWN_SESSION',
      `${lineName(line)} has no commit.`,
      '`teddy list` shows the sessions and their branches.',
    );
  const { store } = project.repository;
  return { line, ...(await toStep(store, await readLine(store, tip))) };
}

async function toStep(store: Store, state: LineState): Promise<Waiting> {
  const { latest } = state;
  if (latest?.status === 'planned') return { kind: 'execute', turn: latest.turn };
  const waiting = findWaiting(state);
  if (waiting === null || userMessages(waiting.records).length === 0) return { kind: 'message' };
  const { turn } = waiting;
  const log = await readTurnFile(store, { commit: state.entryOid, session: state.session, turn }, '_context.log');
  // Searches only the front matter, because a log is long.
  const isChat = log !== null && /^mode: chat$/m.test(log.slice(0, Math.max(log.indexOf('\n---\n'), 0)));
  const { provider } = state.entry;
  const mode = log === null ? {} : { mode: isChat ? ('chat' as const) : ('plan' as const) };
  return { kind: 'ask', turn, ...mode, ...(provider === undefined ? {} : { provider }) };
}
