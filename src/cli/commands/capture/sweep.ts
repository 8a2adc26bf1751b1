import { setTimeout as sleep } from 'node:timers/promises';
import { openCapture } from '../../../app.ts';
import { describeLeftOut, listLosses } from '../../../conversation/logs/import-report.ts';
import { countOf } from '../../../session/spending/describe-spending.ts';
import type { Swept, SweptLog } from '../../../workflow/capture/sweep.ts';
import { parseSince } from '../../arguments.ts';
import { option, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class CaptureSweepCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Capture sessions in this repository that no hook reported.',
    details: `
      Reads the hook calls that no process has read yet. Then searches the agents' logs for sessions that began in this
      repository or in one of its linked work trees, and appends new entries to their branches. Without --since, it
      considers sessions written to since capturing was switched on here; with it, older ones too. It skips anything
      that is already on a session's branch.
    `,
    examples: [
      ['Capture what was missed', '$0 capture sweep'],
      ['Include older sessions', '$0 capture sweep --since 7d'],
    ],
  });

  since = option('--since', {
    value: '<time>',
    describe: 'How far to go back: 30m, 12h, 7d, 4w, or a date such as 2026-11-01.',
  });

  protected run(terminal: Terminal): Promise<number> {
    const sinceMs = this.since === undefined ? null : parseSince(this.since, Date.now());
    return this.withProjectAndSignal(terminal, 'teddy capture sweep', async (project, signal) => {
      const { sweepWhenFree } = await import('../../../workflow/capture/sweep.ts');
      const swept = await sweepWhenFree(project, openCapture(project, this.context.env), {
        signal,
        sinceMs,
        pause: () => sleep(200, undefined, { signal }).catch(() => undefined),
        onBusy: (pid) => terminal.say(`Process ${pid} is already reading the logs; waiting for it.`),
        onLog: (log) => (this.json ? undefined : terminal.say(describe(log))),
      });
      if (this.json) this.printJson(terminal, 'capture-sweep', { ...swept });
      else printSum(terminal, swept);
      return swept.problems.length > 0 ? 1 : 0;
    });
  }
}

function describe({ agent, line, id, entries, leftOut }: SweptLog): string {
  const losses = describeLeftOut(listLosses(leftOut));
  const rest = losses === '' ? '' : `; left out: ${losses}`;
  if (line === null) return `${agent} ${toVisible(id)}: nothing to keep yet${rest}`;
  return `${toVisible(line)}: ${countOf(entries, 'entry', 'entries')}${rest}`;
}

function printSum(terminal: Terminal, { logs, unchanged, problems }: Swept): void {
  for (const problem of problems) terminal.say(toVisible(problem));
  const grown = logs.filter(({ entries }) => entries > 0).length;
  const rest = unchanged + logs.length - grown;
  const has = (count: number, what: string) => `${countOf(count, what)} ${count === 1 ? 'has' : 'have'}`;
  terminal.say(`${has(grown, 'session')} new entries; ${has(rest, 'log')} nothing new.`);
}
