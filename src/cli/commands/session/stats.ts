import { Command, Option } from 'clipanion';
import { parseSince } from '../../arguments.ts';
import { TeddyCommand, withInterrupt } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';

export class SessionStatsCommand extends TeddyCommand {
  static override paths = [['session', 'stats']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'Count turns, plans, failures, cost, and the lines by models and people that are still there.',
    details: `
      Counts all sessions: local, archived, and those that only a remote has. A plan is accepted when it was run or
      approved, and rejected when somebody refused it.

      Lines are those of the files that sessions changed, as HEAD has them, by who brought them; \`teddy blame\`
      shows them one by one. With --since, turns that began since then, and lines committed since then.

      Exit codes: 0 done; 1 the repository is damaged; 2 wrong usage; 130 interrupted.
    `,
    examples: [
      ['All sessions', '$0 session stats'],
      ['The last two weeks', '$0 session stats --since 2w'],
    ],
  });

  since = Option.String('--since', { description: 'How far back: 12h, 7d, 4w, or a date such as 2026-11-01.' });

  protected run(terminal: Terminal): Promise<number> {
    const sinceMs = this.since === undefined ? null : parseSince(this.since, Date.now());
    return withInterrupt(terminal, 'teddy session stats', (signal) =>
      this.withProject(terminal, async (project) => {
        const { countStats } = await import('../../../workflow/review/count-stats.ts');
        const onFile = (done: number, all: number) =>
          terminal.redraw(`Counting the lines of file ${done + 1} of ${all}`);
        const stats = await countStats(project, { sinceMs, onFile, signal });
        terminal.redraw(null);
        if (this.json) {
          const since = sinceMs === null ? null : new Date(sinceMs).toISOString();
          this.printJson(terminal, 'session-stats', { since, ...stats });
          return 0;
        }
        const { renderStats } = await import('../../render/stats.ts');
        terminal.print(renderStats(terminal, stats));
        return 0;
      }),
    );
  }
}
