import { Command, Option } from 'clipanion';
import type { Project } from '../../../ports/project.ts';
import { type ListedSession, listSessions } from '../../../workflow/review/list-sessions.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import { toVisible, type Terminal } from '../../terminal.ts';

export class SessionListCommand extends TeddyCommand {
  static override paths = [['session', 'list']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'List all sessions, oldest first.',
    details:
      'A star marks the session that HEAD is on. A session that only a remote has is listed with the name of the remote; `plan -s` continues it.',
    examples: [
      ['All sessions', '$0 session list'],
      ['Archived ones as well', '$0 session list --archived'],
    ],
  });

  archived = Option.Boolean('--archived', false, { description: 'Also list sessions whose branches were archived.' });

  protected override actsAtOnce = () => true;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const sessions = await listSessions(project, { archived: this.archived });
      if (this.json) this.printJson(terminal, 'session-list', { sessions });
      else if (sessions.length === 0) terminal.say(await describeNone(project));
      else await this.page(terminal, project, renderSessions(terminal, sessions));
      return 0;
    });
  }
}

/** Other sessions may be archived, or have only conversation branches. */
async function describeNone(project: Project): Promise<string> {
  const { listRecorded } = await import('../../../workflow/line/find-recorded.ts');
  const others = (await listRecorded(project)).map(({ name }) => name);
  if (others.length === 0) return 'There is no session yet. Start one: teddy session new <name>';
  const [first = ''] = others;
  const more = others.length === 1 ? '' : ` and ${others.length - 1} more`;
  return `No session is in progress here; there is only ${toVisible(first)}${more}. Start one: teddy session new <name>`;
}

function renderSessions(terminal: Terminal, sessions: ListedSession[]): string {
  const widest = Math.max(...sessions.map(({ session }) => session.length));
  const rows = sessions.map((one) => {
    const turns = `${one.turns} ${one.turns === 1 ? 'turn' : 'turns'}`.padEnd(9);
    const name = one.session.padEnd(widest);
    const remote = one.archived ? ' [archived]' : one.remote === null ? '' : ` [only on ${one.remote}]`;
    const count = one.conversationBranches.length;
    const branches = count === 0 ? '' : ` (+${count} ${count === 1 ? 'branch' : 'branches'})`;
    // The main line has another name, or HEAD is on another line.
    const isOther = !one.archived && one.remote === null && one.branch !== `teddy/${one.session}`;
    const branch = isOther ? ` on ${toVisible(one.branch)}` : '';
    const mark = one.current ? '*' : ' ';
    return `${mark} ${one.current ? terminal.style('green', name) : name}  ${turns} ${one.status.padEnd(7)} ${toVisible(one.last)}${branch}${branches}${remote}`.trimEnd();
  });
  return `${rows.join('\n')}\n`;
}
