import { TeddyError } from '../../../errors.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { AnnounceCommand } from './write-command.ts';
import { toFinalizedAnswer } from '../../../http/write-api.ts';
import { option, usage } from '../../teddy-command.ts';

export class WriteStreamCommand extends AnnounceCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Write a file that comes on stdin as plain text, ended by a line DONE.',
    details: `
      The content is on disk within seconds: after a crash, Ctrl-C or a lost connection \`teddy write recover\` goes on with it. The first line that is exactly DONE ends
      it, and it is checked, put in place and committed at once; what comes after that line is kept in git, and is not in the file. When nothing comes for two
      seconds, the writer is asked on stderr whether it has finished, three times at most.

      It prints the path and the commit. On a terminal, you can send a content in which a check found something again,
      twice.

      Exit codes: 0 committed; 1 a check found something, there was no DONE, or the content is too large; 2 a bad
      operation or target; 3 another session is active, or the target has changed; 130 interrupted, and what had come
      is saved.
    `,
    examples: [
      ['What a program writes', 'my-model | $0 write stream --target docs/guide.md --operation create'],
      [
        'A file without a line DONE',
        '$0 write stream --target docs/guide.md --operation create --eof-is-done < draft.md',
      ],
      [
        'Add to the end of one',
        'echo "one more line" | $0 write stream --target notes.txt --operation append --eof-is-done',
      ],
    ],
  });

  eofIsDone = option('--eof-is-done', { describe: 'The end of stdin stands for DONE.' });
  force = option('--force', { describe: 'Write it in spite of what is found; the commit says so.' });

  protected run(terminal: Terminal): Promise<number> {
    const announced = this.announce();
    return this.withWrites(terminal, async ({ writes, project, limits, signal }) => {
      const { server, eofIsDone, force } = this;
      if (project === null) {
        throw new TeddyError(
          'NOT_A_REPOSITORY',
          'This is not a git repository, and what follows the end marker of a stream is kept in one.',
          'Run it in a repository; from elsewhere `teddy write begin`, `append` and `finalize` reach a server.',
        );
      }
      if (server === undefined) await this.offerOrphans(terminal, project, signal, false);
      const printJson = this.json ? (value: object) => this.printJson(terminal, 'write-stream', value) : null;
      const [{ streamInto, streamWrite }, { streamContent }] = await Promise.all([
        import('../../../workflow/writes/stream.ts'),
        import('./stream-content.ts'),
      ]);
      const sayBegun = (id: string, { instructions, warnings }: { instructions: string; warnings: string[] }) => {
        for (const warning of warnings) project.notices.warn(warning);
        terminal.say(toVisible(`Write session ${id}. ${instructions}`));
      };
      const streaming = { terminal, signal, eofIsDone, force, printJson, server };
      return streamContent(streaming, async (options, { onPrompt, decide }) => {
        if (server !== undefined) {
          const { serverDestination } = await import('./stream-to-server.ts');
          const begun = await writes.begin(announced);
          sayBegun(begun.session_id, begun);
          const target = begun.target_file;
          const nowMs = project.clock.now().getTime();
          const destination = serverDestination({
            project,
            writes,
            begun,
            target,
            limits: await limits(),
            nowMs,
            server,
          });
          return streamInto(project, destination, options, { onPrompt, decide });
        }
        const finalized = await streamWrite(project, announced, options, {
          onPrompt,
          decide: (rejected) => decide(toFinalizedAnswer(rejected)),
          onBegun: (begun) => sayBegun(begun.record.id, begun),
        });
        return toFinalizedAnswer(finalized);
      });
    });
  }
}
