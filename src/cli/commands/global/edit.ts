import { composeText } from '../../../app.ts';
import { toSurroundings } from '../../context.ts';
import { parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class GlobalEditCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Shared by all sessions',
    description: 'Edit a file that all sessions share, in your editor.',
    details: `
      The file is \`global.context\` (the default), \`memos.yaml\`, or \`agents/<name>.md\` for an agent of your own,
      new or existing. Your own agent takes precedence over a built-in one of the same name; to remove it, save an
      empty file. teddy checks what you save, and keeps what others changed in the meantime. The files are on the
      branch \`teddy/global\`: \`git show teddy/global:global.context\`.
    `,
    examples: [
      ['The files that every session shows the model', '$0 global edit'],
      ['All memos at once', '$0 global edit memos.yaml'],
      ['An agent of your own', '$0 global edit agents/release-notes.md'],
    ],
  });

  file = parameter('file', { optional: true });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { editGlobal } = await import('../../../workflow/context/edit-global.ts');
      const compose = (initial: string, fileName: string) =>
        composeText(project, toSurroundings(this.context), initial, fileName);
      const edited = await editGlobal(project, this.file ?? 'global.context', compose);
      const { file, commit, removed } = edited;
      if (this.json) this.printJson(terminal, 'global-edit', edited);
      else if (commit === null) terminal.print(`You made no changes to ${file}.\n`);
      else if (removed) terminal.print(`Removed ${file} from teddy/global.\n`);
      else terminal.print(`Saved ${file} on teddy/global as ${commit.slice(0, 10)}.\n`);
      return 0;
    });
  }
}
