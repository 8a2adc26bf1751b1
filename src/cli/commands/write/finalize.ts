import type { Terminal } from '../../terminal.ts';
import { completeKnownId, ServedCommand, type Calling } from './write-command.ts';
import type { FinalizedAnswer } from '../../../http/write-api.ts';
import { option, parameter, usage } from '../../teddy-command.ts';

export class WriteFinalizeCommand extends ServedCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Check the content, put it in place, and commit it once.',
    details: `
      What comes on stdin is the whole content, in place of what was received. If nothing comes, or stdin is a
      terminal, the content is what was received. With \`--received\` teddy never reads stdin, for programs that leave
      it open.

      It prints the path and the commit. If a check finds something in the content, teddy shows it with its lines and
      writes nothing; you can send a corrected content twice. The same content again gets the same answer, and no
      second commit.

      Exit codes: 0 committed; 1 a check found something, or the content is too large; 2 no such session; 3 the target
      has changed since the session began.
    `,
    examples: [
      ['What was received', '$0 write finalize 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --received'],
      ['A content as a whole', '$0 write finalize 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 < guide.md'],
      ['In spite of what was found in it', '$0 write finalize 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77 --received --force'],
    ],
  });

  id = parameter('id');
  force = option('--force', { describe: 'Write it in spite of what is found; the commit says so.' });
  content = option('--content', {
    value: '<file>',
    describe: 'The whole content: a file, or - for stdin.',
    excludes: ['--received'],
  });
  received = option('--received', { describe: 'The content is what was received; do not read stdin.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withWrites(terminal, async (calling) => {
      const { showFinalized } = await import('../../ask/finish-write.ts');
      // The id may be wrong, and that is found out before anything is read.
      this.id = await completeKnownId(calling, this.id);
      await calling.writes.status(this.id);
      const content = await this.readContent(terminal, calling);
      const finalized = await this.finalize(terminal, calling, content);
      const printJson = this.json ? (value: object) => this.printJson(terminal, 'write-finalize', value) : null;
      return showFinalized({ terminal, printJson, server: this.server }, finalized);
    });
  }

  /** Undefined stands for the content that was received. */
  private async readContent(terminal: Terminal, { limits, signal }: Calling): Promise<Uint8Array | undefined> {
    if (this.received || (this.content === undefined && this.context.stdin.isTTY === true)) return undefined;
    const { readContentFrom } = await import('../../ask/read-input.ts');
    const { maxBytes } = await limits();
    const waiting =
      this.content === undefined
        ? 'Reading the content from stdin. --received finalizes what was received.'
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
    // The answer counts also after the last correction that is taken.
    return toFinalizedAnswer(await finalizeLeft(project, this.id, true, signal));
  }
}
