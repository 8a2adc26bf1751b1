/** What the commands share that a server can answer too. */
import { Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import type { Clock, Notices, Project } from '../../../ports/project.ts';
import { defaultLimits, type Limits } from '../../../session/write-limits.ts';
import { TeddyCommand, terminalNotices, withInterrupt } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { localCalls, type WriteCalls } from './write-calls.ts';
import { ContentTooLarge } from '../../../write/step.ts';

export interface Calling {
  calls: WriteCalls;
  /** Null: with --server, outside of every repository. */
  project: Project | null;
  notices: Notices;
  clock: Clock;
  limits(): Promise<Limits>;
  signal: AbortSignal;
}

export abstract class ServedCommand extends TeddyCommand {
  server = Option.String('--server', { description: 'Ask the server at this URL, which `teddy serve` prints.' });

  /** What is short is not broken off by Ctrl-C; reading stdin and waiting for a server are. */
  protected withCalls(terminal: Terminal, use: (calling: Calling) => Promise<number>): Promise<number> {
    return withInterrupt(terminal, 'teddy write list', (signal) =>
      this.server === undefined
        ? this.withProject(terminal, (project) => inOwnWords(use(toLocal(project, signal))))
        : this.withServer(terminal, signal, this.server, use),
    );
  }

  /** Its own repository is where its token is; with that of the environment it is asked from anywhere. */
  private withServer(
    terminal: Terminal,
    signal: AbortSignal,
    server: string,
    use: (calling: Calling) => Promise<number>,
  ): Promise<number> {
    return this.withProjectIfAny(terminal, async (project) => {
      const { serverCalls } = await import('./write-client.ts');
      const notices = terminalNotices(terminal);
      const say = (text: string) => notices.info(text);
      const calls = await serverCalls({ server, project, env: this.context.env, say, signal });
      if (project !== null) return use({ ...toLocal(project, signal), calls });
      const clock = { now: () => new Date() };
      return use({ calls, project, notices, clock, limits: async () => defaultLimits, signal });
    });
  }
}

function toLocal(project: Project, signal: AbortSignal): Calling & { project: Project } {
  const { notices, clock } = project;
  const limits = async () => (await import('../../../workflow/writes/held.ts')).readWriteLimits(project);
  return { calls: localCalls(project, signal), project, notices, clock, limits, signal };
}

/** What has to be told; clipanion would say that there is no such command. Throws USAGE. */
export function requireOption(command: string, option: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw new TeddyError('USAGE', `\`${command}\` needs ${option}.`, `See what it takes: \`${command} --help\`.`);
}

/** The words of the command line for what ends a write session here; those of a server are in `http/client-errors.ts`. */
async function inOwnWords<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ContentTooLarge)) throw error;
    const message = `Content too large (exceeds ${error.limit}). Please split into smaller files.`;
    throw new TeddyError('CONTENT_TOO_LARGE', message, error.hint, { cause: error });
  }
}
