import { completeOwnId } from './write-command.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class WriteRecoverCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Continue a write session after a crash, a mistake or a long silence.',
    details: `
      Without an id, it recovers the only session left. If you choose no action, teddy asks on a terminal; elsewhere
      it prints the choices, and the exit code is 2.

      Even a damaged session can be shown or written to a file: all bytes on disk, including those that no save has
      confirmed.

      Exit codes: 0 done; 1 a check found a problem, or the session is damaged; 2 no such session, or no action was
      chosen; 3 another session is active, or the target has changed.
    `,
    examples: [
      ['Show the choices', '$0 write recover'],
      ['The content was complete', '$0 write recover 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --finalize'],
      ['Send the rest', '$0 write recover 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --continue < rest.md'],
      ['Save it to another file', '$0 write recover 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --output rescued.md'],
    ],
  });

  id = parameter('id', { optional: true });
  goOn = option('--continue', {
    describe: 'Add stdin up to the line DONE, and commit.',
    excludes: ['--finalize', '--show', '--output', '--discard'],
  });
  finalize = option('--finalize', {
    describe: 'Treat the received content as complete: check it, and commit it.',
    excludes: ['--show', '--output', '--discard'],
  });
  force = option('--force', {
    describe: 'With --finalize or --continue: commit in spite of findings.',
    requires: ['--finalize', '--continue'],
  });
  eofIsDone = option('--eof-is-done', {
    describe: 'With --continue: treat the end of stdin as DONE.',
    requires: ['--continue'],
  });
  show = option('--show', { describe: 'Print the received content.', excludes: ['--output', '--discard'] });
  output = option('--output', {
    value: '<file>',
    describe: 'Write the received content to a file that does not exist yet.',
    excludes: ['--discard'],
  });
  discard = option('--discard', { describe: 'Discard the session with its content.' });

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
