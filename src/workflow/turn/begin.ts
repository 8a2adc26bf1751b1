/** What every question to a model begins with: the line is ready, nothing is in the way, the message is on it. */
import { TeddyError } from '../../errors.ts';
import type { UserRecord } from '../../conversation/record.ts';
import type { RunClaim } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { appendRecords } from '../line/append-records.ts';
import { checkBudget } from './check-budget.ts';
import type { TurnWish } from '../context/compose-request.ts';
import { openTurn, refusePending, type OpenTurn } from './open.ts';
import { prepareLine, type ReadyLine } from '../line/prepare.ts';
import { nextTurn, readLine, type LineState } from '../line/read.ts';

type BeginWish = TurnWish & { selector?: string | undefined };

/** Throws PLAN_PENDING, EMPTY_MESSAGE, BUDGET_SPENT, UNKNOWN_AGENT and what a snapshot throws. */
export async function beginTurn(project: Project, request: BeginWish): Promise<{ line: ReadyLine; open: OpenTurn }> {
  const { line } = await prepareTurn(project, request);
  return { line, open: await openTurn(project, line, request) };
}

/**
 * The same in a conversation, with the right to answer the turn until it is released. While another process answers it the message
 * is added to the turn all the same, and LOCKED is thrown then.
 */
export async function beginTalk(
  project: Project,
  request: BeginWish,
): Promise<{ line: ReadyLine; open: OpenTurn; claim: RunClaim }> {
  const { line, state } = await prepareTurn(project, request);
  const { ref, session } = line;
  const place = { session, ref, turn: nextTurn(state) };
  const claim = await project.answers.claim(place).catch((error: unknown) => addMessage(project, line, request, error));
  try {
    // Whoever had the right until now has moved the line.
    const tip = (await project.repository.store.resolve(ref)) ?? line.tip;
    return { line, open: await openTurn(project, { ...line, tip }, request), claim };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function prepareTurn(project: Project, request: BeginWish): Promise<{ line: ReadyLine; state: LineState }> {
  refuseEmpty(request);
  const line = await prepareLine(project, request.selector);
  const state = await readLine(project.repository.store, line.tip);
  refusePending(project, line, state, request);
  await refuseSpent(project, state, request);
  return { line, state };
}

/** What was said is kept, whoever has the turn. */
async function addMessage(project: Project, { ref }: ReadyLine, wish: BeginWish, error: unknown): Promise<never> {
  if (!(error instanceof TeddyError) || error.code !== 'LOCKED' || wish.message === undefined) throw error;
  const record: UserRecord = {
    type: 'user',
    id: project.ids.entryId(),
    timestamp: project.clock.now().toISOString(),
    message: { role: 'user', content: wish.message },
    source: 'text',
  };
  const wanted = { selector: shortRef(ref), records: [record], isFresh: true };
  const { turn } = await appendRecords(project, wanted);
  throw new TeddyError(
    'LOCKED',
    `${error.message} Your message is added to turn ${turn}, and waits.`,
    '`teddy session resume` asks for its answer when that one has ended.',
    { cause: error },
  );
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
