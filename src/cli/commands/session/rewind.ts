import { shortRef } from '../../../names.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { rewindTurn } from '../../../workflow/turn/rewind.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { suggestWayBack, toSwitched } from '../../render/name-line.ts';
import { parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionRewindCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Go on',
    description: 'Go back to the end of a turn, on a new branch.',
    details: `
      The code is exactly as it was after the turn, and the next turn continues from there. The branch that you
      leave does not change. If edits are in the way, teddy stops and changes nothing.
    `,
    examples: [['Continue from turn 02', '$0 rewind 02']],
  });

  turn = parameter('turn');
  session = sessionOption();

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      await this.offerOrphans(terminal, project);
      const head = await project.repository.workspace?.head();
      const { from, ref, turn, commit } = await rewindTurn(project, { turn: this.turn, selector: this.session });
      const branch = shortRef(ref);
      if (this.json) {
        this.printJson(terminal, 'session-rewind', { session: from.session, line: branch, turn, commit });
        return 0;
      }
      terminal.print(`${branch}\n`);
      const { before, root } = toSwitched(project, from, head);
      const option = root === undefined ? '' : ` -s ${toShellWord(branch)}`;
      const place = root === undefined ? '' : ` ${toVisible(root)}`;
      terminal.say(`Switched${place} to the new branch, at the end of turn ${turn}.`);
      suggestWayBack(terminal, before, root);
      terminal.say(`Next: teddy plan${option} -m "...", or to talk: teddy chat${option}`);
      return 0;
    });
  }
}
