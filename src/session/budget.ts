/** The token budget of a request: what it is, how much of the history fits in, what is too large without any. */
import { TeddyError } from '../errors.ts';
import { countTokens, type LogSection } from './context-log-sections.ts';
import type { ContextLog } from './context-log.ts';
import { formatCount } from './format-count.ts';
import type { SessionId } from '../names.ts';
import type { ModelFacts } from './model-facts.ts';
import { renderPathWord } from './quoted-path.ts';

/** The facts about a model, and how long the user lets its answers be. */
export type KnownWindow = Partial<Pick<ModelFacts, 'window' | 'answer'>> & { maxAnswer?: number | undefined };

/** Tokens that a request may have. `setting`: what `teddy.contextTokens` says. */
export function toBudget(
  setting: number | undefined,
  model: string,
  { window, answer, maxAnswer }: KnownWindow = {},
): number {
  if (setting !== undefined) return setting;
  const usual = windowOf(model);
  const most = window ?? usual.window;
  const kept = maxAnswer ?? answer ?? usual.answer;
  // Some models may answer with all that they take: most of that is for the request.
  return window ? most - Math.min(kept, Math.floor(most / 4)) : most - Math.min(kept, most - 1);
}

/**
 * How many turns, newest first, a request can hold. `turnTokens` are their estimates, each rounded up; `measure` gives the
 * tokens of the request with that many of them. It is asked a few times, however many turns there are.
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

/** Together, turns may have nearly one token less each than their estimates say. */
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

/** `keepsFiles`: the turn of a conversation branch, whose context is given. */
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
      ? `A conversation branch keeps the context of its turn: choose a model with a larger window, or ${raise}. Then say it again.`
      : `Take files away with \`!path\` in .teddy/sessions/${session}/session.context, or ${raise}. Then say it again.`,
  );
}

const listedFiles = 5;

/** The largest files, and the message where it is larger than these. */
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

/** How much a model can be shown: the published context windows, by the beginning of the model's name. */

interface ModelWindow {
  /** Tokens of request and answer together. */
  window: number;
  /** Tokens kept free for the answer, its reasoning included. */
  answer: number;
}

/** The longest beginning counts. `answer` is the model's published maximum, or less where that is the whole window. */
const windows: Readonly<Record<string, ModelWindow>> = {
  'chatgpt-4o': { window: 128_000, answer: 16_384 },
  'codex-mini': { window: 200_000, answer: 100_000 },
  'gpt-3.5': { window: 16_385, answer: 4_096 },
  'gpt-3.5-turbo-instruct': { window: 4_096, answer: 1_024 },
  'gpt-4': { window: 8_192, answer: 4_096 },
  'gpt-4-turbo': { window: 128_000, answer: 4_096 },
  'gpt-4.1': { window: 1_047_576, answer: 32_768 },
  'gpt-4.5': { window: 128_000, answer: 16_384 },
  'gpt-4o': { window: 128_000, answer: 16_384 },
  'gpt-5': { window: 400_000, answer: 128_000 },
  'gpt-5-chat': { window: 128_000, answer: 16_384 },
  'gpt-5-pro': { window: 400_000, answer: 272_000 },
  'gpt-5.1-chat': { window: 128_000, answer: 16_384 },
  'gpt-5.2-chat': { window: 128_000, answer: 16_384 },
  'gpt-5.3-chat': { window: 128_000, answer: 16_384 },
  'gpt-5.4': { window: 1_050_000, answer: 128_000 },
  'gpt-5.4-mini': { window: 400_000, answer: 128_000 },
  'gpt-5.4-nano': { window: 400_000, answer: 128_000 },
  'gpt-5.5': { window: 1_050_000, answer: 128_000 },
  'gpt-oss': { window: 131_072, answer: 32_768 },
  o1: { window: 200_000, answer: 100_000 },
  'o1-mini': { window: 128_000, answer: 65_536 },
  'o1-preview': { window: 128_000, answer: 32_768 },
  o3: { window: 200_000, answer: 100_000 },
  'o4-mini': { window: 200_000, answer: 100_000 },
  claude: { window: 200_000, answer: 64_000 },
  'claude-3-': { window: 200_000, answer: 8_192 },
  'claude-3-7': { window: 200_000, answer: 64_000 },
  'claude-3.5': { window: 200_000, answer: 8_192 },
  gemini: { window: 1_048_576, answer: 65_536 },
  'gemini-1.5': { window: 1_048_576, answer: 8_192 },
  'gemini-2.0': { window: 1_048_576, answer: 8_192 },
  deepseek: { window: 128_000, answer: 8_192 },
  'deepseek-r': { window: 128_000, answer: 65_536 },
  qwen: { window: 131_072, answer: 8_192 },
  'qwen-max': { window: 32_768, answer: 8_192 },
  'qwen2.5': { window: 32_768, answer: 8_192 },
  'qwen3-coder': { window: 262_144, answer: 65_536 },
  'qwen3-max': { window: 262_144, answer: 65_536 },
  'llama-3': { window: 131_072, answer: 8_192 },
  llama3: { window: 8_192, answer: 2_048 },
  'llama3.1': { window: 131_072, answer: 8_192 },
  'llama3.2': { window: 131_072, answer: 8_192 },
  'llama3.3': { window: 131_072, answer: 8_192 },
  'llama-4': { window: 1_000_000, answer: 8_192 },
  llama4: { window: 1_000_000, answer: 8_192 },
  mistral: { window: 131_072, answer: 8_192 },
  'mistral-7b': { window: 32_768, answer: 8_192 },
  mixtral: { window: 32_768, answer: 8_192 },
  codestral: { window: 256_000, answer: 8_192 },
  devstral: { window: 131_072, answer: 8_192 },
};

const unknownWindow: ModelWindow = { window: 128_000, answer: 16_384 };

/** Tokens that a request to the model may have. */
export function defaultBudget(model: string): number {
  return toBudget(undefined, model);
}

/** Tokens that are kept free for its answer. */
export function defaultAnswer(model: string): number {
  return windowOf(model).answer;
}

/** `model` may stand behind its maker: `openai/gpt-5`. */
function windowOf(model: string): ModelWindow {
  const name = model.toLowerCase().slice(model.lastIndexOf('/') + 1);
  const known = Object.keys(windows).filter((prefix) => name.startsWith(prefix));
  const longest = known.toSorted((a, b) => b.length - a.length)[0] ?? '';
  return windows[longest] ?? unknownWindow;
}
