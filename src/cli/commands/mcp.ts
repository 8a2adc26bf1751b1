import { version } from '../../../package.json';
import type { Notices } from '../../ports/project.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { TeddyCommand, type Terminal, terminalNotices, usage, withInterrupt } from '../teddy-command.ts';
import { describeFailure } from './serve.ts';

export class McpCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Set up',
    description: 'Serve sessions to agents, over MCP on stdin and stdout.',
    details: `
      Agents start this command, not you: Claude Code with \`claude mcp add teddy -- teddy mcp\`, others through their
      settings (see docs/agents.md). It serves the repository that it is started in, until stdin ends.

      An agent can search and read sessions, propose memos, submit a plan, wait for your verdict on it, and write
      large files. No tool approves or runs a plan, pushes or deletes. Secrets in session content are masked
      before an agent gets it, and the content is marked as data.

      Exit codes: 0 stdin has ended, or the server was stopped; 1 not a repository.
    `,
    examples: [
      ['For Claude Code', 'claude mcp add teddy -- $0 mcp'],
      ['The command that an agent runs', '$0 mcp'],
    ],
  });

  protected run(terminal: Terminal): Promise<number> {
    // Stdout carries only the protocol, so errors never go there as JSON.
    this.json = false;
    const notices: Notices = terminalNotices(terminal);
    return this.withProject(
      terminal,
      (project) =>
        withInterrupt(terminal, 'teddy status', async (signal) => {
          const [{ serveMcp }, { printTimeouts, serverWrites }, { readWriteLimits }, { describeCleaned }] =
            await Promise.all([
              import('../../mcp/server.ts'),
              import('../../http/write-api.ts'),
              import('../../workflow/writes/held.ts'),
              import('../render/write.ts'),
            ]);
          const limits = await readWriteLimits(project);
          const writes = serverWrites(project, (cleaned) => notices.info(describeCleaned(cleaned)));
          const onDefect = (error: unknown) => terminal.say(toVisible(describeFailure(error)));
          const options = { project, limits, version, onDefect };
          const { stdin, stdout } = terminal.context;
          await serveMcp({ ...options, writes: printTimeouts(writes, limits.idleExpiryMs) }, { stdin, stdout, signal });
          return 0;
        }),
      notices,
    );
  }
}
