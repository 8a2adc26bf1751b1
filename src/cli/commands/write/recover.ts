import { Command, Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import { requireOne } from '../../plan-options.ts';
import { completeOwnId } from './write-command.ts';
import { TeddyCommand, withInterrupt } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';

export class WriteRecoverCommand extends TeddyCommand {
  static override paths = [['write', 'recover']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Go on with a write session that a crash, a mistake or a long silence has left.',
    details: `
      Without an id, it is the only one there is. If you give no choice, teddy asks on a terminal; elsewhere it prints
      the choices, and the exit code is 2.

      Even a damaged one can be shown, or written to a file: all bytes that are on disk, also those that no save has
      confirmed.

      Exit codes: 0 done; 1 a check found something, or the session is damaged; 2 no such session, or no choice was
      given; 3 another session is active, or the target has changed.
    `,
    examples: [
      ['What can be done', '$0 write recover'],
      ['It was complete', '$0 write recover 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --finalize'],
      ['The rest of it', '$0 write recover 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --continue < rest.md'],
      ['To a file of its own', '$0 write recover 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --output rescued.md'],
    ],
  });

  id = Option.String({ name: 'id', required: false });
  goOn = Option.Boolean('--continue', false, {
    description: 'Add what comes on stdin, up to a line DONE, and commit.',
  });
  finalize = Option.Boolean('--finalize', false, {
    description: 'What has arrived is complete: check it, and commit it.',
  });
  force = Option.Boolean('--force', false, {
    description: 'With --finalize or --continue: in spite of what is found.',
  });
  eofIsDone = Option.Boolean('--eof-is-done', false, {
    description: 'With --continue: the end of stdin stands for DONE.',
  });
  show = Option.Boolean('--show', false, { description: 'Print what has arrived.' });
  output = Option.String('--output', { description: 'Write what has arrived to a file that does not exist yet.' });
  discard = Option.Boolean('--discard', false, { description: 'Give it up; nothing of it is kept.' });

  protected run(terminal: Terminal): Promise<number> {
    this.requireSense();
    return withInterrupt(terminal, 'teddy write list', (signal) =>
      this.withProject(terminal, async (project) => {
        if (this.id !== undefined) this.id = await completeOwnId(project, this.id);
        const { recoverAndShow } = await import('./recover-and-show.ts');
        const printJson = this.json ? (value: object) => this.printJson(terminal, 'write-recover', value) : null;
        const page = (text: string) => this.page(terminal, project, text);
        return recoverAndShow({ terminal, project, signal, printJson, page }, this);
      }),
    );
  }

  /** Throws USAGE. */
  private requireSense(): void {
    const { goOn, finalize, show, output, discard, force, eofIsDone } = this;
    const ways = { '--show': show, '--output': output !== undefined, '--discard': discard };
    requireOne({ '--continue': goOn, '--finalize': finalize, ...ways });
    if (force && !finalize && !goOn) throw toIncomplete('--force', '--finalize or --continue');
    if (eofIsDone && !goOn) throw toIncomplete('--eof-is-done', '--continue');
  }
}

function toIncomplete(option: string, others: string): TeddyError {
  return new TeddyError('USAGE', `${option} goes with ${others}.`, 'See what it takes: `teddy write recover --help`.');
}
