/** What the commands share that a server can answer too. */
import { Option } from 'clipanion';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports.ts';
import { TeddyCommand, withInterrupt } from './teddy-command.ts';
import type { Terminal } from './terminal.ts';
import { localCalls, type WriteCalls } from './write-calls.ts';

export interface Calling {
  calls: WriteCalls;
  project: Project;
  signal: AbortSignal;
}

export abstract class ServedCommand extends TeddyCommand {
  server = Option.String('--server', { description: 'Ask the server at this URL, which `teddy serve` prints.' });

  /** What is short is not broken off by Ctrl-C; reading stdin and waiting for a server are. */
  protected withCalls(terminal: Terminal, use: (calling: Calling) => Promise<number>): Promise<number> {
    return withInterrupt(terminal, 'teddy write list', (signal) =>
      this.withProject(terminal, async (project) => {
        const calls = await this.toCalls(project, signal);
        return use({ calls, project, signal });
      }),
    );
  }

  protected async toCalls(project: Project, signal: AbortSignal): Promise<WriteCalls> {
    const { server } = this;
    if (server === undefined) return localCalls(project, signal);
    const { serverCalls } = await import('./write-client.ts');
    return serverCalls({ server, project, env: process.env, say: (text) => project.notices.info(text), signal });
  }
}

/** What has to be told; clipanion would say that there is no such command. Throws USAGE. */
export function requireOption(command: string, option: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw new TeddyError('USAGE', `\`${command}\` needs ${option}.`, `See what it takes: \`${command} --help\`.`);
}
