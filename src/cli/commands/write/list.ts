import { Command } from 'clipanion';
import type { Terminal } from '../../terminal.ts';
import { ServedCommand } from './write-command.ts';

export class WriteListCommand extends ServedCommand {
  static override paths = [['write', 'list']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'List the write sessions that are known, the oldest first.',
    details: 'Those that were interrupted are listed too: `teddy write recover <id>` goes on with one.',
    examples: [['All of them', '$0 write list']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withWrites(terminal, async ({ writes, project, clock }) => {
      const sessions = await writes.list();
      if (this.json) this.printJson(terminal, 'write-list', { sessions });
      else if (sessions.length === 0)
        terminal.say('There is no write session. Begin one: teddy write begin, or teddy write stream');
      else {
        const { renderStatuses } = await import('../../render/write.ts');
        await this.page(terminal, project, renderStatuses(terminal, sessions, clock.now().getTime()));
        const left = sessions.find(({ stage }) => stage === 'orphaned' || stage === 'damaged');
        if (left !== undefined)
          terminal.say(
            `Go on with one that was interrupted: teddy write recover ${left.session_id}; or clear them away: teddy write clean`,
          );
      }
      return 0;
    });
  }
}
