/** `teddy global edit` and `remove`, and `teddy memo edit`, which is the same for memos.yaml. */
import { Command, Option } from 'clipanion';
import { composeText } from '../../../app.ts';
import { toSurroundings } from '../../context.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';

abstract class EditingCommand extends TeddyCommand {
  protected edit(terminal: Terminal, schema: string, name: string): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { editGlobal } = await import('../../../workflow/context/edit-global.ts');
      const compose = (initial: string, fileName: string) =>
        composeText(project, toSurroundings(this.context), initial, fileName);
      const { file, commit } = await editGlobal(project, name, compose);
      if (this.json) this.printJson(terminal, schema, { file, commit });
      else if (commit === null) terminal.print(`Nothing was changed in ${file}.\n`);
      else terminal.print(`Saved ${file} on teddy/global as ${commit.slice(0, 10)}.\n`);
      return 0;
    });
  }
}

export class GlobalEditCommand extends EditingCommand {
  static override paths = [['global', 'edit']];
  static override usage = Command.Usage({
    category: 'Shared by all sessions',
    description: 'Edit a file that all sessions share, in your editor.',
    details: `
      The file is \`global.context\` (the default), \`memos.yaml\`, or \`agents/<name>.md\`: an agent of your own,
      which may be new. Your own agent takes precedence over a built-in one of the same name. The files are on
      the branch \`teddy/global\`: \`git show teddy/global:global.context\`.
    `,
    examples: [
      ['What every session is shown', '$0 global edit'],
      ['An agent of your own', '$0 global edit agents/release-notes.md'],
    ],
  });

  file = Option.String({ name: 'file', required: false });

  protected run(terminal: Terminal): Promise<number> {
    return this.edit(terminal, 'global-edit', this.file ?? 'global.context');
  }
}

export class MemoEditCommand extends EditingCommand {
  static override paths = [['memo', 'edit']];
  static override usage = Command.Usage({
    category: 'Memos',
    description: 'Edit all facts at once, in your editor.',
    details: `
      teddy checks the list before it saves it, and keeps what others have added meanwhile.
    `,
    examples: [['Tidy up', '$0 memo edit']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.edit(terminal, 'memo-edit', 'memos.yaml');
  }
}

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
