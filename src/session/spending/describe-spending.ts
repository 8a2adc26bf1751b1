/** Formats tokens, money and time for the user. */
import { formatCount } from '../text/format-count.ts';
import type { Spending } from './spending.ts';

/** Formats spending: `1,234 tokens in, 567 out, $0.0123`; null when nothing is known about it. */
export function describeSpending({ answers, unreported, inputTokens, outputTokens, costUsd }: Spending): string | null {
  if (answers === unreported) return null;
  const tokens = `${formatCount(inputTokens)} tokens in, ${formatCount(outputTokens)} out`;
  const cost = costUsd === null ? '' : `, ${formatCost(costUsd)}`;
  const missing = unreported === 0 ? '' : ` (and ${countOf(unreported, 'answer')} not reported)`;
  return tokens + cost + missing;
}

/** Formats a cost, with more digits for small amounts: `$0.0042`, `$12.35`. */
export function formatCost(costUsd: number): string {
  return `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`;
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Formats a count: `1 file`, `2 files`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
