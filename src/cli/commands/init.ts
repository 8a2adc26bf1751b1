import { initProject } from '../../workflow/line/global-branch.ts';
import { TeddyCommand, type Terminal, usage } from '../teddy-command.ts';

export class InitCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Once',
    description: 'Set up what all sessions in a repository share.',
    details:
      'Creates the branch `teddy/global` with `global.context` and an empty `memos.yaml`, unless it exists. `teddy new` does this too.',
    examples: [['Prepare a repository', '$0 init']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const made = await initProject(project);
      if (this.json) this.printJson(terminal, 'init', { made });
      else terminal.print(made === null ? 'Nothing to do: teddy/global already exists.\n' : `Created ${made}.\n`);
      return 0;
    });
  }
}
