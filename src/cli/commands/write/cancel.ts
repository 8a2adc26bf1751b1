import { Command, Option } from 'clipanion';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';
import { completeKnownId, ServedCommand } from './write-command.ts';

export class WriteCancelCommand extends ServedCommand {
  static override paths = [['write', 'cancel']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Give a write session up; what it has received is gone.',
    details: 'Another session can begin at once. The target is as it was.',
    examples: [['Give one up', '$0 write cancel 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77']],
  });

  id = Option.String({ name: 'id' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withWrites(terminal, async (calling) => {
      const { writes } = calling;
      this.id = await completeKnownId(calling, this.id);
      await writes.cancel(this.id);
      if (this.json) this.printJson(terminal, 'write-cancel', { session_id: this.id });
      else terminal.print(`Cancelled ${toVisible(this.id)}.\n`);
      return 0;
    });
  }
}
