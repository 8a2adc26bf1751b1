/** What every question to a model begins with: the line is ready, nothing is in the way, the message is on it. */
import { TeddyError } from '../../errors.ts';
import type { UserRecord } from '../../conversation/record.ts';
import type { RunClaim } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { appendRecords } from '../line/append-records.ts';
import type { TurnWish } from '../context/compose-request.ts';
import { openTurn, refusePending, type OpenTurn } from './open.ts';
import { prepareLine, type ReadyLine } from '../line/prepare.ts';
import { nextTurn, refreshLine, type LineState } from '../line/read.ts';
import { decodeEntry } from '../../session/entry.ts';
import { formatCount } from '../../session/format-count.ts';

type BeginWish = TurnWish & { selector?: string | undefined };

/** Throws PLAN_PENDING, EMPTY_MESSAGE, BUDGET_SPENT, UNKNOWN_AGENT and what a snapshot throws. */
export async function beginTurn(project: Project, request: BeginWish): Promise<{ line: ReadyLine; open: OpenTurn }> {
  const line = await prepareTurn(project, request);
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
  const line = await prepareTurn(project, request);
  const { ref, session, state } = line;
  const place = { session, ref, turn: nextTurn(state) };
  const claim = await project.answers.claim(place).catch((error: unknown) => addMessage(project, line, request, error));
  try {
    // Whoever had the right until now has moved the line.
    const now = { ...line, state: await refreshLine(project.repository.store, line) };
    return { line: now, open: await openTurn(project, now, request), claim };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function prepareTurn(project: Project, request: BeginWish): Promise<ReadyLine> {
  refuseEmpty(request);
  const line = await prepareLine(project, request.selector);
  refusePending(project, line, line.state, request);
  await refuseSpent(project, line.state, request);
  return line;
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

/** The limits that a user sets to a session: turns, and tokens of all its answers. */
interface Step {
  /** It would open a turn, not answer one that is open. */
  opensTurn: boolean;
  /** It would ask a model, not a person. */
  asksModel: boolean;
}

type LimitName = 'maxTurns' | 'maxTokens';

interface Spent {
  turns: number;
  inputTokens: number;
  outputTokens: number;
}

/** Throws BUDGET_SPENT when the line has reached a limit that the next step would pass. Nothing is counted without a limit. */
async function checkBudget(project: Project, state: LineState, step: Step): Promise<void> {
  const [maxTurns, maxTokens] = await Promise.all([readLimit(project, 'maxTurns'), readLimit(project, 'maxTokens')]);
  if (step.opensTurn && maxTurns !== null && state.turns.length >= maxTurns) {
    throw toSpentBudget(state, await countSpent(project, state), 'maxTurns', maxTurns);
  }
  if (!step.asksModel || maxTokens === null) return;
  const spent = await countSpent(project, state);
  if (spent.inputTokens + spent.outputTokens >= maxTokens) throw toSpentBudget(state, spent, 'maxTokens', maxTokens);
}

async function readLimit(project: Project, name: LimitName): Promise<number | null> {
  const text = await project.settings.get(name);
  return text === undefined ? null : Number(text);
}

/** Of this line along its first parents: on a conversation branch also what led there. Each entry counts once. */
async function countSpent(project: Project, state: LineState): Promise<Spent> {
  const spent: Spent = { turns: state.turns.length, inputTokens: 0, outputTokens: 0 };
  const seen = new Set<string>();
  for await (const { commit } of project.repository.store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.session !== state.session || seen.has(entry.id)) continue;
    seen.add(entry.id);
    spent.inputTokens += entry.tokens?.input ?? 0;
    spent.outputTokens += entry.tokens?.output ?? 0;
    if (entry.kind === 'start') break;
  }
  return spent;
}

function toSpentBudget({ session }: LineState, spent: Spent, name: LimitName, limit: number): TeddyError {
  const { turns, inputTokens, outputTokens } = spent;
  const what = `${turns} ${turns === 1 ? 'turn' : 'turns'}, ${formatCount(inputTokens)} tokens in, ${formatCount(outputTokens)} out`;
  return new TeddyError(
    'BUDGET_SPENT',
    `Session ${session} has spent its budget: ${what}; teddy.${name} is ${formatCount(limit)}.`,
    `Raise it, e.g. \`git config teddy.${name} ${2 * limit}\`, or begin another session: \`teddy session new <name>\`.`,
  );
}
