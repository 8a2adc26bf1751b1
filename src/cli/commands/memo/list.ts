import { Command } from 'clipanion';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class MemoListCommand extends TeddyCommand {
  static override paths = [['memo', 'list']];
  static override usage = Command.Usage({
    category: 'Memos',
    description: 'List the facts that every session is told.',
    details: `
      Each has a number, by which \`teddy memo remove\` removes it.
    `,
    examples: [['All facts', '$0 memo list']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { listMemos } = await import('../../../workflow/context/change-memos.ts');
      const memos = await listMemos(project);
      if (this.json) this.printJson(terminal, 'memo-list', { memos });
      else if (memos.length === 0) terminal.say('There is no memo yet. Add one: teddy memo add "Use pnpm"');
      else await this.page(terminal, project, memos.map((fact, at) => renderMemo(fact, at + 1, memos.length)).join(''));
      return 0;
    });
  }
}

function renderMemo(fact: string, number: number, count: number): string {
  const width = String(count).length;
  const [first = '', ...rest] = toVisible(fact.trimEnd()).split('\n');
  const lines = [
    `${String(number).padStart(width)}  ${first}`,
    ...rest.map((line) => `${' '.repeat(width + 2)}${line}`),
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
