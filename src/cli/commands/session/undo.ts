import { exitCodes } from '../../../errors.ts';
import { undoTurn } from '../../../workflow/turn/undo.ts';
import { toLineOption } from '../../render/name-line.ts';
import { showUndone, toUndoneJson } from '../../render/effect.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionUndoCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Go on',
    description: "Undo a turn's code changes, as one more step.",
    details: `
      Without a turn, it undoes the newest one that changed code and has not been undone. If files have changed since
      the turn, teddy names them and changes nothing; with --partial it undoes the changes to the other files.

      Undoing an undone turn restores its changes, on the same branch.

      Exit codes: 0 done; 1 it failed halfway; 2 no such turn; 3 files have changed since, or there is nothing to
      undo.
    `,
    examples: [
      ['The last turn that changed code', '$0 undo'],
      ['An earlier turn', '$0 undo 02'],
      ['Only files that nobody has edited since', '$0 undo --partial'],
    ],
  });

  turn = parameter('turn', { optional: true });
  session = sessionOption();
  partial = option('--partial', { describe: 'Undo only files that have not changed since the turn.' });

  protected override trustsHead = ({ isInteractive }: Terminal) => (isInteractive ? undefined : 'once');

  protected run(terminal: Terminal): Promise<number> {
    // Finishes despite Ctrl-C: undoing takes little time, and changed files without their entry would be worse than a
    // short wait.
    return this.withProjectAndSignal(terminal, 'teddy undo', async (project, signal) => {
      await this.offerOrphans(terminal, project, signal);
      const options = { turn: this.turn, selector: this.session, isPartial: this.partial };
      const undone = await undoTurn(project, options);
      if (this.json) this.printJson(terminal, 'session-undo', toUndoneJson(undone));
      else showUndone(terminal, undone, toLineOption(project, undone.line));
      return undone.left.length === 0 || this.partial ? 0 : exitCodes.UNDO_INCOMPLETE;
    });
  }
}
