import { Command, Option } from 'clipanion';
import type { LoggedEntry } from '../workflow/log-session.ts';
import { logSession } from '../workflow/log-session.ts';
import { TeddyCommand } from './teddy-command.ts';
import { toVisible, type Terminal } from './terminal.ts';

export class SessionLogCommand extends TeddyCommand {
  static override paths = [['session', 'log']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'Show the steps of a session, newest first.',
    details: 'The same as `git log --first-parent` of its branch, one line for each step.',
    examples: [['The session that HEAD is on', '$0 session log']],
  });

  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const log = await logSession(project, this.session);
      if (this.json) {
        this.printJson(terminal, 'session-log', log);
        return 0;
      }
      terminal.say(terminal.style('dim', `${log.session} (${log.line})`, 'stderr'));
      await this.page(terminal, project, `${log.entries.map((entry) => renderEntry(terminal, entry)).join('\n')}\n`);
      return 0;
    });
  }
}

function renderEntry(terminal: Terminal, { commit, time, entry, subject }: LoggedEntry): string {
  const when = time.slice(0, 16).replace('T', ' ');
  const text = entry === null ? terminal.style('dim', toVisible(subject)) : toVisible(subject);
  return `${terminal.style('yellow', commit.slice(0, 10))} ${terminal.style('dim', when)} ${text}`;
}
