/** How many tokens the sections of many logs have: most of what a log shows was shown in the one before it. */
import { countTokens, renderLabel, type LogSection } from '../../session/context-log-sections.ts';

/** Keeps the sections of one log. */
export function rememberCounts(): (sections: readonly LogSection[]) => number {
  let known = new Map<string, { body: string; tokens: number }>();
  return (sections) => {
    const next: typeof known = new Map();
    let sum = 0;
    for (const section of sections) {
      const label = renderLabel(section);
      const found = known.get(label);
      const tokens = found?.body === section.body ? found.tokens : countTokens(section);
      next.set(label, { body: section.body, tokens });
      sum += tokens;
    }
    known = next;
    return sum;
  };
}
