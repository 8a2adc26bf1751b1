import { TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class MemoListCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Memos',
    description: 'List the facts that teddy tells every session.',
    details: `
      Each has a number, by which \`teddy memo remove\` removes it. Facts that an agent has proposed are listed after
      them, and no session sees one before you add it.
    `,
    examples: [['All facts', '$0 memo list']],
  });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const [{ listMemos }, { listProposed }] = await Promise.all([
        import('../../../workflow/context/change-memos.ts'),
        import('../../../workflow/line/proposed-memos.ts'),
      ]);
      const [memos, proposed] = await Promise.all([listMemos(project), listProposed(project)]);
      if (this.json) this.printJson(terminal, 'memo-list', { memos, proposed });
      else if (memos.length === 0) terminal.say('There are no memos yet. Add one: teddy memo add "Use pnpm"');
      else await this.page(terminal, project, memos.map((fact, at) => renderMemo(fact, at + 1, memos.length)).join(''));
      if (!this.json) for (const fact of proposed) terminal.say(describeProposal(fact));
      return 0;
    });
  }
}

function describeProposal(fact: string): string {
  const word = toShellWord(fact);
  return `Proposed by an agent: ${toVisible(fact)}\n  Accept: teddy memo add -- ${toVisible(word)}\n  Reject: teddy memo remove -- ${toVisible(word)}`;
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
