import { Command } from 'clipanion';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class WriteCleanCommand extends TeddyCommand {
  static override paths = [['write', 'clean']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Clear away the write sessions that nobody goes on with.',
    details: `
      What they have received stays in git, below refs/teddy/keep/writes/; each line says how to read it. Sessions that are active are left alone. Any command that writes clears away those that are older than an hour by itself.
    `,
    examples: [['All that is left over', '$0 write clean']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const [{ cleanWrites }, { describeCleaned }] = await Promise.all([
        import('../../../workflow/writes/clean.ts'),
        import('../../render/write.ts'),
      ]);
      const cleaned = await cleanWrites(project);
      if (this.json) {
        const sessions = cleaned.map(({ id, target, kept }) => ({ session_id: id, target_file: target, kept }));
        this.printJson(terminal, 'write-clean', { sessions });
      } else if (cleaned.length === 0) terminal.say('There is nothing to clear away.');
      for (const one of this.json ? [] : cleaned) terminal.print(`${toVisible(describeCleaned(one))}\n`);
      return 0;
    });
  }
}
