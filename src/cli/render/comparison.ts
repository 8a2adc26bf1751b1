/** Renders two turns side by side, for the user. */
import type { FileDiff } from '../../workflow/review/diff-files.ts';
import type { ComparedTurn, TurnComparison } from '../../workflow/review/diff-turns.ts';
import { colorDiff } from './color-diff.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { styleStatus } from './outcome.ts';
import { padTo, widthOf } from './cut-to-width.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

interface Look {
  isShort: boolean;
}

/** Ends with a newline. */
export function renderComparison(terminal: Terminal, compared: TurnComparison, { isShort }: Look): string {
  const { a, b, message, plan, context, code } = compared;
  const sections: [title: string, body: string][] = [
    ...(message === null ? [] : [['Message', renderMessage(terminal, message, isShort)] as [string, string]]),
    ...(plan === null ? [] : [['Plan', renderFiles(terminal, [plan], isShort)] as [string, string]]),
    ...(context === null ? [] : [[toContextTitle(context), renderContext(terminal, context)] as [string, string]]),
    ...(code === null ? [] : [['Code', renderFiles(terminal, code, isShort)] as [string, string]]),
  ];
  const parts = sections.map(([title, body]) => `${terminal.style('bold', title)}\n${body}`);
  return `${[`${renderSide(terminal, '-', a)}\n${renderSide(terminal, '+', b)}`, ...parts].join('\n\n')}\n`;
}

function renderSide(terminal: Terminal, sign: '-' | '+', side: ComparedTurn): string {
  const name = side.turn === null ? 'before the first turn' : `turn ${side.turn}`;
  const title = toVisible(`${sign} ${name} of ${side.line}`);
  const head = terminal.style(sign === '-' ? 'red' : 'green', title);
  return `${head} ${terminal.style('yellow', side.commit.slice(0, 10))}${renderOutcome(terminal, side)}`;
}

function renderOutcome(terminal: Terminal, { status, outcome, changedFiles }: ComparedTurn): string {
  if (outcome === null) return status === null ? '' : `\n  ${status}`;
  const error = outcome.error === null ? '' : ` (${toVisible(outcome.error)})`;
  return `\n  ${styleStatus(terminal, outcome.status)}${error}, ${countOf(changedFiles, 'file')} changed`;
}

function renderMessage(terminal: Terminal, { a, b }: { a: string; b: string }, isShort: boolean): string {
  const render = (sign: string, text: string) => {
    const lines = toVisible(text.trimEnd()).split('\n');
    const more = isShort && lines.length > 1 ? [`${lines[0]} ...`] : lines;
    return text === '' ? [] : more.map((line) => terminal.style(sign === '-' ? 'red' : 'green', `${sign} ${line}`));
  };
  return [...render('-', a), ...render('+', b)].join('\n');
}

function toContextTitle({ source }: NonNullable<TurnComparison['context']>): string {
  return source === 'log' ? 'Context (files shown)' : 'Context (turn.context)';
}

function renderContext(terminal: Terminal, context: NonNullable<TurnComparison['context']>): string {
  const { added, removed, changed } = context;
  const rows = [
    ...removed.map((name) => terminal.style('red', `- ${toVisible(name)}`)),
    ...added.map((name) => terminal.style('green', `+ ${toVisible(name)}`)),
    ...changed.map((name) => `~ ${toVisible(name)}`),
  ];
  return rows.length === 0 ? same(terminal) : rows.join('\n');
}

function renderFiles(terminal: Terminal, files: readonly FileDiff[], isShort: boolean): string {
  const changed = files.filter(
    ({ kind, added, removed, change }) => kind !== 'text' || added + removed > 0 || change !== 'modified',
  );
  if (changed.length === 0) return same(terminal);
  if (isShort) return renderStat(terminal, changed);
  return colorDiff(terminal, changed.map(({ diff }) => diff).join(''), 'stdout');
}

function same(terminal: Terminal): string {
  return terminal.style('dim', 'the same');
}

const maxBar = 20;

/** Lists files with the number of lines that they gained and lost, like `git diff --stat`. Ends without a newline. */
function renderStat(terminal: Terminal, files: readonly FileDiff[]): string {
  const names = files.map(({ path }) => toVisible(path));
  const width = Math.max(...names.map(widthOf));
  const most = Math.max(...files.map(({ added, removed }) => added + removed), 1);
  const rows = files.map((file, at) => ` ${padTo(names[at] ?? '', width)} | ${renderChange(terminal, file, most)}`);
  const [added, removed] = [sum(files, 'added'), sum(files, 'removed')];
  return [...rows, ` ${countOf(files.length, 'file')}, +${added} -${removed}`].join('\n');
}

function renderChange(terminal: Terminal, { kind, added, removed, change }: FileDiff, most: number): string {
  if (kind !== 'text') return `${kind === 'large' ? 'too large to compare' : kind}, ${change}`;
  const scale = Math.min(1, maxBar / most);
  const bar = (sign: string, count: number) => sign.repeat(Math.ceil(count * scale));
  const counts = `+${added} -${removed}`.padEnd(10);
  return `${counts} ${terminal.style('green', bar('+', added))}${terminal.style('red', bar('-', removed))}`.trimEnd();
}

export function sum(files: readonly Pick<FileDiff, 'added' | 'removed'>[], key: 'added' | 'removed'): number {
  return files.reduce((total, file) => total + file[key], 0);
}
