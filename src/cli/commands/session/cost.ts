import { Command, Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import { toTarget } from './target-option.ts';
import { sessionOption, TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';

export class SessionCostCommand extends TeddyCommand {
  static override paths = [['session', 'cost']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'Count tokens and money: by turn, by model, against the budget.',
    details: `
      Tokens are those that the endpoint reported, with the share that it read from its cache; the cost is
      what the endpoint named, or else, marked with ~, what the known prices make of it (see \`teddy models
      update\`). A price that nobody knows is shown as unknown. For answers without a report, an estimate is marked with ~ and counted separately.

      A conversation branch includes what led to it, as its budget (teddy.maxTurns, teddy.maxTokens) counts it.
      With --all, whatever the lines of a session share counts once.

      Exit codes: 0 done; 1 the repository is damaged; 2 no such session or commit.
    `,
    examples: [
      ['The session that HEAD is on', '$0 session cost'],
      ['Another one', '$0 session cost add-user-auth'],
      ['Every session', '$0 session cost --all'],
    ],
  });

  target = Option.String({ name: 'session or commit', required: false });
  session = sessionOption();
  all = Option.Boolean('--all', false, { description: 'Count every session of the repository, in one table.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    if (this.all && target !== undefined)
      throw new TeddyError('USAGE', '--all counts every session.', `Leave out --all, or ${JSON.stringify(target)}.`);
    return this.all ? this.showAll(terminal) : this.showLine(terminal, target);
  }

  private showLine(terminal: Terminal, target: string | undefined): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { countCost } = await import('../../../workflow/review/count-cost.ts');
      const cost = await countCost(project, target);
      if (this.json) {
        this.printJson(terminal, 'session-cost', cost);
        return 0;
      }
      const { renderCost } = await import('../../render/cost.ts');
      await this.page(terminal, project, renderCost(terminal, cost));
      return 0;
    });
  }

  private showAll(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { countAllCosts } = await import('../../../workflow/review/count-all-costs.ts');
      const costs = await countAllCosts(project);
      if (this.json) {
        this.printJson(terminal, 'session-costs', costs);
        return 0;
      }
      if (costs.sessions.length === 0) terminal.say('There is no session yet. Start one: teddy session new <name>');
      const { renderAllCosts } = await import('../../render/cost.ts');
      if (costs.sessions.length > 0) await this.page(terminal, project, renderAllCosts(terminal, costs));
      return 0;
    });
  }
}
