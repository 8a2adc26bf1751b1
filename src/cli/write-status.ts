import { Command, Option } from 'clipanion';
import type { Terminal } from './terminal.ts';
import { ServedCommand } from './write-command.ts';

export class WriteStatusCommand extends ServedCommand {
  static override paths = [['write', 'status']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Show how far a write session has come.',
    details: 'To look never makes a session live longer. After success its commit is known for an hour.',
    examples: [['One session', '$0 write status 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77']],
  });

  id = Option.String({ name: 'id' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withCalls(terminal, async ({ calls, project }) => {
      const status = await calls.status(this.id);
      if (this.json) this.printJson(terminal, 'write-status', status);
      else {
        const { renderStatus } = await import('./render-write.ts');
        terminal.print(renderStatus(terminal, status, project.clock.now().getTime()));
      }
      return 0;
    });
  }
}
