/** Tells what RESEARCH will do, or why it cannot. */
import type { EffectOutcome, PlanWorld } from './effect.ts';
import type { ResearchAction } from './plan.ts';
import { refuse } from './refuse.ts';

export const noSearchCommand = 'no search command configured';
export const searchCommandHint = '`git config teddy.searchCommand <command>`';

export function toSearchEffect(action: ResearchAction, { canSearch }: PlanWorld): EffectOutcome {
  const { index, queries } = action;
  if (canSearch === false) {
    return refuse(action, `RESEARCH: ${noSearchCommand}.`, `Leave it out, or configure one: ${searchCommandHint}.`);
  }
  const option = queries.find((query) => query.startsWith('-'));
  if (option !== undefined) {
    return refuse(
      action,
      `RESEARCH: the query "${option.slice(0, 60)}" begins with \`-\`, and a command takes that for an option.`,
      'Begin each query with a word; it is one query a line, without a list.',
    );
  }
  return { effect: { kind: 'search', action: index, queries } };
}
