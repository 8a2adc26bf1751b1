import { relative, resolve } from 'node:path';
import { Command, Option } from 'clipanion';
import { shortRef } from '../session/names.ts';
import { newSession } from '../workflow/new-session.ts';
import { TeddyCommand } from './teddy-command.ts';
import type { Terminal } from './terminal.ts';

export class SessionNewCommand extends TeddyCommand {
  static override paths = [['session', 'new']];
  static override usage = Command.Usage({
    category: 'Start',
    description: 'Make a session and switch to its branch.',
    details: `
      The branch is teddy/<date>-<name>, and it starts from HEAD. Uncommitted work stays as it is.
      Prints the session's directory on stdout.
    `,
    examples: [
      ['Start a session', '$0 session new add-login-route'],
      ['Stay on this branch', '$0 session new add-login-route --no-switch'],
    ],
  });

  name = Option.String({ name: 'name' });
  noSwitch = Option.Boolean('--no-switch', false, { description: 'Make the branch, and stay where you are.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const made = await newSession(project, { name: this.name, switch: !this.noSwitch });
      const branch = shortRef(made.ref);
      if (this.json) {
        this.printJson(terminal, 'session-new', {
          session: made.session,
          branch,
          directory: made.directory,
          commit: made.commit,
          switched: made.switched,
        });
        return 0;
      }
      if (made.made !== null) terminal.say(`Made ${made.made}.`);
      terminal.say(
        made.switched
          ? `Switched to the new branch ${terminal.style('bold', branch, 'stderr')}.`
          : `Made the branch ${terminal.style('bold', branch, 'stderr')}.`,
      );
      terminal.say(`Next: teddy session plan${made.switched ? '' : ` -s ${made.session}`} -m "what you want"`);
      const root = project.repository.workspace?.root;
      terminal.print(
        `${root === undefined ? made.directory : relative(process.cwd(), resolve(root, made.directory))}\n`,
      );
      return 0;
    });
  }
}
