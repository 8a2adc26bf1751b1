/** Every history that is rebuilt from a line is valid at each of its commits, in every format, without repairs. */
import { checkHistory } from '../support/check-history.ts';
import { toHistory } from '../../src/conversation/history/fold-history.ts';
import type { History, HistoryFormat } from '../../src/conversation/history/history.ts';
import { renderAnthropic } from '../../src/conversation/history/render-anthropic.ts';
import { renderMarkdown } from '../../src/conversation/history/render-history-markdown.ts';
import { renderJsonl } from '../../src/conversation/history/render-jsonl.ts';
import { renderOpenai } from '../../src/conversation/history/render-openai.ts';
import type { Project } from '../../src/ports/project.ts';
import { readConversation } from '../../src/workflow/line/read-conversation.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import type { Scene } from './scenes.ts';

const renderers: Record<HistoryFormat, (history: History) => unknown> = {
  openai: renderOpenai,
  anthropic: renderAnthropic,
  jsonl: renderJsonl,
  markdown: renderMarkdown,
};

/** A line only grows, so its commits are its complete past. */
export async function checkHistories(
  project: Project,
  repository: ScratchRepository,
  { ref, oldTip }: Scene,
): Promise<string[]> {
  const commits = await repository.git('rev-list', '--first-parent', ref ?? 'HEAD', `^${oldTip}`);
  const problems: string[] = [];
  for (const commit of commits === '' ? [] : commits.split('\n')) {
    const { turns, repairs } = await readConversation(project, { commit });
    const history = toHistory(turns);
    const found = [...repairs, ...history.repairs].map(({ text }) => `repaired: ${text}`);
    for (const [format, render] of Object.entries(renderers) as [HistoryFormat, (typeof renderers)['openai']][])
      found.push(...checkHistory(format, render(history)).map((violation) => `${format}: ${violation}`));
    problems.push(...found.map((problem) => `history at ${commit.slice(0, 12)}, ${problem}`));
  }
  return problems;
}
