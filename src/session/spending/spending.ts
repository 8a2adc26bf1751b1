/** Adds up the cost of answers, if the endpoints report it. */
import type { Entry } from '../entries/entry.ts';
import type { ModelPrice } from '../context/model-facts.ts';

export interface Spending {
  /** The number of answers from a model, or from a user in its place. */
  answers: number;
  /** The number of answers without a token report from the endpoint. */
  unreported: number;
  inputTokens: number;
  outputTokens: number;
  /** The input tokens read from endpoints' caches; absent when no endpoint reported any. */
  cachedTokens?: number;
  /** The output tokens that models used for reasoning. */
  reasoningTokens?: number;
  /** The cost in US dollars; null when no endpoint reported one. */
  costUsd: number | null;
  /** The cost of all other answers, at their models' prices; absent when no price is known. */
  estimatedUsd?: number;
}

/** The part of an entry that determines its cost. */
export type CostedEntry = Pick<Entry, 'id' | 'kind' | 'provider' | 'model' | 'tokens' | 'costUsd'>;

/** Returns null when the price of the answer's model is unknown. */
export type PriceOf = (entry: CostedEntry) => ModelPrice | null;

const nothingSpent: Spending = { answers: 0, unreported: 0, inputTokens: 0, outputTokens: 0, costUsd: null };

/**
 * Sums answers. An entry that occurs twice, on two lines or after a rebase, counts once. Without `priceOf`, only costs
 * reported by endpoints count.
 */
export function sumSpent(entries: readonly CostedEntry[], priceOf: PriceOf = () => null): Spending {
  const answers = new Map(entries.filter(isAnswer).map((entry) => [entry.id, entry]));
  return [...answers.values()].map((entry) => toSpending(entry, priceOf)).reduce(addSpendings, nothingSpent);
}

function toSpending(entry: CostedEntry, priceOf: PriceOf): Spending {
  const estimatedUsd = estimateCost(entry, priceOf);
  return {
    answers: 1,
    unreported: entry.tokens === undefined ? 1 : 0,
    inputTokens: entry.tokens?.input ?? 0,
    outputTokens: entry.tokens?.output ?? 0,
    ...toParts(entry.tokens?.cached, entry.tokens?.reasoning),
    costUsd: entry.costUsd ?? null,
    ...(estimatedUsd === null ? {} : { estimatedUsd }),
  };
}

/** Estimates a cost; null when the endpoint reported one, or the price is unknown. */
function estimateCost(entry: CostedEntry, priceOf: PriceOf): number | null {
  const { tokens, costUsd } = entry;
  const price = tokens === undefined || costUsd !== undefined ? null : priceOf(entry);
  if (tokens === undefined || price === null) return null;
  const { input, output, cached = 0 } = tokens;
  return ((input - cached) * price.input + cached * (price.cached ?? price.input) + output * price.output) / 1_000_000;
}

function addSpendings(one: Spending, other: Spending): Spending {
  const costs = [one.costUsd, other.costUsd].filter((cost) => cost !== null);
  const estimates = [one.estimatedUsd, other.estimatedUsd].filter((cost) => cost !== undefined);
  return {
    answers: one.answers + other.answers,
    unreported: one.unreported + other.unreported,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    ...toParts(
      (one.cachedTokens ?? 0) + (other.cachedTokens ?? 0),
      (one.reasoningTokens ?? 0) + (other.reasoningTokens ?? 0),
    ),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    ...(estimates.length === 0 ? {} : { estimatedUsd: estimates.reduce((sum, cost) => sum + cost, 0) }),
  };
}

function toParts(cached = 0, reasoning = 0): Pick<Spending, 'cachedTokens' | 'reasoningTokens'> {
  return { ...(cached > 0 ? { cachedTokens: cached } : {}), ...(reasoning > 0 ? { reasoningTokens: reasoning } : {}) };
}

/**
 * Returns true if an entry is an answer. An imported answer was paid for elsewhere, so it counts only if its tokens are
 * known.
 */
export function isAnswer({ kind, tokens, provider }: CostedEntry): boolean {
  const isOfModel = kind === 'plan' || kind === 'reply' || kind === 'exchange';
  return tokens !== undefined || (isOfModel && provider !== undefined);
}
