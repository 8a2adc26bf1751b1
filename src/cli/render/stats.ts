/** The numbers of `session stats`, as a table. */
import { describeSpending, formatCost } from '../../session/describe-spending.ts';
import { formatCount } from '../../session/format-count.ts';
import { toVisible } from '../../session/visible-text.ts';
import type { LineStats, Stats } from '../../workflow/review/count-stats.ts';
import type { Terminal } from '../terminal.ts';
import { padTo, widthOf } from './cut-to-width.ts';

export function renderStats(terminal: Terminal, { sessions, turns, plans, actions, spent, lines }: Stats): string {
  const { estimatedUsd } = spent;
  const estimate = estimatedUsd === undefined ? '' : `, ~${formatCost(estimatedUsd)} by known prices`;
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
    ...models.map(({ model, lines }): [string, string] => [
      `  by ${toVisible(model ?? 'a model that is not named')}`,
      share(lines),
    ]),
    ['  by people', share(people)],
    ...(unknown === 0 ? [] : ([['  unknown', share(unknown)]] as [string, string][])),
  ];
}
