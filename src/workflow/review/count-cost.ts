/** Counts the cost of a line so far, turn by turn and model by model, against its budget. */
import { decodeTranscript } from '../../conversation/decode-transcript.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entry.ts';
import type { ModelPrice } from '../../session/model-facts.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import { estimateTokens } from '../../session/tokens.ts';
import { readLineTurns, readSteps, readTurnFile } from '../../view/view.ts';
import {
  addSpent,
  isAnswer,
  nothingSpent,
  sumSpent,
  type CostedEntry,
  type PriceOf,
  type Spending,
} from '../../session/spending.ts';
import { findRecorded } from '../line/find-recorded.ts';

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
}

interface TurnCost {
  turn: TurnName;
  /** The label of its first message, or of its answer. */
  title: string;
  models: string[];
  spent: Spending;
  /** Estimates the answers whose endpoints did not report their tokens; null when there are none. */
  estimated: Tokens | null;
}

interface ModelCost {
  model: string;
  spent: Spending;
}

/** `limit` null: none is set. */
export interface BudgetPart {
  limit: number | null;
  spent: number;
}

export interface LineCost {
  session: SessionId;
  line: string;
  turns: TurnCost[];
  models: ModelCost[];
  total: Spending;
  /** Models whose endpoint has named no cost, and whose price nobody knows. */
  unpriced: string[];
  estimated: Tokens | null;
  budget: { maxTurns: BudgetPart; maxTokens: BudgetPart };
}

/**
 * Counts along the first parents of the line: on a conversation branch also the turns that led there, since its budget counts
 * them. Throws the errors of `findRecorded`.
 */
export async function countCost(project: Project, target: string | undefined): Promise<LineCost> {
  const { store } = project.repository;
  const { session, name, tip } = await findRecorded(project, target);
  const [entries, state] = await Promise.all([readEntries(store, session, tip), readLineTurns(store, tip)]);
  const answers = entries.filter(isAnswer);
  const { priceOf, unpriced } = await readPrices(project, answers);
  const turns = await Promise.all(
    state.turns.map((turn) => countTurn(store, state.entryOid, turn, { entries, priceOf })),
  );
  const total = sumSpent(answers, priceOf);
  return {
    session,
    line: name,
    turns,
    models: countModels(answers, priceOf),
    total,
    unpriced,
    estimated: turns.map(({ estimated }) => estimated).reduce(addTokens, null),
    budget: {
      maxTurns: { limit: await readLimit(project, 'maxTurns'), spent: state.turns.length },
      maxTokens: { limit: await readLimit(project, 'maxTokens'), spent: total.inputTokens + total.outputTokens },
    },
  };
}

/** Oldest first; each once, as after a rebase it may be there twice. */
export async function readEntries(store: Store, session: SessionId, tip: Oid): Promise<Entry[]> {
  const { steps } = await readSteps(store, { session, tip });
  const entries = new Map<string, Entry>();
  for (const { entry } of steps.toReversed())
    if (entry !== null && !entries.has(entry.id)) entries.set(entry.id, entry);
  return [...entries.values()].toReversed();
}

async function countTurn(
  store: Store,
  commit: Oid,
  turn: TurnName,
  { entries, priceOf }: { entries: readonly Entry[]; priceOf: PriceOf },
): Promise<TurnCost> {
  const own = entries.filter((entry) => entry.turn === turn);
  const spent = sumSpent(own, priceOf);
  const session = own[0]?.session;
  const isEstimated = spent.unreported > 0 && session !== undefined;
  return {
    turn,
    title: (own.find(({ kind }) => kind === 'message') ?? own[0])?.title ?? '',
    models: [...new Set(own.filter(isAnswer).flatMap(({ model }) => model ?? []))],
    spent,
    estimated: isEstimated ? await estimateTurn(store, commit, { session, turn, spent }) : null,
  };
}

/** The request's size stands in its log; what was answered is counted in the files of the turn. */
async function estimateTurn(
  store: Store,
  commit: Oid,
  { session, turn, spent }: { session: SessionId; turn: TurnName; spent: Spending },
): Promise<Tokens> {
  const read = (name: string) => readTurnFile(store, { commit, session, turn }, name);
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

/** The prices of the models that have answered, where one is known. Throws BAD_SETTING. */
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

/** In order of their first answer. */
function countModels(answers: readonly Entry[], priceOf: PriceOf): ModelCost[] {
  const models = new Map<string, Spending>();
  for (const answer of answers) {
    const model = answer.model ?? answer.provider ?? '';
    models.set(model, addSpent(models.get(model) ?? nothingSpent, answer, priceOf));
  }
  return [...models].map(([model, spent]) => ({ model, spent }));
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
