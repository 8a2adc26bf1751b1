/**
 * The beginning of every question to a model: prepares the line, checks that nothing is in the way, and puts the
 * message on the line.
 */
import { TeddyError } from '../../errors.ts';
import type { UserRecord } from '../../conversation/records/record.ts';
import type { RunClaim } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { appendRecords } from '../line/append-records.ts';
import type { TurnOptions } from '../context/compose-request.ts';
import { openTurn, refusePending, type OpenTurn } from './open.ts';
import { prepareLine, type ReadyLine } from '../line/prepare.ts';
import { findWaiting, nextTurn, refreshLine, type LineState } from '../../view/view.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { formatCount } from '../../session/text/format-count.ts';

type BeginOptions = TurnOptions & { selector?: string | undefined };

/** Begins a turn. Throws PLAN_PENDING, EMPTY_MESSAGE, BUDGET_SPENT, UNKNOWN_AGENT and the errors of a snapshot. */
export async function beginTurn(project: Project, request: BeginOptions): Promise<{ line: ReadyLine; open: OpenTurn }> {
  const line = await prepareTurn(project, request);
  return { line, open: await openTurn(project, line, request) };
}

/**
 * Begins a conversation turn, with the exclusive right to answer it until the caller releases that right. While another
 * process is answering the turn, still adds the message to it and throws LOCKED, with `goesOn` as the command that asks
 * for its answer.
 */
export async function beginChatTurn(
  project: Project,
  request: BeginOptions & { goesOn: string },
): Promise<{ line: ReadyLine; open: OpenTurn; claim: RunClaim }> {
  const line = await prepareTurn(project, request);
  const { ref, session, state } = line;
  const place = { session, ref, turn: nextTurn(state) };
  const claim = await project.answers.claim(place).catch((error: unknown) => addMessage(project, line, request, error));
  try {
    // The right's previous holder has moved the line.
    const now = { ...line, state: await refreshLine(project.repository.store, line) };
    return { line: now, open: await openTurn(project, now, request), claim };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function prepareTurn(project: Project, request: BeginOptions): Promise<ReadyLine> {
  refuseEmpty(request);
  const line = await prepareLine(project, request.selector);
  await refusePending(project, line, line.state, request);
  await refuseSpent(project, line.state, request);
  return line;
}

/** Saves the message, whoever holds the turn. */
async function addMessage(
  project: Project,
  { ref }: ReadyLine,
  { message, goesOn }: BeginOptions & { goesOn: string },
  error: unknown,
): Promise<never> {
  if (!(error instanceof TeddyError) || error.code !== 'LOCKED' || message === undefined) throw error;
  const record: UserRecord = {
    type: 'user',
    id: project.ids.entryId(),
    timestamp: project.clock.now().toISOString(),
    message: { role: 'user', content: message },
    source: 'text',
  };
  const wanted = { selector: shortRef(ref), records: [record], isFresh: true };
  const { turn } = await appendRecords(project, wanted);
  throw new TeddyError(
    'LOCKED',
    `${error.message} Your message was added to turn ${turn}, where it waits.`,
    `When that process has ended, ask for the answer: \`${goesOn}\`.`,
    { cause: error },
  );
}

/**
 * Refuses a step that would exceed one of the user's limits for the session: turns, or the tokens in all its answers. A
 * manual answer spends nothing, and without a limit teddy counts nothing. Throws BUDGET_SPENT.
 */
export async function refuseSpent(
  project: Project,
  state: LineState,
  { choice, mode, asksNobody = false }: Pick<TurnOptions, 'choice' | 'mode'> & { asksNobody?: boolean },
): Promise<void> {
  const [maxTurns, maxTokens] = await Promise.all([readLimit(project, 'maxTurns'), readLimit(project, 'maxTokens')]);
  const opensTurn = mode !== 'ask' && findWaiting(state) === null;
  if (opensTurn && maxTurns !== null && state.turns.length >= maxTurns)
    throw spentBudgetError(state, await countSpent(project, state), 'maxTurns', maxTurns);
  const asksModel = !asksNobody && choice.model !== null && choice.provider !== 'manual';
  if (!asksModel || maxTokens === null) return;
  const spent = await countSpent(project, state);
  if (spent.input + spent.output >= maxTokens) throw spentBudgetError(state, spent, 'maxTokens', maxTokens);
}

export function refuseEmpty({ message, mode }: Pick<TurnOptions, 'message' | 'mode'>): void {
  if (message === undefined || message.trim() !== '') return;
  throw new TeddyError(
    'EMPTY_MESSAGE',
    'The message is empty.',
    `Say what you want: \`teddy ${mode ?? 'plan'} -m "..."\`.`,
  );
}

type LimitName = 'maxTurns' | 'maxTokens';
/** In tokens. */
type Spent = { input: number; output: number };

async function readLimit(project: Project, name: LimitName): Promise<number | null> {
  const text = await project.settings.get(name);
  return text === undefined ? null : Number(text);
}

/**
 * Counts this line's tokens along its first parents; a conversation branch includes the turns that precede it. Counts
 * each entry once.
 */
async function countSpent(project: Project, state: LineState): Promise<Spent> {
  const spent: Spent = { input: 0, output: 0 };
  const seen = new Set<string>();
  for await (const { commit } of project.repository.store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.session !== state.session || seen.has(entry.id)) continue;
    seen.add(entry.id);
    spent.input += entry.tokens?.input ?? 0;
    spent.output += entry.tokens?.output ?? 0;
    if (entry.kind === 'start') break;
  }
  return spent;
}

function spentBudgetError(
  { session, turns: { length: turns } }: LineState,
  { input, output }: Spent,
  name: LimitName,
  limit: number,
): TeddyError {
  const what = `${turns} ${turns === 1 ? 'turn' : 'turns'}, ${formatCount(input)} tokens in, ${formatCount(output)} out`;
  return new TeddyError(
    'BUDGET_SPENT',
    `Session ${session} has spent its budget: ${what}; teddy.${name} is ${formatCount(limit)}.`,
    `Raise it, e.g. \`git config teddy.${name} ${2 * limit}\`, or start another session: \`teddy new <name>\`.`,
  );
}
