import { Command, Option } from 'clipanion';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';

export class GlobalRemoveCommand extends TeddyCommand {
  static override paths = [['global', 'remove']];
  static override usage = Command.Usage({
    category: 'Shared by all sessions',
    description: 'Remove an agent of your own.',
    details: `
      A built-in agent of the same name comes back. The removed text stays in the history of \`teddy/global\`.
    `,
    examples: [['Remove one', '$0 global remove agents/release-notes.md']],
  });

  file = Option.String({ name: 'file' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { removeAgent } = await import('../../../workflow/context/edit-global.ts');
      const { file, commit } = await removeAgent(project, this.file);
      if (this.json) this.printJson(terminal, 'global-remove', { file, commit });
      else terminal.print(`Removed ${file} from teddy/global.\n`);
      return 0;
    });
  }
}
