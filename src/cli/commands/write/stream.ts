import { TeddyError } from '../../../errors.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { AnnounceCommand } from './write-command.ts';
import { toFinalizedAnswer } from '../../../http/write-api.ts';
import { option, usage } from '../../teddy-command.ts';

export class WriteStreamCommand extends AnnounceCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Write a file from plain text on stdin that ends with the line DONE.',
    details: `
      The content is on disk within seconds: after a crash, Ctrl-C or a lost connection, \`teddy write recover\`
      continues with it. The first line that is exactly DONE ends it; teddy then checks it, puts it in place and
      commits it. Anything after that line is kept in git, but is not part of the file. After two seconds without
      input, teddy asks the writer on stderr whether it has finished, at most three times.

      Prints the path and the commit. On a terminal, if a check finds a problem, you can send the content again,
      twice.

      Exit codes: 0 committed; 1 a check found a problem, DONE was missing, or the content is too large; 2 a bad
      operation or target; 3 another session is active, or the target has changed; 130 interrupted, and everything
      received is saved.
    `,
    examples: [
      ['Write the output of a program', 'my-model | $0 write stream --target docs/guide.md --operation create'],
      [
        'A file without the line DONE',
        '$0 write stream --target docs/guide.md --operation create --eof-is-done < draft.md',
      ],
      [
        'Add to the end of a file',
        'echo "one more line" | $0 write stream --target notes.txt --operation append --eof-is-done',
      ],
    ],
  });

  eofIsDone = option('--eof-is-done', { describe: 'Treat the end of stdin as DONE.' });
  force = option('--force', { describe: 'Write the file in spite of findings; the commit records that.' });

  protected run(terminal: Terminal): Promise<number> {
    const announced = this.announce();
    return this.withWrites(terminal, async ({ writes, project, limits, signal }) => {
      const { server, eofIsDone, force } = this;
      if (project === null) {
        throw new TeddyError(
          'NOT_A_REPOSITORY',
          'This is not a git repository, and `teddy write stream` needs one to keep what follows the end marker.',
          'Run it in a repository; from elsewhere, `teddy write begin`, `append` and `finalize` reach a server.',
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
