import { openSource } from '../../../app.ts';
import { importFormats, type ImportFormat } from '../../../agents/import-formats.ts';
import type { ImportReport } from '../../../conversation/logs/importer.ts';
import { TeddyError } from '../../../errors.ts';
import { countOf } from '../../../session/spending/describe-spending.ts';
import { describeLeftOut } from '../../../conversation/logs/import-report.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import type {
  AbandonedAttempt,
  ImportedSession,
  PreviewedImport,
} from '../../../workflow/conversation/import-session.ts';
import type { ImportProgress, ImportRequest } from '../../../workflow/conversation/read-log.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toSwitchCommand } from '../../../workflow/line/switch.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

const shownIssues = 5;
const redrawMs = 200;

export class SessionImportCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Create a session from a conversation that another program logged.',
    details: `
      Reads the logs of the agents that \`teddy capture\` follows, the output of \`opencode export\`, messages in the
      format of OpenAI's API, and the output of \`teddy export --jsonl\`. If the conversation in the log forks
      because somebody went back, the session's branch gets the most recent attempt, and each abandoned attempt gets a
      conversation branch. The session starts from HEAD, which does not move. Secrets are masked. The same bytes are
      imported only once: the second time, teddy names the existing session. Prints the session's directory on stdout.
    `,
    examples: [
      ['Preview the import', '$0 import rollout.jsonl --dry-run'],
      ["Choose the session's name", '$0 import chat.json --name api-design'],
    ],
  });

  file = parameter('file', { completes: ['files'] });
  format = option('--format', {
    value: '<name>',
    describe: `The format, if teddy does not recognize it: ${importFormats.join(', ')}.`,
  });
  name = option('--name', { value: '<name>', describe: "The session's name." });
  dryRun = option('--dry-run', { describe: 'Show what would be imported, without changing anything.' });

  protected run(terminal: Terminal): Promise<number> {
    const format = parseFormat(this.format);
    if (this.file === '-')
      throw new TeddyError(
        'USAGE',
        'teddy reads a log twice, so it cannot come from stdin.',
        'Save it to a file, and name that file; ./- is a file called -.',
      );
    return this.withProjectAndSignal(terminal, 'teddy list', async (project, signal) => {
      const { importSession, previewImport } = await import('../../../workflow/conversation/import-session.ts');
      const source = await openSource(this.file, this.context.cwd());
      const onProgress = showProgress(terminal);
      const request: ImportRequest = { source, format, name: this.name, signal, onProgress };
      try {
        if (this.dryRun) this.showPreview(terminal, await previewImport(project, request));
        else {
          await this.offerOrphans(terminal, project, signal);
          this.showImported(terminal, await importSession(project, request));
        }
      } finally {
        terminal.redraw(null);
      }
      return 0;
    });
  }

  private showPreview(terminal: Terminal, preview: PreviewedImport): void {
    if (this.json)
      return this.printJson(terminal, 'import', { dryRun: true, isNew: preview.known === null, ...preview });
    const { known, report, format, entries, turns, maskedSecrets } = preview;
    if (known !== null) terminal.say(`It was already imported: ${known.line}.`);
    const counts = `${countOf(report.lines, 'line')} read, ${countOf(report.records, 'record')} in ${describeSize(entries, turns)}`;
    terminal.print(`${format}: ${counts}.\n`);
    printAbandoned(terminal, preview.abandoned);
    printReport(terminal, report, maskedSecrets ?? 0);
    terminal.say('Nothing was written.');
  }

  private showImported(terminal: Terminal, imported: ImportedSession): void {
    if (this.json) return this.printJson(terminal, 'import', { dryRun: false, ...imported });
    const { isNew, session, line, directory, made, entries, turns, report, maskedSecrets, format } = imported;
    if (made !== null) terminal.say(`Created ${made}.`);
    const name = terminal.style('bold', line, 'stderr');
    if (isNew) {
      terminal.say(`Created the branch ${name} from a log in ${format} format: ${describeSize(entries, turns)}.`);
      printAbandoned(terminal, imported.abandoned);
      printReport(terminal, report, maskedSecrets);
    } else {
      terminal.say(`It was already imported, and nothing has changed: ${name}.`);
      if (this.name !== undefined) terminal.say('It keeps its name; --name had no effect.');
    }
    // The session may be archived by now, or exist only on a remote.
    const next = line.startsWith('refs/') ? `teddy archive --restore ${session}` : toSwitchCommand(line);
    terminal.say(`Next: ${next}`);
    terminal.print(`${directory}\n`);
  }
}

function parseFormat(text: string | undefined): ImportFormat | undefined {
  if (text === undefined) return undefined;
  const format = importFormats.find((known) => known === text);
  if (format !== undefined) return format;
  const hint = `Choose one of: ${importFormats.join(', ')}.`;
  throw new TeddyError('UNKNOWN_FORMAT', `The format ${JSON.stringify(text)} does not exist.`, hint);
}

function showProgress(terminal: Terminal): (progress: ImportProgress) => void {
  let drawnMs = performance.now();
  return ({ phase, bytes, sizeBytes }) => {
    const nowMs = performance.now();
    if (nowMs - drawnMs < redrawMs) return;
    drawnMs = nowMs;
    const percent = sizeBytes === 0 ? 100 : Math.min(100, Math.floor((100 * bytes) / sizeBytes));
    const line = `${phase === 'reading' ? 'Reading' : 'Writing the entries'}, ${percent} %`;
    terminal.redraw(terminal.style('dim', line, 'stderr'));
  };
}

/** Names every branch, because no other branch contains an abandoned attempt's turns. */
function printAbandoned(terminal: Terminal, abandoned: readonly AbandonedAttempt[]): void {
  if (abandoned.length === 0) return;
  const attempts = abandoned.length === 1 ? 'an attempt' : `${formatCount(abandoned.length)} attempts`;
  terminal.say(`The log also contains ${attempts}, abandoned for a later one:`);
  for (const { line: branch, sourceLine, entries, turns } of abandoned)
    terminal.say(`  ${branch ?? 'on no branch here'} (line ${sourceLine}): ${describeSize(entries, turns)}`);
}

function printReport(terminal: Terminal, report: ImportReport, maskedSecrets: number): void {
  const { skipped, repaired, leftOut } = report;
  if (report.summaries > 0) terminal.say(`Compaction summaries, marked as such: ${formatCount(report.summaries)}.`);
  if (leftOut.length > 0) terminal.say(`Left out: ${toVisible(describeLeftOut(leftOut))}.`);
  printIssues(terminal, 'skipped', skipped);
  printIssues(terminal, 'repaired', repaired);
  if (maskedSecrets > 0) terminal.say(`${countOf(maskedSecrets, 'secret')} masked.`);
}

function printIssues(terminal: Terminal, what: string, { count: total, issues }: ImportReport['skipped']): void {
  if (total === 0) return;
  terminal.say(`${formatCount(total)} ${what}:`);
  for (const { line, text } of issues.slice(0, shownIssues)) terminal.say(`  line ${line}: ${toVisible(text)}`);
  if (total > shownIssues) terminal.say(`  and ${formatCount(total - shownIssues)} more`);
}

function describeSize(entries: number, turns: number): string {
  return `${entries === 1 ? '1 entry' : `${formatCount(entries)} entries`} in ${countOf(turns, 'turn')}`;
}
