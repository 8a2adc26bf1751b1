/**
 * A request's token budget: the size of the request, how much history fits, and which requests are too large even
 * without history.
 */
import { TeddyError } from '../../errors.ts';
import { countTokens, type LogSection } from './context-log-sections.ts';
import type { ContextLog } from './context-log.ts';
import { formatCount } from '../text/format-count.ts';
import type { SessionId } from '../../names.ts';
import type { ModelFacts } from './model-facts.ts';
import { renderPathWord } from '../paths/paths.ts';

/** The facts about a model, and the user's limit for an answer. */
export type KnownWindow = Partial<Pick<ModelFacts, 'window' | 'answer'>> & { maxAnswer?: number | undefined };

/** Returns the token limit of a request. `setting` is the value of `teddy.contextTokens`. */
export function toBudget(
  setting: number | undefined,
  model: string,
  { window, answer, maxAnswer }: KnownWindow = {},
): number {
  if (setting !== undefined) return setting;
  const usual = windowOf(model);
  const most = window ?? usual.window;
  const kept = maxAnswer ?? answer ?? usual.answer;
  // Some models may fill their whole window with an answer; keep most of the window for the request.
  return window ? most - Math.min(kept, Math.floor(most / 4)) : most - Math.min(kept, most - 1);
}

/**
 * Counts how many turns, newest first, fit into a request. `turnTokens` are the turns' estimates, each rounded up.
 * `measure` returns the tokens of a request with that many turns; it is called only a few times, however many turns
 * there are.
 */
export function countFitting(turnTokens: readonly number[], budget: number, measure: (kept: number) => number): number {
  if (measure(turnTokens.length) <= budget) return turnTokens.length;
  const { surely, perhaps } = boundCount(turnTokens, budget - measure(0));
  let [fits, fails] = [surely, Math.min(perhaps + 1, turnTokens.length)];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (measure(middle) <= budget) fits = middle;
    else fails = middle;
  }
  while (fits > 0 && measure(fits) > budget) fits -= 1;
  return fits;
}

/** Bounds the number of turns that fit. A turn may be almost one token below its estimate, which is rounded up. */
function boundCount(turnTokens: readonly number[], room: number): { surely: number; perhaps: number } {
  let total = 0;
  let [surely, perhaps] = [0, 0];
  for (const [at, tokens] of turnTokens.entries()) {
    total += tokens;
    if (total <= room) surely = at + 1;
    if (total - at - 1 <= room) perhaps = at + 1;
  }
  return { surely, perhaps };
}

/**
 * Throws CONTEXT_TOO_LARGE when the request exceeds the budget. `keepsFiles` is true for a conversation branch's turn,
 * because its context is fixed.
 */
export function refuseTooLarge(
  { tokens, sections }: Pick<ContextLog, 'tokens' | 'sections'>,
  budget: number,
  { session, keepsFiles }: { session: SessionId; keepsFiles: boolean },
): void {
  if (tokens <= budget) return;
  const raise = 'raise the budget: `git config teddy.contextTokens <number>`';
  throw new TeddyError(
    'CONTEXT_TOO_LARGE',
    [
      `${keepsFiles ? 'The request' : 'Even without history the request'} has about ${formatCount(tokens)} tokens,`,
      `and its budget is ${formatCount(budget)}; nothing was sent or recorded.`,
      `The largest: ${listLargest(sections)}.`,
    ].join(' '),
    keepsFiles
      ? `A conversation branch keeps the context of its turn: choose a model with a larger window, or ${raise}. Then send the message again.`
      : `Remove files with \`!path\` in .teddy/sessions/${session}/session.context, or ${raise}. Then send the message again.`,
  );
}

const listedFiles = 5;

/** Lists the largest files, and the message if it is larger than every file. */
function listLargest(sections: readonly LogSection[]): string {
  const sized = sections
    .filter(({ name }) => name === 'file' || name === 'message')
    .map((section) => ({ section, tokens: countTokens(section) }))
    .toSorted((a, b) => b.tokens - a.tokens);
  const files = sized.filter(({ section }) => section.name === 'file').slice(0, listedFiles);
  const shown = sized[0]?.section.name === 'message' ? [sized[0], ...files] : files;
  return shown
    .map(
      ({ section: { path }, tokens }) =>
        `${path === null ? 'the message' : renderPathWord(path)} (${formatCount(tokens)})`,
    )
    .join(', ');
}

/** The size of a model's window. */
interface ModelWindow {
  /** The number of tokens in the request and the answer combined. */
  window: number;
  /** The tokens reserved for the answer, including its reasoning. */
  answer: number;
}

/**
 * The published windows, with prefixes of model names; the longest matching prefix wins. `answer` is the published
 * maximum, or less if that maximum would fill the entire window.
 */
const windows: readonly [window: number, answer: number, names: string][] = [
  [4_096, 1_024, 'gpt-3.5-turbo-instruct'],
  [8_192, 2_048, 'llama3'],
  [8_192, 4_096, 'gpt-4'],
  [16_385, 4_096, 'gpt-3.5'],
  [32_768, 8_192, 'qwen-max qwen2.5 mistral-7b mixtral'],
  [128_000, 4_096, 'gpt-4-turbo'],
  [128_000, 8_192, 'deepseek'],
  [128_000, 16_384, 'chatgpt-4o gpt-4.5 gpt-4o gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat'],
  [128_000, 32_768, 'o1-preview'],
  [128_000, 65_536, 'o1-mini deepseek-r'],
  [131_072, 8_192, 'qwen llama-3 llama3.1 llama3.2 llama3.3 mistral devstral'],
  [131_072, 32_768, 'gpt-oss'],
  [200_000, 8_192, 'claude-3- claude-3.5'],
  [200_000, 64_000, 'claude claude-3-7'],
  [200_000, 100_000, 'codex-mini o1 o3 o4-mini'],
  [256_000, 8_192, 'codestral'],
  [262_144, 65_536, 'qwen3-coder qwen3-max'],
  [400_000, 128_000, 'gpt-5 gpt-5.4-mini gpt-5.4-nano'],
  [400_000, 272_000, 'gpt-5-pro'],
  [1_000_000, 8_192, 'llama-4 llama4'],
  [1_047_576, 32_768, 'gpt-4.1'],
  [1_048_576, 8_192, 'gemini-1.5 gemini-2.0'],
  [1_048_576, 65_536, 'gemini'],
  [1_050_000, 128_000, 'gpt-5.4 gpt-5.5'],
];

const unknownWindow: ModelWindow = { window: 128_000, answer: 16_384 };

/** Returns the tokens reserved for the model's answer. */
export function defaultAnswer(model: string): number {
  return windowOf(model).answer;
}

/** Finds a model's window. The maker's name may precede the model's: `openai/gpt-5`. */
function windowOf(model: string): ModelWindow {
  const name = model.toLowerCase().slice(model.lastIndexOf('/') + 1);
  const known = windows.flatMap(([window, answer, names]) =>
    names.split(' ').flatMap((beginning) => (name.startsWith(beginning) ? { beginning, window, answer } : [])),
  );
  return known.toSorted((a, b) => b.beginning.length - a.beginning.length)[0] ?? unknownWindow;
}
