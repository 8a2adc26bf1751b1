/** The summary that a program wrote when it compacted the conversation. */
import type { LineContext } from './import-context.ts';
import { summarySource } from './record.ts';

interface Base {
  id: string;
  timestamp: string;
}

/** The conversation that it summarises stands above it, and the text says so; it answers nobody. */
export function addSummary({ units }: LineContext, base: Base, text: string): void {
  const content = `[The conversation was compacted here. The summary of what stands above:]\n\n${text}`;
  units.say(null, { type: 'assistant', ...base, message: { role: 'assistant', content }, source: summarySource });
}
