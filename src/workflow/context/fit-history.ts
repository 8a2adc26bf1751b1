/** Fits the history of a line into a request: whole, with its large bodies clipped, or without its oldest turns. */
import type { TurnName } from '../../names.ts';
import { countFitting } from '../../session/budget.ts';
import type { HistoryText } from '../../session/context-log-sections.ts';
import type { ContextLog } from '../../session/context-log.ts';
import { joinHistory, renderLeftOut } from '../../session/history-text.ts';
import { countClipped, type HistoryTurn } from './read-history.ts';

interface HistoryOptions {
  newestFirst: readonly TurnName[];
  /** Those that were read: at least what fits. */
  turns: readonly HistoryTurn[];
  limit: number;
  budget: number;
  /** The tokens of the request without history. */
  bare: number;
  render(history: HistoryText): ContextLog;
}

interface FittedHistory {
  log: ContextLog;
  notes: string[];
}

/**
 * The whole history if it fits, else with its large bodies clipped, else without its oldest turns. Once turns are left out,
 * the next requests leave out the same ones until no more fits, and then a third of the room becomes free at once: the
 * beginning of a request stays the same for as long as possible. Null: there is no history.
 */
export async function fitHistory(
  { newestFirst, turns, limit, budget, bare, render }: HistoryOptions,
  readCut: () => Promise<string | null>,
): Promise<FittedHistory | null> {
  if (turns.length === 0) return null;
  const isWhole = turns.length === newestFirst.length;
  if (isWhole) {
    const log = render(toHistory(newestFirst, turns));
    if (log.tokens <= budget) return { log, notes: [] };
  }
  const rendered = new Map<number, ContextLog>();
  const renderClipped = (kept: number) => {
    const log = rendered.get(kept) ?? render(toHistory(newestFirst, turns.slice(0, kept), limit));
    rendered.set(kept, log);
    return log;
  };
  const finish = (kept: number): FittedHistory => {
    const clipped = turns.slice(0, kept).flatMap((turn) => turn.clipped?.leftOut ?? []);
    const leftOut = newestFirst.slice(kept).toReversed();
    const notes = [
      ...clipped.map((what) => `Shown by its beginning and end: ${what}.`),
      ...(leftOut.length === 0 ? [] : [renderLeftOut(leftOut)]),
    ];
    return { log: renderClipped(kept), notes };
  };
  if (isWhole && renderClipped(turns.length).tokens <= budget) return finish(turns.length);
  const cut = await readCut();
  const before = cut === null ? -1 : newestFirst.findIndex((name) => name === cut);
  if (before > 0 && before <= turns.length && renderClipped(before).tokens <= budget) return finish(before);
  const tokens = turns.map(countClipped);
  const target = bare + Math.floor(((budget - bare) * 2) / 3);
  const measure = (kept: number) => renderClipped(kept).tokens;
  // The newest turn is worth more than room that stays free.
  return finish(countFitting(tokens, target, measure) || countFitting(tokens, budget, measure));
}

/** `limit`: large bodies are clipped to it; without it, nothing is clipped. */
export function toHistory(newestFirst: readonly TurnName[], kept: readonly HistoryTurn[], limit?: number): HistoryText {
  const isClipped = limit !== undefined && kept.some(({ clipped }) => clipped !== null);
  const texts = kept.map(({ text, clipped }) => (isClipped && clipped !== null ? clipped.text : text)).toReversed();
  return {
    text: joinHistory(newestFirst.slice(kept.length).toReversed(), texts),
    masked: kept.reduce((sum, { masked }) => sum + masked, 0),
    clipped: isClipped ? limit : undefined,
  };
}
