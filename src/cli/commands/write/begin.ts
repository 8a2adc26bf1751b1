import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { AnnounceCommand } from './write-command.ts';
import { option, usage } from '../../teddy-command.ts';

export class WriteBeginCommand extends AnnounceCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Announce a file; its content follows with `write append` and `write finalize`.',
    details: `
      Prints only the id of the write session on stdout. Each session's branch can have one active write session;
      after five minutes without a call it is no longer active, and \`teddy write recover\` brings it back.

      create makes a new file, overwrite replaces a whole file, append adds to the end of one. The commit goes to the
      session's branch that HEAD is on, or else to a session named \`writes\`. If no work tree has that branch checked
      out, the file is only committed to the branch.

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
    describe: 'The purpose of the file, or of the change.',
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
