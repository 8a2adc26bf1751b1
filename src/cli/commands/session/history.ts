import { historyFormats, type HistoryFormat } from '../../../conversation/history/history.ts';
import { TeddyError } from '../../../errors.ts';
import type { ShownHistory } from '../../../workflow/conversation/show-history.ts';
import { toTarget } from './target-option.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionHistoryCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: "Print a session's messages as a model would see them.",
    details: `
      Prints all messages and calls in order, up to now or up to a commit. You get the same bytes from .git alone,
      from a clone, and from any commit that has the same turns.

      openai (the default, also in a terminal) and anthropic are one JSON array with one message per line; jsonl has
      one record per line; markdown is for reading. If something had to be corrected for a provider to accept it,
      stderr reports it; stored data never changes.

      Exit codes: 0 done; 1 the repository is damaged, or the history would break a rule of the format; 2 no such
      session, commit, turn or format; 3 the commit belongs to no session.
    `,
    examples: [
      ['The session that HEAD is on', '$0 history'],
      ['Readable, from turn 03 on', '$0 history --format markdown --from 03'],
      ['As it was three commits ago', '$0 history HEAD~3 --format anthropic'],
      ['Another session, as JSON lines', '$0 history add-user-auth --format jsonl'],
    ],
  });

  target = parameter('session or commit', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  format = option('--format', { value: '<name>', describe: `${historyFormats.join(', ')}; default: openai.` });
  from = option('--from', { value: '<turn>', describe: 'Omit the turns before this one.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const format = toFormat(this.format);
    const target = toTarget(this.target, this.session);
    return this.withProject(terminal, async (project) => {
      const { showHistory } = await import('../../../workflow/conversation/show-history.ts');
      const shown = await showHistory(project, { target, format, from: this.from });
      if (this.json) {
        const { session, commit, messages, repairs } = shown;
        this.printJson(terminal, 'session-history', { session, commit, format, messages, repairs });
        return 0;
      }
      printRepairs(terminal, shown);
      // Writes the bytes without decoding them, because a long history is already in the cache.
      if (terminal.isOutputTty) await this.page(terminal, project, toVisible(shown.text));
      else this.context.stdout.write(shown.bytes);
      return 0;
    });
  }
}

function toFormat(text = 'openai'): HistoryFormat {
  const format = historyFormats.find((known) => known === text);
  if (format !== undefined) return format;
  throw new TeddyError(
    'UNKNOWN_FORMAT',
    `The format ${JSON.stringify(text)} does not exist.`,
    `Use ${historyFormats.slice(0, -1).join(', ')} or ${historyFormats.at(-1)}.`,
  );
}

const shownRepairs = 20;

function printRepairs(terminal: Terminal, { repairs }: ShownHistory): void {
  for (const { turn, text } of repairs.slice(0, shownRepairs)) {
    const repair = turn === undefined ? text : `turn ${turn}: ${text}`;
    terminal.say(`${terminal.style('yellow', 'repaired:', 'stderr')} ${toVisible(repair)}`);
  }
  const more = repairs.length - shownRepairs;
  if (more > 0) terminal.say(`... and ${more} more; --json shows all.`);
}
