/** Reads how much an answer has used, in the words of each provider; a source that says nothing gives nothing. */
import type { Tokens } from '../session/entry.ts';
import type { UnitUsage } from './importer.ts';
import { hasText } from './import-values.ts';

type Fields = Record<string, unknown>;

export function toUsage(model: unknown, provider: unknown, counts: Tokens, costUsd?: unknown): UnitUsage {
  const { input, output, cached = 0, reasoning = 0 } = counts;
  const tokens: Tokens = { input, output, ...(cached > 0 ? { cached } : {}), ...(reasoning > 0 ? { reasoning } : {}) };
  return {
    ...(hasText(model) ? { model } : {}),
    ...(hasText(provider) ? { provider } : {}),
    ...(input + output > 0 ? { tokens } : {}),
    ...(typeof costUsd === 'number' && Number.isFinite(costUsd) && costUsd > 0 ? { costUsd } : {}),
  };
}

/** A count, or 0 for what is none. */
export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0;
}

/** Anthropic counts what was read from the cache, or written to it, apart from the rest of the input. */
export function toClaudeUsage(model: unknown, usage: Fields): UnitUsage {
  const cached = countOf(usage['cache_read_input_tokens']);
  const input = countOf(usage['input_tokens']) + countOf(usage['cache_creation_input_tokens']) + cached;
  const details = (usage['output_tokens_details'] ?? {}) as Fields;
  const reasoning = countOf(details['thinking_tokens']);
  return toUsage(model, 'anthropic', { input, output: countOf(usage['output_tokens']), cached, reasoning });
}
