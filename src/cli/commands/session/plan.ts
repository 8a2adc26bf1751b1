import { Command, Option } from 'clipanion';
import { openOwnWorkTree } from './own-work-tree.ts';
import { PlanningCommand, requireOne } from '../../plan-options.ts';
import { withInterrupt } from '../../teddy-command.ts';
import { toVisible, type Terminal } from '../../terminal.ts';

export class SessionPlanCommand extends PlanningCommand {
  static override paths = [['session', 'plan']];
  static override usage = Command.Usage({
    category: 'Start',
    description: 'Say what you want; the answer is a plan.',
    details: `
      teddy first commits your own edits of tracked files, as a snapshot, then your message, and only then asks
      the model. With \`--worktree\`, it uses a linked work tree: the one where the line is checked out, or a new
      one. It refuses if the main work tree is on the line.

      Without \`-m\`, it asks the model again about a turn that has no answer yet, with exactly the same request.
    `,
    examples: [
      ['Ask for a plan', '$0 session plan -m "Add a login route"'],
      ['Ask again after an error', '$0 session plan'],
      ['See what would be sent', '$0 session plan -m "Add a login route" --dry-run'],
      ['Answer by hand', '$0 session plan --from answer.md'],
    ],
  });

  dryRun = Option.Boolean('--dry-run', false, { description: 'Print what would be sent; change nothing.' });

  worktree = Option.Boolean('--worktree', false, { description: 'Use a linked work tree of its own.' });

  protected run(terminal: Terminal): Promise<number> {
    requireOne({ '--dry-run': this.dryRun, '--worktree': this.worktree });
    requireOne({ '--from': this.from !== undefined, '--recording': this.recording !== undefined });
    // This is loaded while git is asked about the repository.
    void import('../../../workflow/turn/plan.ts');
    return withInterrupt(terminal, 'teddy session plan', (signal) =>
      this.withProject(terminal, async (project) => {
        if (!this.dryRun) await this.offerOrphans(terminal, project, signal);
        const message = await this.composeMessage(project);
        if (message?.trim() !== '' && this.worktree)
          this.session = await openOwnWorkTree(project, this.session, { needsPlan: false });
        if (!this.dryRun) return this.planAndShow(terminal, project, message, signal);
        const { previewRequest } = await import('../../../workflow/turn/plan.ts');
        const choice = await this.choose(terminal, project);
        const log = await previewRequest(project, {
          selector: this.session,
          message,
          agent: this.agent,
          choice,
          approveForeign: this.toForeignApproval(terminal, signal),
        });
        if (this.json) this.printJson(terminal, 'plan-preview', { log });
        else await this.page(terminal, project, terminal.isOutputTty ? toVisible(log) : log);
        return 0;
      }),
    );
  }
}
