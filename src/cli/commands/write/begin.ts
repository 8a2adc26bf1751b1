import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { AnnounceCommand } from './write-command.ts';
import { option, usage } from '../../teddy-command.ts';

export class WriteBeginCommand extends AnnounceCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Announce a file; its content follows with `write append` and `write finalize`.',
    details: `
      Prints the id of the write session alone on stdout. One session can be active for each line; without any call for five minutes it is no longer active,
      and \`teddy write recover\` brings it back.

      create makes a new file, overwrite replaces one as a whole, append adds to its end. The entry goes to the line that HEAD is on, else to a session named \`writes\`. A line that no work tree has checked out gets the file
      as a commit on its branch alone.

      Exit codes: 0 begun; 2 a bad operation or target, or something is missing; 3 another session is active, or the
      target does not fit the operation.
    `,
    examples: [
      [
        'Keep the id for the calls that follow',
        'id=$($0 write begin --target docs/guide.md --operation create --intent "A guide")',
      ],
      ['Replace a file', '$0 write begin --target src/table.ts --operation overwrite --intent "More rows"'],
    ],
  });
  override intent = option('--intent', {
    value: '<text>',
    describe: 'What the file is for, or what changes in it.',
    required: true,
  });

  protected run(terminal: Terminal): Promise<number> {
    const announced = this.announce();
    return this.withWrites(terminal, async ({ writes, project, notices, signal }) => {
      if (project !== null && this.server === undefined) await this.offerOrphans(terminal, project, signal);
      const begun = await writes.begin(announced);
      if (this.json) {
        this.printJson(terminal, 'write-begin', begun);
        return 0;
      }
      for (const warning of begun.warnings) notices.warn(warning);
      terminal.say(`Target:           ${toVisible(begun.target_file)}`);
      terminal.say(`Send the content: teddy write append ${begun.session_id} < <file>`);
      terminal.say(`Then:             teddy write finalize ${toVisible(begun.session_id)}`);
      terminal.print(`${toVisible(begun.session_id)}\n`);
      return 0;
    });
  }
}
