/** The rules of every format, stated apart from what renders them. */
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
 * A sentence for each violation, with the index of the message (from 0) or the number of the line (from 1); none: it is
 * valid. `messages`: an array, of `jsonl` and `markdown` the text.
 */
export function checkHistory(format: HistoryFormat, messages: unknown): string[] {
  return checks[format](messages);
}
