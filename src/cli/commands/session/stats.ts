import { TeddyError } from '../../../errors.ts';
import { describeSpending, formatCost } from '../../../session/spending/describe-spending.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { LineStats, Stats } from '../../../workflow/review/count-stats.ts';
import { parseSince } from '../../arguments.ts';
import { padTo, widthOf } from '../../render/cut-to-width.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toTarget } from './target-option.ts';

export class SessionStatsCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Count turns, plans, failures, cost, and the surviving lines by models and people.',
    details: `
      Counts all sessions: local, archived, and those only on a remote; anything that a session's branches share counts
      once. A plan counts as accepted when it was run or approved, and as rejected when somebody refused it.

      Lines are counted in the files that sessions changed, as of HEAD, by who added them; \`teddy blame\` shows them
      one by one. With --since, counts turns that began and lines committed since then.

      For a named session, shows tokens and money by turn, by model, and against the budget. Tokens are the ones that
      the endpoint reported, with the share that it read from its cache; the cost is the one that the endpoint
      reported, or else an estimate from the known prices, marked with ~ (see \`teddy models update\`). If no price is
      known, the cost is shown as unknown. For answers without reported tokens, an estimate is marked with ~ and
      counted separately. A conversation branch includes the turns before it, as its budget (teddy.maxTurns,
      teddy.maxTokens) counts them.

      Exit codes: 0 done; 1 the repository is damaged; 2 wrong usage, or no such session or commit; 130 interrupted.
    `,
    examples: [
      ['All sessions', '$0 stats'],
      ['The last two weeks', '$0 stats --since 2w'],
      ['The session that HEAD is on', '$0 stats HEAD'],
      ['Another one', '$0 stats add-user-auth'],
    ],
  });

  target = parameter('session or commit', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  since = option('--since', {
    value: '<time>',
    describe: 'How far to go back: 30m, 12h, 7d, 4w, or a date such as 2026-11-01.',
  });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    if (target !== undefined && this.since !== undefined)
      throw new TeddyError(
        'USAGE',
        '--since counts all sessions, so it cannot be combined with a session.',
        `Omit --since or ${JSON.stringify(target)}.`,
      );
    return target === undefined ? this.showAll(terminal) : this.showLine(terminal, target);
  }

  private showLine(terminal: Terminal, target: string): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const [{ countCost }, { renderCost }] = await Promise.all([
        import('../../../workflow/review/count-cost.ts'),
        import('../../render/cost.ts'),
      ]);
      const cost = await countCost(project, target);
      if (this.json) this.printJson(terminal, 'session-line-stats', cost);
      else await this.page(terminal, project, renderCost(terminal, cost));
      return 0;
    });
  }

  private showAll(terminal: Terminal): Promise<number> {
    const sinceMs = this.since === undefined ? null : parseSince(this.since, Date.now());
    return this.withProjectAndSignal(terminal, 'teddy stats', async (project, signal) => {
      const { countStats } = await import('../../../workflow/review/count-stats.ts');
      const onFile = (done: number, all: number) => terminal.redraw(`Counting the lines of file ${done + 1} of ${all}`);
      const stats = await countStats(project, { sinceMs, onFile, signal });
      terminal.redraw(null);
      if (this.json) {
        const since = sinceMs === null ? null : new Date(sinceMs).toISOString();
        const { countAllCosts } = await import('../../../workflow/review/count-all-costs.ts');
        const bySession = sinceMs === null ? (await countAllCosts(project)).sessions : null;
        this.printJson(terminal, 'session-stats', { since, ...stats, bySession });
        return 0;
      }
      terminal.print(renderStats(terminal, stats));
      return 0;
    });
  }
}

function renderStats(terminal: Terminal, { sessions, turns, plans, actions, spent, lines }: Stats): string {
  const { estimatedUsd } = spent;
  const estimate = estimatedUsd === undefined ? '' : `, ~${formatCost(estimatedUsd)} at known prices`;
  const rows: [string, string][] = [
    ['Sessions', formatCount(sessions)],
    ['Turns', formatCount(turns)],
    [
      'Plans',
      `${formatCount(plans.accepted)} accepted, ${formatCount(plans.rejected)} rejected, ${formatCount(plans.pending)} pending`,
    ],
    ['Actions', `${formatCount(actions.run)} run, ${formatCount(actions.failed)} of them failed`],
    ['Cost', spent.answers === 0 ? 'none' : `${describeSpending(spent) ?? 'unknown'}${estimate}`],
    ...(lines === null ? [] : toLineRows(lines)),
  ];
  const width = Math.max(...rows.map(([label]) => widthOf(label)));
  return rows.map(([label, text]) => `${terminal.style('dim', padTo(label, width))}  ${text}\n`).join('');
}

function toLineRows({ files, models, people, unknown }: LineStats): [string, string][] {
  const all = models.reduce((sum, { lines }) => sum + lines, 0) + people + unknown;
  const share = (count: number) => `${formatCount(count)}${all === 0 ? '' : ` (${Math.round((100 * count) / all)} %)`}`;
  return [
    ['Lines', `${formatCount(all)} in ${formatCount(files)} ${files === 1 ? 'file' : 'files'} that sessions changed`],
    ...models.map(({ model, lines }): [string, string] => [`  by ${nameModel(model)}`, share(lines)]),
    ['  by people', share(people)],
    ...(unknown === 0 ? [] : ([['  unknown', share(unknown)]] as [string, string][])),
  ];
}

function nameModel(model: string | null): string {
  if (model === 'manual') return 'answers by hand';
  return toVisible(model ?? 'an unnamed model');
}
