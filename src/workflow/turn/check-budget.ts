/** The limits that a user sets to a session: turns, and tokens of all its answers. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entry.ts';
import { formatCount } from '../../session/format-count.ts';
import type { LineState } from '../line/read.ts';

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
export async function checkBudget(project: Project, state: LineState, step: Step): Promise<void> {
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
