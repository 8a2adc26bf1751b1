/** Counts a line's cost so far, by turn and by model, against its budget. */
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { groupBy } from '../../session/text/group-by.ts';
import type { ModelPrice } from '../../session/context/model-facts.ts';
import type { SessionId, TurnName } from '../../names.ts';
import { estimateTokens } from '../../session/text/tokens.ts';
import { outlineTurn, readLineTurns, readSession, readTurnFile, type TurnAt } from '../../view/view.ts';
import { isAnswer, sumSpent, type CostedEntry, type PriceOf, type Spending } from '../../session/spending/spending.ts';
import { findRecorded, warnOfCut } from '../line/find-recorded.ts';

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
}

interface TurnCost {
  turn: TurnName;
  /** The label of the turn's first message or answer. */
  title: string;
  models: string[];
  spent: Spending;
  /** The estimated tokens of the answers for which the endpoint reported no count; null when there are none. */
  estimated: Tokens | null;
}

interface ModelCost {
  model: string;
  spent: Spending;
}

/** `limit` is null when no limit is set. */
export interface BudgetPart {
  limit: number | null;
  spent: number;
}

export interface LineCost {
  session: SessionId;
  line: string;
  turns: TurnCost[];
  models: ModelCost[];
  spent: Spending;
  /** Models with no known price and no cost reported by the endpoint. */
  unpriced: string[];
  estimated: Tokens | null;
  budget: { maxTurns: BudgetPart; maxTokens: BudgetPart };
}

/**
 * Counts along the line's first parents. On a conversation branch, this includes the earlier turns, because its budget
 * counts them. Throws the errors of `findRecorded`.
 */
export async function countCost(project: Project, target: string | undefined): Promise<LineCost> {
  const { store } = project.repository;
  const { session, name, tip } = await findRecorded(project, target);
  const [read, state] = await Promise.all([readSession(store, { session, tip }), readLineTurns(store, tip)]);
  warnOfCut(project, read);
  const answers = read.steps.flatMap(({ entry }) => (entry !== null && isAnswer(entry) ? [entry] : []));
  const { priceOf, unpriced } = await readPrices(project, answers);
  const outlines = new Map(read.turns.map((outline) => [outline.turn, outline]));
  const turns = await Promise.all(
    state.turns.map(async (turn) => {
      const { title, models, steps } = outlines.get(turn) ?? outlineTurn(turn, []);
      const own = steps.flatMap(({ entry }) => entry ?? []);
      const spent = sumSpent(own, priceOf);
      const at = { commit: state.entryOid, session, turn };
      return {
        turn,
        title,
        models,
        spent,
        estimated: spent.unreported > 0 ? await estimateTurn(store, at, spent) : null,
      };
    }),
  );
  const spent = sumSpent(answers, priceOf);
  return {
    session,
    line: name,
    turns,
    models: countModels(answers, priceOf),
    spent,
    unpriced,
    estimated: turns.map(({ estimated }) => estimated).reduce(addTokens, null),
    budget: {
      maxTurns: { limit: await readLimit(project, 'maxTurns'), spent: state.turns.length },
      maxTokens: { limit: await readLimit(project, 'maxTokens'), spent: spent.inputTokens + spent.outputTokens },
    },
  };
}

/** The request's size comes from the log, the answer's from the turn's files. */
async function estimateTurn(store: Store, at: TurnAt, spent: Spending): Promise<Tokens> {
  const read = (name: string) => readTurnFile(store, at, name);
  const [log, transcript, plan] = await Promise.all([read('_context.log'), read('transcript.jsonl'), read('plan.md')]);
  const asked = Number(/^tokens: (\d{1,9})\b/m.exec((log ?? '').split('\n---\n', 1)[0] ?? '')?.[1] ?? 0);
  const said = decodeTranscript(transcript ?? '').records.flatMap((record) =>
    (record.type === 'assistant' || record.type === 'assistant_partial') && 'content' in record.message
      ? [record.message.content]
      : [],
  );
  const answered = [plan ?? '', ...said].reduce((sum, text) => sum + estimateTokens(text), 0);
  const share = spent.unreported / spent.answers;
  return { inputTokens: asked * spent.unreported, outputTokens: Math.round(answered * share) };
}

/** Reads the known prices of the models that have answered. Throws BAD_SETTING. */
export async function readPrices(
  { models }: Pick<Project, 'models'>,
  entries: readonly CostedEntry[],
): Promise<{ priceOf: PriceOf; unpriced: string[] }> {
  const priced = entries.filter(
    (entry) => isAnswer(entry) && entry.tokens !== undefined && entry.costUsd === undefined,
  );
  const keyOf = ({ provider = '', model = '' }: CostedEntry) => `${provider} ${model}`;
  const prices = new Map<string, ModelPrice | null>();
  for (const entry of priced) {
    const { provider = '', model = '' } = entry;
    if (!prices.has(keyOf(entry))) prices.set(keyOf(entry), (await models.find(provider, model)).price);
  }
  const unpriced = priced.filter((entry) => prices.get(keyOf(entry)) === null).map(({ model = '' }) => model);
  return { priceOf: (entry) => prices.get(keyOf(entry)) ?? null, unpriced: [...new Set(unpriced)] };
}

/** Lists the models in the order of their first answers. */
function countModels(answers: readonly Entry[], priceOf: PriceOf): ModelCost[] {
  const models = groupBy(answers, ({ model, provider }) => model ?? provider ?? '');
  return [...models].map(([model, own]) => ({ model, spent: sumSpent(own, priceOf) }));
}

function addTokens(one: Tokens | null, other: Tokens | null): Tokens | null {
  if (one === null || other === null) return one ?? other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

async function readLimit(project: Project, name: 'maxTurns' | 'maxTokens'): Promise<number | null> {
  const text = await project.settings.get(name);
  return text === undefined ? null : Number(text);
}
