import type { Terminal } from '../../terminal.ts';
import { completeKnownId, ServedCommand, type Calling } from './write-command.ts';
import type { FinalizedAnswer } from '../../../http/write-api.ts';
import { option, parameter, usage } from '../../teddy-command.ts';

export class WriteFinalizeCommand extends ServedCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Check the content, put it in place, and commit it once.',
    details: `
      Content on stdin replaces everything received so far. If stdin is empty or a terminal, teddy uses the content
      received so far. With \`--received\`, teddy never reads stdin, for programs that leave it open.

      Prints the path and the commit. If a check finds a problem in the content, teddy shows the lines and writes
      nothing; you can send corrected content twice. If you send the same content again, you get the same answer and
      no second commit.

      Exit codes: 0 committed; 1 a check found a problem, or the content is too large; 2 no such session; 3 the target
      has changed since the session began.
    `,
    examples: [
      ['Commit the received content', '$0 write finalize 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --received'],
      ['Send the whole content', '$0 write finalize 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 < guide.md'],
      ['Commit in spite of findings', '$0 write finalize 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --received --force'],
    ],
  });

  id = parameter('id');
  force = option('--force', { describe: 'Write the file in spite of findings; the commit records that.' });
  content = option('--content', {
    value: '<file>',
    describe: 'The whole content: a file, or - for stdin.',
    excludes: ['--received'],
  });
  received = option('--received', { describe: 'Use the content received so far; do not read stdin.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withWrites(terminal, async (calling) => {
      const { showFinalized } = await import('../../ask/finish-write.ts');
      // Checks the ID before reading anything.
      this.id = await completeKnownId(calling, this.id);
      await calling.writes.status(this.id);
      const content = await this.readContent(terminal, calling);
      const finalized = await this.finalize(terminal, calling, content);
      const printJson = this.json ? (value: object) => this.printJson(terminal, 'write-finalize', value) : null;
      return showFinalized({ terminal, printJson, server: this.server }, finalized);
    });
  }

  /** Returns undefined to use the content already received. */
  private async readContent(terminal: Terminal, { limits, signal }: Calling): Promise<Uint8Array | undefined> {
    if (this.received || (this.content === undefined && this.context.stdin.isTTY === true)) return undefined;
    const { readContentFrom } = await import('../../ask/read-input.ts');
    const { maxBytes } = await limits();
    const waiting =
      this.content === undefined
        ? 'Reading the content from stdin. --received finalizes the received content.'
        : 'Reading the content from stdin.';
    const bytes = await readContentFrom(this.content ?? '-', { terminal, maxBytes, signal, waiting });
    return bytes.length === 0 && this.content === undefined ? undefined : bytes;
  }

  private async finalize(
    terminal: Terminal,
    { writes, project, signal }: Calling,
    content: Uint8Array | undefined,
  ): Promise<FinalizedAnswer> {
    const finalized = await writes.finalize({ id: this.id, content, force: this.force });
    const canAsk = terminal.isInteractive && !this.json && this.server === undefined;
    if (finalized.success || !canAsk || project === null) return finalized;
    const { askShrink, isShrinkAlone } = await import('../../ask/finish-write.ts');
    if (!isShrinkAlone(finalized)) return finalized;
    if (!(await askShrink(terminal, signal, finalized))) return finalized;
    const { finalizeLeft } = await import('../../../workflow/writes/recover.ts');
    const { toFinalizedAnswer } = await import('../../../http/write-api.ts');
    // Returns this answer even after the last allowed correction.
    return toFinalizedAnswer(await finalizeLeft(project, this.id, true, signal));
  }
}
