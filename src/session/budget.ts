/** The token budget of a request: what it is, how much of the history fits in, what is too large without any. */
import { TeddyError } from '../errors.ts';
import { countTokens, type LogSection } from './context-log-sections.ts';
import type { ContextLog } from './context-log.ts';
import { formatCount } from './format-count.ts';
import { defaultBudget } from './model-windows.ts';
import type { SessionId } from '../names.ts';
import { renderPathWord } from './quoted-path.ts';

/** Tokens that a request may have. `setting`: what `teddy.contextTokens` says. */
export function toBudget(setting: number | undefined, model: string): number {
  return setting ?? defaultBudget(model);
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
