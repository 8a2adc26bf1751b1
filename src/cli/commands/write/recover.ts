import { completeOwnId } from './write-command.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class WriteRecoverCommand extends TeddyCommand {
  static override usage = usage({
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

  id = parameter('id', { optional: true });
  goOn = option('--continue', {
    describe: 'Add what comes on stdin, up to a line DONE, and commit.',
    excludes: ['--finalize', '--show', '--output', '--discard'],
  });
  finalize = option('--finalize', {
    describe: 'What has arrived is complete: check it, and commit it.',
    excludes: ['--show', '--output', '--discard'],
  });
  force = option('--force', {
    describe: 'With --finalize or --continue: in spite of what is found.',
    requires: ['--finalize', '--continue'],
  });
  eofIsDone = option('--eof-is-done', {
    describe: 'With --continue: the end of stdin stands for DONE.',
    requires: ['--continue'],
  });
  show = option('--show', { describe: 'Print what has arrived.', excludes: ['--output', '--discard'] });
  output = option('--output', {
    value: '<file>',
    describe: 'Write what has arrived to a file that does not exist yet.',
    excludes: ['--discard'],
  });
  discard = option('--discard', { describe: 'Give it up; nothing of it is kept.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProjectAndSignal(terminal, 'teddy write list', async (project, signal) => {
      if (this.id !== undefined) this.id = await completeOwnId(project, this.id);
      const { recoverAndShow } = await import('./recover-and-show.ts');
      const printJson = this.json ? (value: object) => this.printJson(terminal, 'write-recover', value) : null;
      const page = (text: string) => this.page(terminal, project, text);
      return recoverAndShow({ terminal, project, signal, printJson, page }, this);
    });
  }
}
