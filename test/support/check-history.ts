/** The rules for every format, stated independently of the renderers. */
import { checkAnthropic } from './check-anthropic.ts';
import { checkJsonl } from './check-jsonl.ts';
import { checkMarkdown } from './check-markdown.ts';
import { checkOpenai } from './check-openai.ts';
import type { HistoryFormat } from '../../src/conversation/history/history.ts';

const checks: Record<HistoryFormat, (messages: unknown) => string[]> = {
  openai: checkOpenai,
  anthropic: checkAnthropic,
  jsonl: checkJsonl,
  markdown: checkMarkdown,
};

/**
 * One sentence for each violation, with the index of the message (from 0) or the number of the line (from 1); empty if
 * it is valid. `messages`: an array, or the text for `jsonl` and `markdown`.
 */
export function checkHistory(format: HistoryFormat, messages: unknown): string[] {
  return checks[format](messages);
}
