import { Command, Option } from 'clipanion';
import type { WriteContent } from '../../../ports/disk.ts';
import type { Project } from '../../../ports/project.ts';
import type { Terminal } from '../../terminal.ts';
import { completeKnownId, ServedCommand } from './write-command.ts';

export class WriteStatusCommand extends ServedCommand {
  static override paths = [['write', 'status']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Show how far a write session has come.',
    details: 'Looking never makes a session live longer. After success, teddy shows its commit for an hour.',
    examples: [['One session', '$0 write status 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77']],
  });

  id = Option.String({ name: 'id' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withWrites(terminal, async (calling) => {
      const { writes, project, clock } = calling;
      this.id = await completeKnownId(calling, this.id);
      const status = await writes.status(this.id);
      const { describeAside, renderStatus, toAsideJson } = await import('../../render/write.ts');
      const aside = await this.readAside(project);
      if (this.json) {
        this.printJson(terminal, 'write-status', { ...status, ...(aside ? { aside: toAsideJson(aside) } : {}) });
        return 0;
      }
      terminal.print(renderStatus(terminal, status, clock.now().getTime()));
      for (const line of describeAside(aside ?? [], false)) terminal.say(line);
      return 0;
    });
  }

  /** Null with a server, which does not tell. */
  private async readAside(project: Project | null): Promise<WriteContent['aside'] | null> {
    if (project === null || this.server !== undefined) return null;
    const { showWrite } = await import('../../../workflow/writes/list.ts');
    return (await showWrite(project, this.id)).aside;
  }
}
