import { TeddyError } from '../../../errors.ts';
import { shortRef } from '../../../names.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { branchSession } from '../../../workflow/turn/branch-session.ts';
import { PlanningCommand } from '../../plan-options.ts';
import { suggestWayBack, showBranched, toSwitched } from '../../render/name-line.ts';
import { option, parameter, type Terminal, usage } from '../../teddy-command.ts';

export class SessionBranchCommand extends PlanningCommand {
  static override usage = usage({
    category: 'Go on',
    description: 'Try again from an earlier turn, on a new branch.',
    details: `
      The new branch starts where the turn began, with the code that the turn saw and the context that the model
      was shown. With \`-m\`, teddy asks for a plan there right away.
    `,
    examples: [
      ['Another attempt at turn 02', '$0 branch 02 -m "Use a library instead"'],
      ['Only create the branch', '$0 branch 02'],
    ],
  });

  turn = parameter('turn');
  noSwitch = option('--no-switch', { describe: 'Create the branch without switching to it.' });
  noPlan = option('--no-plan', { describe: 'Record the -m message without asking the model.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProjectAndSignal(terminal, 'teddy plan', async (project, signal) => {
      await this.offerOrphans(terminal, project, signal);
      const message = await this.composeMessage(terminal, project, signal);
      if (message?.trim() === '')
        throw new TeddyError('EMPTY_MESSAGE', 'The message is empty.', 'Say what you want: -m "...".');
      const choice = message === undefined ? null : await this.choose(terminal, project);
      const head = await project.repository.workspace?.head();
      const made = await branchSession(project, { turn: this.turn, selector: this.session, switch: !this.noSwitch });
      const { turn, commit, switched } = made;
      const { session } = made.from;
      const branch = shortRef(made.ref);
      const { before, root } = toSwitched(project, made.from, head);
      const option = switched && root === undefined ? '' : ` -s ${toShellWord(branch)}`;
      showBranched(terminal, made, root);
      if (switched) suggestWayBack(terminal, before, root);
      if (message === undefined || choice === null) {
        if (this.json) this.printJson(terminal, 'session-branch', { session, line: branch, turn, commit, switched });
        else terminal.say(`Next: teddy plan${option} -m "what to do instead"`);
        return 0;
      }
      this.session = branch;
      // Passes on the model already chosen, because an answer on stdin can be read only once.
      if (!this.noPlan) return this.askAndShow(terminal, project, message, signal, choice);
      const { recordMessage } = await import('../../../workflow/turn/plan.ts');
      const opened = await recordMessage(project, {
        selector: branch,
        message,
        agent: this.agent,
        choice,
        approveForeign: this.toForeignApproval(terminal, signal),
      });
      if (this.json) this.printJson(terminal, 'session-branch', { session, line: branch, turn: opened.turn, switched });
      else {
        terminal.say(`Your message is recorded; turn ${opened.turn} is open.`);
        terminal.say(`Next: teddy plan${option}`);
      }
      return 0;
    });
  }
}
