/** What every question to a model begins with: the line is ready, nothing is in the way, the message is on it. */
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports.ts';
import { checkBudget } from './check-budget.ts';
import type { TurnWish } from './compose-request.ts';
import { openTurn, refusePending, type OpenTurn } from './open-turn.ts';
import { prepareLine, type ReadyLine } from './prepare-line.ts';
import { readLine, type LineState } from './read-line.ts';

/** Throws PLAN_PENDING, EMPTY_MESSAGE, BUDGET_SPENT, UNKNOWN_AGENT and what a snapshot throws. */
export async function beginTurn(
  project: Project,
  request: TurnWish & { selector?: string | undefined },
): Promise<{ line: ReadyLine; open: OpenTurn }> {
  refuseEmpty(request);
  const line = await prepareLine(project, request.selector);
  const state = await readLine(project.repository.store, line.tip);
  refusePending(state, request);
  await refuseSpent(project, state, request);
  return { line, open: await openTurn(project, line, request) };
}

/** An answer by hand spends nothing. Throws BUDGET_SPENT. */
export function refuseSpent(
  project: Project,
  state: LineState,
  { choice, asksNobody = false }: Pick<TurnWish, 'choice'> & { asksNobody?: boolean },
): Promise<void> {
  const asksModel = !asksNobody && choice.model !== null && choice.provider !== 'manual';
  return checkBudget(project, state, { opensTurn: state.latest?.status !== 'open', asksModel });
}

export function refuseEmpty({ message, mode }: Pick<TurnWish, 'message' | 'mode'>): void {
  if (message === undefined || message.trim() !== '') return;
  const command = mode === 'chat' ? 'chat' : 'plan';
  throw new TeddyError(
    'EMPTY_MESSAGE',
    'The message is empty.',
    `Say what you want: \`teddy session ${command} -m "..."\`.`,
  );
}
