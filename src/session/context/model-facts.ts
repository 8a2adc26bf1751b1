/** The facts about a model: how much it takes, and what that costs. */

/** US dollars for a million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  /** For input that is read from the endpoint's cache; missing: the same as for any other. */
  cached?: number;
}

export interface ModelFacts {
  /** Tokens of request and answer together; null: nobody says. */
  window: number | null;
  /** Tokens that an answer may have. */
  answer: number | null;
  price: ModelPrice | null;
}

/** Null: it is no count. */
export function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** Null unless input and output have a price. OpenRouter says -1 where it depends. */
export function toPrice({ input, output, cached }: { [name in keyof ModelPrice]?: unknown }): ModelPrice | null {
  if (!isAmount(input) || !isAmount(output)) return null;
  return { input, output, ...(isAmount(cached) ? { cached } : {}) };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
