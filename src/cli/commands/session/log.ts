import type { LoggedEntry } from '../../../session/entries/logged-entry.ts';
import { type SessionLog, logSession } from '../../../workflow/review/log-session.ts';
import type { SessionGraph } from '../../../workflow/review/log-graph.ts';
import { toTarget } from './target-option.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { describeLogged, styleVerdict } from '../../render/verdict.ts';
import { formatTime } from '../../render/time.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionLogCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: "Show a session's steps, newest first.",
    details: `
      Shows the same as \`git log --first-parent\` on its branch, with one line per step. Name a session by its id or
      a part of it, a branch (even an archived one), a commit, or a range of commits.

      With --graph, draws the session's main branch and all its conversation branches, each step once: a branch is
      above the step where it forks. Branches that are only on a remote, or archived, are marked. Your own commits are
      dimmed.

      Exit codes: 0 done; 1 the repository is damaged; 2 no such session or commit.
    `,
    examples: [
      ['The session that HEAD is on', '$0 log'],
      ['With its conversation branches', '$0 log --graph'],
      ['Another one', '$0 log add-user-auth'],
      ['The steps after a commit', '$0 log 3f2a9c1..teddy/20260124-add-user-auth'],
    ],
  });

  target = parameter('session, commit or range', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  graph = option('--graph', { describe: "Draw all of the session's branches." });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    return this.withProject(terminal, async (project) => {
      if (!this.graph) return this.show(terminal, await logSession(project, target), renderLog, project);
      const { graphSession } = await import('../../../workflow/review/log-graph.ts');
      const { renderGraph } = await import('../../render/graph.ts');
      const graph = await graphSession(project, target);
      return this.show(terminal, graph, renderGraph, project);
    });
  }

  private async show<Log extends SessionLog | SessionGraph>(
    terminal: Terminal,
    log: Log,
    render: (terminal: Terminal, log: Log) => string,
    project: Parameters<TeddyCommand['page']>[1],
  ): Promise<number> {
    if (this.json) {
      this.printJson(terminal, 'session-log', log);
      return 0;
    }
    const line = 'line' in log ? ` (${toVisible(log.line)})` : '';
    terminal.say(terminal.style('dim', `${log.session}${line}`, 'stderr'));
    await this.page(terminal, project, render(terminal, log));
    return 0;
  }
}

function renderLog(terminal: Terminal, { entries }: SessionLog): string {
  return `${entries.map((entry) => renderEntry(terminal, entry)).join('\n')}\n`;
}

function renderEntry(terminal: Terminal, logged: LoggedEntry): string {
  const { commit, at, entry, subject } = logged;
  const when = formatTime(at);
  const text =
    entry === null
      ? terminal.style('dim', toVisible(subject))
      : styleVerdict(terminal, entry, toVisible(describeLogged(logged)));
  return `${terminal.style('yellow', commit.slice(0, 10))} ${terminal.style('dim', when)} ${text}`;
}
