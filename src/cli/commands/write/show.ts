import { completeOwnId } from './write-command.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class WriteShowCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Print the content that a write session has received.',
    details: `
      Prints the bytes as they arrived, up to the last confirmed save. With \`--tail\`, also prints the bytes after
      that, which a crash may have cut or damaged, followed by those that were set aside when the session was
      reopened. Their names and sizes go to stderr.
    `,
    examples: [
      ['The saved content', '$0 write show 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77'],
      ['Everything on disk', '$0 write show 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --tail > rescued.md'],
    ],
  });

  id = parameter('id');
  tail = option('--tail', { describe: 'Also print unconfirmed bytes, and those that were set aside.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const [{ showWrite }, { describeAside, describeBytes, printContent, toAsideJson }] = await Promise.all([
        import('../../../workflow/writes/list.ts'),
        import('../../render/write.ts'),
      ]);
      this.id = await completeOwnId(project, this.id);
      const { verified, tail, aside } = await showWrite(project, this.id);
      const bytes = this.tail ? Buffer.concat([verified, tail, ...aside.map((part) => part.bytes)]) : verified;
      if (this.json) {
        const content = new TextDecoder().decode(bytes);
        const unverified = { unverified_bytes: tail.length, aside: toAsideJson(aside) };
        this.printJson(terminal, 'write-show', { session_id: this.id, content, ...unverified });
        return 0;
      }
      await printContent(terminal, bytes, (text) => this.page(terminal, project, text));
      if (!this.tail && tail.length > 0)
        terminal.say(`${describeBytes(tail.length)} more are on disk, not confirmed by a save: --tail shows them.`);
      for (const line of describeAside(aside, this.tail)) terminal.say(line);
      return 0;
    });
  }
}
