import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { requireOne } from '../../plan-options.ts';
import type { Terminal } from '../../terminal.ts';
import { completeKnownId, ServedCommand } from './write-command.ts';
import { option, parameter, usage } from '../../teddy-command.ts';

export class WriteCancelCommand extends ServedCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Cancel a write session, or clear away the ended ones.',
    details: `
      Discards the content that the session has received. Another session can begin at once, and the target is
      unchanged.

      \`--ended\` clears away abandoned sessions and leaves active ones alone. Their content stays in git, below
      refs/teddy/keep/writes/; each printed line shows how to read it. Every command that writes also clears away
      abandoned sessions older than an hour.
    `,
    examples: [
      ['Cancel one', '$0 write cancel 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77'],
      ['Clear away all ended ones', '$0 write cancel --ended'],
    ],
  });

  id = parameter('id', { optional: true });
  ended = option('--ended', {
    describe: 'Clear away all abandoned sessions in this repository; git keeps their content.',
    excludes: ['--server'],
  });

  protected run(terminal: Terminal): Promise<number> {
    requireOne({ 'an id': this.id !== undefined, '--ended': this.ended });
    if (this.ended) return this.withProject(terminal, (project) => this.clearEnded(terminal, project));
    return this.cancelOne(terminal, this.id);
  }

  private cancelOne(terminal: Terminal, begun: string | undefined): Promise<number> {
    if (begun === undefined)
      throw new TeddyError(
        'USAGE',
        '`teddy write cancel` needs an id or --ended.',
        'List the sessions: `teddy write list`.',
      );
    return this.withWrites(terminal, async (calling) => {
      const id = await completeKnownId(calling, begun);
      await calling.writes.cancel(id);
      if (this.json) this.printJson(terminal, 'write-cancel', { session_id: id });
      else terminal.print(`Cancelled ${toVisible(id)}.\n`);
      return 0;
    });
  }

  private async clearEnded(terminal: Terminal, project: Project): Promise<number> {
    const [{ cleanWrites }, { describeCleaned }] = await Promise.all([
      import('../../../workflow/writes/clean.ts'),
      import('../../render/write.ts'),
    ]);
    const cleaned = await cleanWrites(project);
    if (this.json) {
      const sessions = cleaned.map(({ id, target, kept }) => ({ session_id: id, target_file: target, kept }));
      this.printJson(terminal, 'write-cancel', { sessions });
    } else if (cleaned.length === 0) terminal.say('There is nothing to clear away.');
    for (const one of this.json ? [] : cleaned) terminal.print(`${toVisible(describeCleaned(one))}\n`);
    return 0;
  }
}
