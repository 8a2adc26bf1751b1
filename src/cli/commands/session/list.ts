import type { Project } from '../../../ports/project.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { findWorkTreesOf, type ListedSession, listNewest, sortNewest } from '../../../workflow/review/list-sessions.ts';
import { parseLimit } from '../../arguments.ts';
import { option, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { renderSessions, renderWaiting, takeFirst } from '../../render/sessions.ts';

export class SessionListCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'List all sessions, newest first.',
    details: `
      Shows each session's turns, age, state and latest step, newest first. A terminal shows 50 sessions. A star marks
      the session that HEAD is on, which is always on the first page.

      A session has a pending plan, or is open, closed, landed, committed (somebody has committed what another agent
      did in it), archived, or only on a remote; \`landed, by note\` means that only the note on a squashed commit says
      so, and the commit's content proves it; failed, aborted and skipped describe how its last run ended. For a
      session that is only on a remote, \`git switch teddy/<session>\` creates the branch here; if several remotes
      have it, use \`git switch --track <remote>/teddy/<session>\`.

      With \`--all\`, each session shows which other work trees have its branches checked out; \`git worktree list\`
      lists all work trees.
    `,
    examples: [
      ['All sessions', '$0 list'],
      ['My sessions that have not landed', '$0 list --mine --open'],
      ['Include archived sessions', '$0 list --archived'],
      ['Plans that wait for my approval', '$0 list --waiting'],
    ],
  });

  archived = option('--archived', { describe: 'Also list archived sessions.' });
  limit = option('--limit', {
    value: '<n>',
    parse: (text) => parseLimit(text, 'sessions'),
    describe: 'List at most this many. Default on a terminal: 50.',
    excludes: ['--all'],
  });
  all = option('--all', { describe: 'List all of them, even on a terminal.' });
  mine = option('--mine', { describe: 'List only sessions you started (by your git e-mail address).' });
  waiting = option('--waiting', {
    describe: "List other people's plans that wait for your approval.",
    excludes: ['--archived', '--limit', '--mine', '--open'],
  });
  open = option('--open', { describe: 'List only sessions with a local branch that have not landed.' });

  protected override showsSilentAgents = true;
  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const limit = this.readLimit(terminal);
    if (this.waiting) return this.withProject(terminal, (project) => this.showWaiting(terminal, project));
    return this.withProject(terminal, async (project) => {
      const now = project.clock.now();
      const options = { archived: this.archived, mine: this.mine };
      const newest = await listNewest(project, this.open ? Number.POSITIVE_INFINITY : limit, options);
      const found = sortNewest(this.open ? newest.sessions.filter(isOpen) : newest.sessions, now);
      const count = this.open ? found.length : newest.count;
      const sessions = takeFirst(found, limit);
      const workTrees = this.all || this.json ? await findWorkTreesOf(project, sessions) : undefined;
      if (this.json)
        this.printJson(terminal, 'session-list', {
          sessions: sessions.map((one) => ({ ...one, workTrees: workTrees?.get(one.session) ?? [] })),
        });
      else if (found.length === 0)
        terminal.say(this.mine || this.open ? 'No sessions match.' : await describeNone(project));
      else {
        await this.page(terminal, project, renderSessions(terminal, sessions, now.getTime(), workTrees));
        if (sessions.length < count)
          terminal.say(`${sessions.length} of ${count} sessions. All of them: ${this.toWholeCommand()}`);
      }
      if (terminal.isInteractive && !this.json)
        for (const sentence of await this.describeSilentAgents(project))
          terminal.say(`${toVisible(sentence)}: \`teddy doctor\`.`);
      await this.sweepInBackground(project);
      return 0;
    });
  }

  private async showWaiting(terminal: Terminal, project: Project): Promise<number> {
    const { listWaiting } = await import('../../../workflow/review/inbox.ts');
    const waiting = await listWaiting(project);
    if (this.json) this.printJson(terminal, 'session-waiting', { waiting });
    else if (waiting.length === 0)
      terminal.say('No plan is waiting for your approval here. `git fetch` brings what others have pushed.');
    else await this.page(terminal, project, renderWaiting(terminal, waiting));
    return 0;
  }

  private toWholeCommand(): string {
    const given = { '--archived': this.archived, '--mine': this.mine, '--open': this.open };
    const kept = Object.entries(given).flatMap(([option, isGiven]) => (isGiven ? [option] : []));
    return ['teddy list --all', ...kept].join(' ');
  }

  private readLimit(terminal: Terminal): number {
    const usual = terminal.isOutputTty && !this.all && !this.json ? onTerminal : Number.POSITIVE_INFINITY;
    return this.limit ?? usual;
  }
}

const onTerminal = 50;

function isOpen({ state }: ListedSession): boolean {
  return ['pending', 'open', 'closed', 'failed'].includes(state);
}

async function describeNone(project: Project): Promise<string> {
  const { listRecorded } = await import('../../../workflow/line/find-recorded.ts');
  const { size } = new Set((await listRecorded(project)).map(({ session }) => session));
  const start = 'Start one: teddy new <name>';
  if (size === 0) return `There are no sessions yet. ${start}`;
  const archived = size === 1 ? '1 session is archived' : `${size} sessions are archived`;
  return `No sessions are in progress here. ${archived}: teddy list --archived. ${start}`;
}
