import { parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionShowCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show a turn: message, plan, outcome and diff.',
    details: `
      Without a turn, it shows the branch's last one. 02 is turn 02 of the session's branch that HEAD is on, or of the
      one that -s names; 02-branch-01 is found on any branch. If you name a branch, even an archived one, you see its
      last turn; if you name a commit, you see its last turn as of that commit.

      The diff shows what running the plan changed, not what you changed before or after.

      Exit codes: 0 done; 1 the session is damaged; 2 no such turn, session or commit.
    `,
    examples: [
      ['The last turn', '$0 show'],
      ['Turn 02', '$0 show 02'],
      ['Turn 02 of another session', '$0 show 02 -s add-user-auth'],
      ["A commit's turn", '$0 show 3f2a9c1'],
    ],
  });

  turn = parameter('turn', { optional: true });
  session = sessionOption();

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { showTurn } = await import('../../../workflow/review/show-turn.ts');
      const shown = await showTurn(project, { selector: this.session, turn: this.turn, bounded: !this.json });
      if (this.json) {
        this.printJson(terminal, 'session-show', shown);
        return 0;
      }
      const { renderTurn } = await import('../../render/turn.ts');
      await this.page(terminal, project, renderTurn(terminal, shown));
      return 0;
    });
  }
}
