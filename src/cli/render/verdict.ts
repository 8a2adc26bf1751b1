/** Renders the verdicts on a plan. */
import type { Entry } from '../../session/entries/entry.ts';
import type { LoggedEntry } from '../../session/entries/logged-entry.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { Verdict } from '../../view/view.ts';
import type { Terminal } from '../terminal.ts';
import { formatTime } from './time.ts';

const styles = { approved: 'green', rejected: 'red', none: 'dim' } as const;

/** Returns an entry's subject; a verdict's subject also names its author. */
export function describeLogged({ entry, subject, author }: LoggedEntry): string {
  return entry?.kind === 'approval' && entry.verdict !== 'none' ? `${subject} (${author.name})` : subject;
}

/** Styles `text`, the subject: its first word after the kind is the verdict. */
export function styleVerdict(terminal: Pick<Terminal, 'style'>, { kind, verdict }: Entry, text: string): string {
  const word = verdict === 'none' ? 'no verdict' : (verdict ?? '');
  const at = kind === 'approval' && verdict !== undefined ? text.indexOf(`: ${word}`) : -1;
  if (at === -1 || verdict === undefined) return text;
  const end = at + 2 + word.length;
  return text.slice(0, at + 2) + terminal.style(styles[verdict], text.slice(at + 2, end)) + text.slice(end);
}

/** Returns a line for each verdict, followed by its remarks on the plan and on the plan's lines. */
export function renderVerdicts(terminal: Pick<Terminal, 'style'>, verdicts: readonly Verdict[]): string[] {
  return verdicts.flatMap(({ verdict, author, at, text, comments }) => [
    verdict === 'none'
      ? `${terminal.style('dim', 'no verdict')} ${formatTime(at)}`
      : `${terminal.style(styles[verdict], verdict)} by ${toVisible(`${author.name} <${author.email}>`)} ${formatTime(at)}`,
    ...indent(text ?? ''),
    ...comments.flatMap((comment) => indent(`line ${comment.line}: ${comment.text}`)),
  ]);
}

function indent(text: string): string[] {
  return text === ''
    ? []
    : toVisible(text)
        .split('\n')
        .map((line) => `  ${line}`);
}
