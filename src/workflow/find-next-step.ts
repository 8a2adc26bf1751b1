/** What a line waits for. */
import { userMessages } from '../conversation/transcript.ts';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports.ts';
import type { TurnName } from '../session/names.ts';
import { findLine, lineName, type Line } from './find-line.ts';
import { readLine, type LineState } from './read-line.ts';

/**
 * `execute`: a plan has no report, also where its run was killed. `ask`: a message has no complete answer. `message`: nothing
 * waits; a turn that has no message yet is one to be said.
 */
export type NextStep = { line: Line } & ({ kind: 'execute' | 'ask'; turn: TurnName } | { kind: 'message' });

/** Only looks: whoever takes the step repairs what a crash has left. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION. */
export async function findNextStep(project: Project, selector: string | undefined): Promise<NextStep> {
  const line = await findLine(project, selector);
  const tip = line.tip ?? line.remoteTip;
  if (tip === null)
    throw new TeddyError(
      'UNKNOWN_SESSION',
      `${lineName(line)} has no commit.`,
      '`teddy session list` shows the lines.',
    );
  return { line, ...toStep(await readLine(project.repository.store, tip)) };
}

function toStep({ latest }: LineState): { kind: 'execute' | 'ask'; turn: TurnName } | { kind: 'message' } {
  if (latest?.status === 'planned') return { kind: 'execute', turn: latest.turn };
  if (latest?.status === 'open' && userMessages(latest.records).length > 0) return { kind: 'ask', turn: latest.turn };
  return { kind: 'message' };
}
