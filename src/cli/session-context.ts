import { Command, Option } from 'clipanion';
import type { ContextRow, Explanation, ShownContext } from '../workflow/show-context.ts';
import { TeddyCommand } from './teddy-command.ts';
import { toVisible, type Terminal } from './terminal.ts';

export class SessionContextCommand extends TeddyCommand {
  static override paths = [['session', 'context']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'Show which files the next turn shows to the model, and why.',
    details:
      'One row a file: its tokens (an estimate), and the line that put it there. Then what was left out, and why. Nothing is changed.',
    examples: [
      ['The context of the next turn', '$0 session context'],
      ['Why a file is shown, or is not', '$0 session context --why src/app.ts'],
    ],
  });

  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  why = Option.String('--why', { description: 'A path of the project, or a URL: which lines speak of it.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { showContext } = await import('../workflow/show-context.ts');
      const shown = await showContext(project, { selector: this.session, why: this.why });
      if (this.json) {
        this.printJson(terminal, 'session-context', shown);
        return 0;
      }
      terminal.say(terminal.style('dim', `${shown.session} (${shown.line}), turn ${shown.turn}`, 'stderr'));
      if (shown.why === null) await this.page(terminal, project, renderContext(terminal, shown));
      else terminal.print(renderExplanation(terminal, shown, shown.why));
      const edits = `${shown.edited} edited ${shown.edited === 1 ? 'file' : 'files'}`;
      if (shown.edited > 0)
        terminal.say(`Not counted: ${edits}; the next plan commits your edits before it shows files.`);
      return 0;
    });
  }
}

function renderContext(terminal: Terminal, shown: ShownContext): string {
  const { files, leftOut, takenAway, notes, ignored } = shown;
  const title = (text: string) => terminal.style('bold', text);
  const out = [
    ...leftOut.map(({ path, reason, from }) => row(terminal, path, `${reason}`, from)),
    ...takenAway.map(({ path, from, by }) => row(terminal, path, `taken away by ${by}`, from)),
    ...(ignored === 0 ? [] : [`  ${ignored} ${ignored === 1 ? 'file' : 'files'} that .teddyignore leaves out`]),
  ];
  return `${[
    title(summarize(shown)),
    ...renderRows(terminal, files),
    ...(out.length === 0 ? [] : [title('Left out'), ...out]),
    ...notes.map((note) => toVisible(`note: ${note}`)),
  ].join('\n')}\n`;
}

function summarize({ files, tokens }: ShownContext): string {
  const count = files.filter(({ kind }) => kind === 'shown').length;
  if (files.length === 0) return 'No file is shown. Name some in session.context, one path a line.';
  return `${count} ${count === 1 ? 'file' : 'files'} shown, about ${tokens} tokens`;
}

function renderRows(terminal: Terminal, files: readonly ContextRow[]): string[] {
  const rows = files.map((file) => ({ amount: toAmount(file), path: toVisible(file.path), file }));
  const widest = Math.max(0, ...rows.map(({ amount }) => amount.length));
  const longest = Math.min(60, Math.max(0, ...rows.map(({ path }) => path.length)));
  return rows.map(({ amount, path, file }) => {
    const disk = file.source === 'stored' ? ', not tracked by git' : '';
    const from = terminal.style('dim', toVisible(`${file.from}${disk}`));
    return `  ${amount.padStart(widest)}  ${path.padEnd(longest)}  ${from}`;
  });
}

function toAmount({ kind, tokens, bytes, reason }: ContextRow): string {
  if (kind === 'missing') return 'missing';
  return kind === 'shown' ? String(tokens) : `not shown: ${reason ?? ''}, ${bytes} bytes`;
}

function row(terminal: Terminal, path: string, reason: string, from: string): string {
  return `  ${toVisible(path)}: ${toVisible(reason)}  ${terminal.style('dim', toVisible(from))}`;
}

function renderExplanation(terminal: Terminal, { files }: ShownContext, why: Explanation): string {
  const tokens = files.find(({ path }) => path === why.path)?.tokens ?? 0;
  const reasons = why.reasons.length === 0 ? toReason(why) : why.reasons.join('; ');
  const verdict = why.isShown ? `shown, about ${tokens} tokens` : `not shown: ${reasons}`;
  const lines = why.lines.map(({ from, text, removes }) => {
    return `  ${toVisible(from)}  ${removes ? 'takes it away' : 'names it'}  ${terminal.style('dim', toVisible(text))}`;
  });
  return `${[`${toVisible(why.path)}: ${toVisible(verdict)}`, ...lines].join('\n')}\n`;
}

function toReason({ lines }: Explanation): string {
  return lines.length === 0 ? 'no line names it' : 'a line takes it away';
}
