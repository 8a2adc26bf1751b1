import { TeddyError } from '../../../errors.ts';
import { countOf } from '../../../session/spending/describe-spending.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import type { Explanation } from '../../../workflow/context/explain.ts';
import type { ContextRow } from '../../../workflow/context/rows.ts';
import type { ShownContext, SpentBudget } from '../../../workflow/context/show.ts';
import { toProjectPath } from './context/edit.ts';
import { option, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { padTo, widthOf } from '../../render/cut-to-width.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionContextCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show which files the model will see next, and why.',
    details:
      'Prints one row per file: its tokens (an estimate), and the line of a list that adds it; then the files that were left out, with the reason, and a bar that shows how the next request uses its budget. Nothing changes; use `context add` and `context drop` to change the list.',
    examples: [
      ['The context of the next turn', '$0 context'],
      ['Why a file is shown or not', '$0 context --why src/app.ts'],
      ['Which lines concern a directory', '$0 context --why src'],
    ],
  });

  session = sessionOption();
  why = option('--why', { value: '<path>', describe: 'Show which lines concern this project path or URL.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    if (this.why?.trim() === '') {
      throw new TeddyError('USAGE', '--why needs a path.', 'Name one: `teddy context --why src/app.ts`.');
    }
    return this.withProject(terminal, async (project) => {
      const { showContext } = await import('../../../workflow/context/show.ts');
      const why =
        this.why === undefined
          ? undefined
          : toProjectPath(this.context.cwd(), this.why, project.repository.workspace?.root);
      const shown = await showContext(project, { selector: this.session, why });
      if (this.json) {
        this.printJson(terminal, 'session-context', shown);
        return 0;
      }
      terminal.say(terminal.style('dim', `${shown.session} (${shown.line}), turn ${shown.turn}`, 'stderr'));
      if (shown.why === null) await this.page(terminal, project, renderContext(terminal, shown));
      else terminal.print(renderExplanation(terminal, shown, shown.why));
      for (const line of describeCaveats(shown)) terminal.say(line);
      return 0;
    });
  }
}

function describeCaveats({ keeps, turn, edited }: ShownContext): string[] {
  const kept = {
    context: `Turn ${turn} shows the model the same files as the turn that it branched from; edits to the lists apply from the next turn on.`,
    request: `Turn ${turn} is open: \`teddy plan\` sends its request unchanged; with a new message (-m), the model is shown these files.`,
  };
  const files = countOf(edited, 'edited file');
  return [
    ...(keeps === null ? [] : [kept[keeps]]),
    ...(edited === 0 ? [] : [`Not counted: ${files}. The next plan commits your edits before it shows files.`]),
  ];
}

/** Renders the files and the budget. Counts look like `1 file`, `1,200 files`. */
export function renderContext(terminal: Terminal, shown: ShownContext): string {
  const { files, leftOut, takenAway, notes, ignored } = shown;
  const title = (text: string) => terminal.style('bold', text);
  const out = [
    ...leftOut.map(({ path, reason, from }) => toLeftOut(terminal, path, reason, from)),
    ...takenAway.map(({ path, from, by }) => toLeftOut(terminal, path, `removed by ${by}`, from)),
    ...(ignored === 0 ? [] : [`  ${countOf(ignored, 'file')} that .teddyignore leaves out`]),
  ];
  return `${[
    title(summarize(shown)),
    ...renderRows(terminal, files),
    ...(out.length === 0 ? [] : [title('Left out'), ...out]),
    ...notes.map((note) => toVisible(`note: ${note}`)),
    ...renderBudget(terminal, shown.budget),
  ].join('\n')}\n`;
}

const partStyles = {
  prompt: ['p', 'blue'],
  memos: ['m', 'magenta'],
  history: ['h', 'cyan'],
  tree: ['t', 'yellow'],
  files: ['f', 'green'],
  message: ['u', 'bold'],
} as const;

