/** Counts the cost of answers, as far as the endpoints have reported it. */
import type { Entry } from '../../session/entry.ts';

export interface Spending {
  /** How many times a model, or a person in its place, has answered. */
  answers: number;
  /** The number of those whose endpoint did not report tokens. */
  unreported: number;
  inputTokens: number;
  outputTokens: number;
  /** How many of the input came from the caches of endpoints; missing: none, as far as they have said. */
  cachedTokens?: number;
  /** How many of the output the models have thought with. */
  reasoningTokens?: number;
  /** US dollars; null: no endpoint has named a price. */
  costUsd: number | null;
}

export const nothingSpent: Spending = { answers: 0, unreported: 0, inputTokens: 0, outputTokens: 0, costUsd: null };

export function sumSpent(entries: readonly Entry[]): Spending {
  return entries.reduce(addSpent, nothingSpent);
}

export function addSpent(sum: Spending, entry: Entry): Spending {
  if (!isAnswer(entry)) return sum;
  return addSpendings(sum, {
    answers: 1,
    unreported: entry.tokens === undefined ? 1 : 0,
    inputTokens: entry.tokens?.input ?? 0,
    outputTokens: entry.tokens?.output ?? 0,
    ...toParts(entry.tokens?.cached, entry.tokens?.reasoning),
    costUsd: entry.costUsd ?? null,
  });
}

export function addSpendings(one: Spending, other: Spending): Spending {
  const costs = [one.costUsd, other.costUsd].filter((cost) => cost !== null);
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
  };
}

function toParts(cached = 0, reasoning = 0): Pick<Spending, 'cachedTokens' | 'reasoningTokens'> {
  return { ...(cached > 0 ? { cachedTokens: cached } : {}), ...(reasoning > 0 ? { reasoningTokens: reasoning } : {}) };
}

/** An imported answer was given elsewhere: it counts only with its tokens. */
export function isAnswer({ kind, tokens, provider }: Entry): boolean {
  const isOfModel = kind === 'plan' || kind === 'reply' || kind === 'exchange';
  return tokens !== undefined || (isOfModel && provider !== undefined);
}
