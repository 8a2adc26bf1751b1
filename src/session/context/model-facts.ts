/** The facts about a model: its window and its price. */

/** Prices in US dollars per million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  /** The price of input read from the endpoint's cache; absent when it equals the price of other input. */
  cached?: number;
}

export interface ModelFacts {
  /** The number of tokens in the request and the answer combined; null when unknown. */
  window: number | null;
  /** The maximum tokens of an answer; null when unknown. */
  answer: number | null;
  price: ModelPrice | null;
}

/** Returns the value if it is a positive integer, otherwise null. */
export function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** Returns the price; null unless input and output both have one. OpenRouter reports -1 for a variable price. */
export function toPrice({ input, output, cached }: { [name in keyof ModelPrice]?: unknown }): ModelPrice | null {
  if (!isAmount(input) || !isAmount(output)) return null;
  return { input, output, ...(isAmount(cached) ? { cached } : {}) };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
