import { TeddyError } from '../../../errors.ts';
import type { Terminal } from '../../terminal.ts';
import { completeKnownId, ServedCommand } from './write-command.ts';
import { option, parameter, usage } from '../../teddy-command.ts';

export class WriteAppendCommand extends ServedCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Add stdin to the content of a write session.',
    details: `
      teddy takes the bytes unchanged, and they are on disk when the command ends; here, the line DONE is content too.
      It prints the offset of the next byte. With \`--offset\` you can repeat a call: the part that teddy already has
      must be identical, and only the rest is added.

      Exit codes: 0 added; 1 the content is too large; 2 no such session; 3 the bytes there differ, or there is a gap.
    `,
    examples: [
      ['Add a part', '$0 write append 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 < part-1.md'],
      ['If a call may be repeated', '$0 write append 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --offset 4096 < part-2.md'],
    ],
  });

  id = parameter('id');
  offset = option('--offset', {
    value: '<bytes>',
    describe: 'The offset of the first byte. Default: the end of the content.',
  });

  protected run(terminal: Terminal): Promise<number> {
    const offset = this.offset === undefined ? undefined : Number(this.offset);
    if (offset !== undefined && !(/^\d+$/.test(this.offset ?? '') && Number.isSafeInteger(offset)))
      throw new TeddyError(
        'USAGE',
        `--offset=${this.offset} is not an offset.`,
        'Use a number of bytes, counting from 0.',
      );
    return this.withWrites(terminal, async (calling) => {
      const { writes, limits, signal } = calling;
      this.id = await completeKnownId(calling, this.id);
      const [{ readInput }, { describeBytes }] = await Promise.all([
        import('../../ask/read-input.ts'),
        import('../../render/write.ts'),
      ]);
      // Checks the ID before reading anything.
      await writes.status(this.id);
      const { maxBytes } = await limits();
      const waiting = 'Reading the content from stdin; Ctrl-D on an empty line ends it.';
      const bytes = await readInput({ terminal, maxBytes, signal, waiting });
      const appended = await writes.append({ id: this.id, offset, bytes });
      if (this.json) {
        this.printJson(terminal, 'write-append', appended);
        return 0;
      }
      const { offset: size, added } = appended;
      if (added < bytes.length) terminal.say(`${describeBytes(bytes.length - added)} had already been received.`);
      terminal.say(`Added ${describeBytes(added)}.`);
      terminal.print(`${size}\n`);
      return 0;
    });
  }
}
