import { parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class MemoAddCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Memos',
    description: 'Remember a fact for every session.',
    details: 'The fact is saved on `teddy/global` at once, and every session includes it in its next request.',
    examples: [
      ['Tell every session', '$0 memo add "Use pnpm, never npm"'],
      ['A fact that begins with a hyphen', '$0 memo add -- "-O2 breaks the parser"'],
    ],
  });

  fact = parameter('fact');

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { addMemo } = await import('../../../workflow/context/change-memos.ts');
      const { fact, added } = await addMemo(project, this.fact);
      if (this.json) this.printJson(terminal, 'memo-add', { fact, added });
      else terminal.print(`${added ? 'Remembered' : 'Already a memo'}: ${toVisible(fact)}\n`);
      return 0;
    });
  }
}

export class MemoRemoveCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Memos',
    description: 'Forget a fact.',
    details: 'Pass its text, or its number in `teddy memo list`.',
    examples: [
      ['By its number', '$0 memo remove 3'],
      ['By its text', '$0 memo remove "Use pnpm, never npm"'],
    ],
  });

  fact = parameter('fact or number');

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { removeMemo } = await import('../../../workflow/context/change-memos.ts');
      const { fact } = await removeMemo(project, this.fact);
      if (this.json) this.printJson(terminal, 'memo-remove', { fact });
      else terminal.print(`Forgotten: ${toVisible(fact)}\n`);
      return 0;
    });
  }
}
