import { Command } from 'clipanion';
import type { ListedSession } from '../workflow/list-sessions.ts';
import { listSessions } from '../workflow/list-sessions.ts';
import { TeddyCommand } from './teddy-command.ts';
import { toVisible, type Terminal } from './terminal.ts';

export class SessionListCommand extends TeddyCommand {
  static override paths = [['session', 'list']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'List all sessions, oldest first.',
    details:
      'A star marks the session that HEAD is on. Sessions that only a remote has are listed with its name; `plan -s` continues them.',
    examples: [['All sessions', '$0 session list']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const sessions = await listSessions(project);
      if (this.json) this.printJson(terminal, 'session-list', { sessions });
      else if (sessions.length === 0) terminal.say('There is no session yet. Start one: teddy session new <name>');
      else await this.page(terminal, project, renderSessions(terminal, sessions));
      return 0;
    });
  }
}

function renderSessions(terminal: Terminal, sessions: ListedSession[]): string {
  const widest = Math.max(...sessions.map(({ session }) => session.length));
  const rows = sessions.map((one) => {
    const turns = `${one.turns} ${one.turns === 1 ? 'turn' : 'turns'}`.padEnd(9);
    const name = one.session.padEnd(widest);
    const remote = one.remote === null ? '' : ` [only on ${one.remote}]`;
    const count = one.conversationBranches.length;
    const branches = count === 0 ? '' : ` (+${count} ${count === 1 ? 'branch' : 'branches'})`;
    const mark = one.current ? '*' : ' ';
    return `${mark} ${one.current ? terminal.style('green', name) : name}  ${turns} ${one.status.padEnd(7)} ${toVisible(one.last)}${branches}${remote}`.trimEnd();
  });
  return `${rows.join('\n')}\n`;
}
