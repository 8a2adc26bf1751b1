import { Command, Option } from 'clipanion';
import { type Terminal, toVisible } from '../../terminal.ts';
import { requireOption, ServedCommand } from './write-command.ts';

export class WriteBeginCommand extends ServedCommand {
  static override paths = [['write', 'begin']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Announce a file; its content follows with `write append` and `write finalize`.',
    details: `
      Prints the id of the write session alone on stdout. One session can be active in a repository; without any call for five minutes it is no longer active,
      and \`teddy write recover\` brings it back.

      create makes a new file, overwrite replaces one as a whole, append adds to its end. The entry goes to the line that HEAD is on, else to a session named \`writes\`.

      Exit codes: 0: begun; 2: a bad operation or target; 3: another session is active, or the target stands against the operation.
    `,
    examples: [
      [
        'Keep the id for the calls that follow',
        'id=$($0 write begin --target docs/guide.md --operation create --intent "A guide")',
      ],
      ['Replace a file', '$0 write begin --target src/table.ts --operation overwrite --intent "More rows"'],
    ],
  });

  target = Option.String('--target', { description: 'The file, relative to the root of the project.' });
  operation = Option.String('--operation', { description: 'create, overwrite or append.' });
  intent = Option.String('--intent', { description: 'What the file is for, or what changes in it.' });
  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  ownMarker = Option.Boolean('--own-marker', false, {
    description: 'End the content with DONE-<8 hex>, which no content has by chance.',
  });

  protected run(terminal: Terminal): Promise<number> {
    const name = 'teddy write begin';
    const target = requireOption(name, '--target', this.target);
    const operation = requireOption(name, '--operation', this.operation);
    const intent = requireOption(name, '--intent', this.intent);
    return this.withWrites(terminal, async ({ writes, project, notices, signal }) => {
      if (project !== null && this.server === undefined) await this.offerOrphans(terminal, project, signal);
      const wish = { target, operation, intent, session: this.session, ownMarker: this.ownMarker };
      const begun = await writes.begin({ ...wish, hasController: false });
      if (this.json) {
        this.printJson(terminal, 'write-begin', begun);
        return 0;
      }
      for (const warning of begun.warnings) notices.warn(warning);
      terminal.say(`Send the content: teddy write append ${begun.session_id} < <file>`);
      terminal.say(`Then:             teddy write finalize ${toVisible(begun.session_id)}`);
      terminal.print(`${toVisible(begun.session_id)}\n`);
      return 0;
    });
  }
}