/** Renders the budget as a bar, in the request's order. Every part that uses any tokens takes at least one character. */
function renderBudget(terminal: Terminal, { total, model, spent, left }: SpentBudget): string[] {
  const width = Math.min((terminal.context.stdout.columns || 80) - 4, 76);
  const parts = (Object.keys(partStyles) as (keyof typeof partStyles)[]).map((name) => ({ name, tokens: spent[name] }));
  const used = total - left;
  const scale = width / Math.max(total, used, 1);
  const cells = parts.map(({ name, tokens }) => {
    const [letter, style] = partStyles[name];
    const count = tokens === 0 ? 0 : Math.max(1, Math.round(tokens * scale));
    return { count, text: terminal.style(style, letter.repeat(count)) };
  });
  const free = Math.max(0, width - cells.reduce((sum, { count }) => sum + count, 0));
  const rest = left < 0 ? `${formatCount(-left)} too many` : `${formatCount(left)} left`;
  const whose = model === '' ? '' : ` for ${toVisible(model)}`;
  return [
    terminal.style('bold', `Budget${whose}: about ${formatCount(used)} of ${formatCount(total)} tokens, ${rest}`),
    `  [${cells.map(({ text }) => text).join('')}${'.'.repeat(free)}]`,
    `  ${parts.map(({ name, tokens }) => `${name} ${formatCount(tokens)}`).join(', ')}`,
  ];
}

function summarize({ files, tokens }: ShownContext): string {
  const count = files.filter(({ kind }) => kind === 'shown').length;
  if (files.length === 0) return 'No files are shown. Add some: `teddy context add <path>`.';
  return `${countOf(count, 'file')} shown, about ${countOf(tokens, 'token')}`;
}

function renderRows(terminal: Terminal, files: readonly ContextRow[]): string[] {
  const rows = files.map((file) => ({ amount: toAmount(file), path: toVisible(file.path), file }));
  const widest = Math.max(0, ...rows.map(({ amount }) => amount.length));
  const longest = Math.min(widestPath, Math.max(0, ...rows.map(({ path }) => widthOf(path))));
  return rows.map(({ amount, path, file }) => {
    const from = terminal.style('dim', toVisible(`${file.from}${describeSource(file)}`));
    return `  ${amount.padStart(widest)}  ${padTo(path, longest)}  ${from}`;
  });
}

// Limits the column, so that a few long paths do not push the next column out of the terminal.
const widestPath = 40;

/** Returns a file's token count, or the reason why it has none. */
function toAmount({ kind, tokens, reason }: ContextRow): string {
  if (kind === 'missing') return 'missing';
  return kind === 'shown' ? formatCount(tokens) : reason === 'budget' ? 'too large' : (reason ?? 'not text');
}

function describeSource({ kind, reason, source, bytes }: ContextRow): string {
  if (reason === 'budget') return ', does not fit the budget';
  if (kind === 'not-shown') return `, only listed: ${countOf(bytes, 'byte')}`;
  return source === 'stored' ? ', not tracked by git' : '';
}

function toLeftOut(terminal: Terminal, path: string, reason: string, from: string): string {
  return `  ${toVisible(path)}: ${toVisible(reason)}  ${terminal.style('dim', toVisible(from))}`;
}

function renderExplanation(terminal: Terminal, { files }: ShownContext, why: Explanation): string {
  const tokens = files.find(({ path }) => path === why.path)?.tokens ?? 0;
  const verdict = why.isShown ? `shown, about ${countOf(tokens, 'token')}` : describeHidden(why);
  const lines = why.lines.map(({ from, text, removes }) => {
    return `  ${toVisible(from)}  ${removes ? 'removes it' : 'names it'}  ${terminal.style('dim', toVisible(text))}`;
  });
  return `${[`${toVisible(why.path)}: ${toVisible(verdict)}`, ...lines].join('\n')}\n`;
}

function describeDirectory({ shown, tokens, reasons }: NonNullable<Explanation['below']>): string {
  if (shown > 0) return `a directory, ${countOf(shown, 'file')} in it shown, about ${countOf(tokens, 'token')}`;
  return `a directory, no file in it shown${reasons.length === 0 ? '' : `: ${reasons.join('; ')}`}`;
}

function describeHidden({ below, reasons, lines }: Explanation): string {
  if (below !== null) return describeDirectory(below);
  if (reasons.length > 0) return `not shown: ${reasons.join('; ')}`;
  return `not shown: ${lines.length === 0 ? 'no line names it' : 'a line removes it'}`;
}
