import { Command, Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { toVisible, type Terminal } from '../../terminal.ts';
import { requireOption, ServedCommand, type Calling } from './write-command.ts';
import { toFinalizedAnswer } from '../../../http/write-api.ts';

interface Announced {
  target: string;
  operation: string;
  intent: string;
  session: string | undefined;
  ownMarker: boolean;
}

export class WriteStreamCommand extends ServedCommand {
  static override paths = [['write', 'stream']];
  static override usage = Command.Usage({
    category: 'Write large files',
    description: 'Write a file that comes on stdin as plain text, ended by a line DONE.',
    details: `
      The content is on disk as it comes: after a crash, Ctrl-C or a lost connection \`teddy write recover\` goes on with it. The first line that is exactly DONE ends
      it, and it is checked, put in place and committed at once; what comes after that line is kept in git, and is not in the file. When nothing comes for two
      seconds, the writer is asked on stderr whether it has finished, three times at most.

      Prints the path and the commit. In a terminal a content in which something was found can be sent again, twice.

      Exit codes: 0: committed; 1: something was found, there was no DONE, or it is too large; 2: a bad operation or target; 3: another session is active, or the target
      has changed; 130: interrupted. What had come is saved.
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

  target = Option.String('--target', { description: 'The file, relative to the root of the project.' });
  operation = Option.String('--operation', { description: 'create, overwrite or append.' });
  intent = Option.String('--intent', { description: 'What the file is for, or what changes in it.' });
  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  ownMarker = Option.Boolean('--own-marker', false, {
    description: 'End the content with DONE-<8 hex>, which no content has by chance.',
  });
  eofIsDone = Option.Boolean('--eof-is-done', false, { description: 'The end of stdin stands for DONE.' });
  force = Option.Boolean('--force', false, { description: 'Write it whatever is found; the commit says so.' });

  protected run(terminal: Terminal): Promise<number> {
    const announced = this.toAnnounced();
    return this.withWrites(terminal, async (calling) => {
      const { project, signal } = calling;
      if (project === null) throw toOutside();
      if (this.server === undefined) await this.offerOrphans(terminal, project, signal, false);
      const { eofIsDone, force } = this;
      const printJson = this.json ? (value: object) => this.printJson(terminal, 'write-stream', value) : null;
      const [{ streamInto, streamWrite }, { streamContent }] = await Promise.all([
        import('../../../workflow/writes/stream.ts'),
        import('./stream-content.ts'),
      ]);
      const { server } = this;
      return streamContent(
        { terminal, signal, eofIsDone, force, printJson, server },
        async (options, { onPrompt, decide }) => {
          if (this.server !== undefined) {
            const destination = await this.beginAtServer(terminal, project, calling, announced, this.server);
            return streamInto(project, destination, options, { onPrompt, decide });
          }
          const finalized = await streamWrite(project, announced, options, {
            onPrompt,
            decide: (rejected) => decide(toFinalizedAnswer(rejected)),
            onBegun: ({ record, instructions, warnings }) =>
              this.sayBegun(terminal, project, { id: record.id, instructions, warnings }),
          });
          return toFinalizedAnswer(finalized);
        },
      );
    });
  }

  private toAnnounced(): Announced {
    const name = 'teddy write stream';
    const target = requireOption(name, '--target', this.target);
    const operation = requireOption(name, '--operation', this.operation);
    const { intent = `${operation} ${target}`, session, ownMarker } = this;
    return { target, operation, intent, session, ownMarker };
  }

  private async beginAtServer(
    terminal: Terminal,
    project: Project,
    { writes, limits }: Calling,
    announced: Announced,
    server: string,
  ) {
    const { serverDestination } = await import('./stream-to-server.ts');
    const begun = await writes.begin(announced);
    this.sayBegun(terminal, project, { id: begun.session_id, ...begun });
    const nowMs = project.clock.now().getTime();
    return serverDestination({ writes, begun, target: announced.target, limits: await limits(), nowMs, server });
  }

  private sayBegun(
    terminal: Terminal,
    { notices }: Project,
    { id, instructions, warnings }: { id: string; instructions: string; warnings: string[] },
  ): void {
    for (const warning of warnings) notices.warn(warning);
    terminal.say(toVisible(`Write session ${id}. ${instructions}`));
  }
}

function toOutside(): TeddyError {
  return new TeddyError(
    'NOT_A_REPOSITORY',
    'This is not a git repository, and what follows the end marker of a stream is kept in one.',
    'Run it in a repository; from elsewhere `teddy write begin`, `append` and `finalize` reach a server.',
  );
}
