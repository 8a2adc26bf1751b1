/** Renders a turn for the user: its messages, plan and outcome. */
import { formatCount } from '../../session/text/format-count.ts';
import { countWhole } from '../../session/text/clip-line.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { describePromise } from '../../plan/report/promise.ts';
import { maxShownText, type CutFile } from '../../view/view.ts';
import type { ShownTurn } from '../../workflow/review/show-turn.ts';
import { colorDiff } from './color-diff.ts';
import { describeSpending } from '../../session/spending/describe-spending.ts';
import { renderOutcome } from './outcome.ts';
import { formatTime } from './time.ts';
import { renderVerdicts } from './verdict.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

interface Titled {
  title: string;
  text: string;
}

/** Ends with a newline. */
export function renderTurn(terminal: Terminal, shown: ShownTurn): string {
  const said = isTalk(shown) ? withPlan(shown) : toUsual(shown);
  const sections: [title: string, text: string][] = [
    ...said.map(({ title, text }): [string, string] => [
      toVisible(title),
      renderText(terminal, title, cutLong(text, shown)),
    ]),
    ...(shown.verdicts.length === 0
      ? []
      : [['Verdict', indent(renderVerdicts(terminal, shown.verdicts))] as [string, string]]),
    ...(shown.report === null ? [] : [['Outcome', indent(renderOutcome(terminal, shown.report))] as [string, string]]),
    ...(shown.diff === '' ? [] : [['Changes', colorDiff(terminal, shown.diff, 'stdout')] as [string, string]]),
    ...(shown.cut.length === 0 ? [] : [['Left out', indent(shown.cut.map(describeCut))] as [string, string]]),
  ];
  const parts = sections.map(([title, text]) => `${terminal.style('bold', title)}\n${text}`);
  return `${[renderHead(terminal, shown), ...parts].join('\n\n')}\n`;
}

function renderHead(terminal: Terminal, shown: ShownTurn): string {
  const title = `Turn ${shown.turn} of ${shown.session}: ${shown.undoneBy !== null ? 'undone' : shown.partlyUndoneBy !== null ? 'partly undone' : shown.status}`;
  const rows: [string, string | null][] = [
    ['line', shown.line],
    ['commits', shown.entries.map(({ commit, entry }) => `${commit.slice(0, 10)} ${entry?.kind}`).join(', ')],
    ['time', toPeriod(shown.entries.map(({ at: time }) => time))],
    ['model', describeModel(shown)],
    ['tokens', describeSpending(shown.spent)],
    ['promise', shown.promise && describePromise(shown.promise)],
    ['not shown', describeAsides(shown.asides, shown.session)],
    ['undone by', (shown.undoneBy ?? shown.partlyUndoneBy)?.slice(0, 10) ?? null],
  ];
  const known = rows.filter(([, text]) => text !== null && text !== '');
  return [
    terminal.style('bold', title),
    ...known.map(([name, text]) => terminal.style('dim', `  ${name.padEnd(9)} ${toVisible(text ?? '')}`)),
  ].join('\n');
}

/** Returns null when there are no asides. */
export function describeAsides({ thoughts, notes }: ShownTurn['asides'], session: string): string | null {
  const counts = [
    ...(thoughts === 0 ? [] : [thoughts === 1 ? '1 thought' : `${formatCount(thoughts)} thoughts`]),
    ...(notes === 0 ? [] : [notes === 1 ? '1 note' : `${formatCount(notes)} notes`]),
  ];
  return counts.length === 0 ? null : `${counts.join(' and ')} (\`teddy view ${session}\`)`;
}

/** Returns, for example, `gpt-5 (openai), agent pathfinder`. */
function describeModel({ model, provider, agent }: ShownTurn): string | null {
  if (model === null) return agent === null ? null : `agent ${agent}`;
  const by = provider === null || provider === model ? '' : ` (${provider})`;
  return `${model}${by}${agent === null ? '' : `, agent ${agent}`}`;
}

/** Returns, for example, `2026-01-24 10:05 to 10:07`. */
function toPeriod(times: readonly string[]): string {
  const [from = '', to = ''] = [times[0], times.at(-1)].map((time) => formatTime(time ?? ''));
  if (from === '') return '';
  if (from === to) return from;
  return `${from} to ${to.slice(0, 10) === from.slice(0, 10) ? to.slice(11) : to}`;
}

/**
 * Returns true if the messages' order matters, because the model called tools, somebody spoke, or the user asked about
 * the plan.
 */
function isTalk({ said }: ShownTurn): boolean {
  const planned = said.findIndex(({ file }) => file === 'plan.md');
  const isAsked = planned !== -1 && said.slice(planned).some(({ title }) => title.startsWith('Message'));
  return isAsked || said.some((part) => part.tool !== undefined || part.title.endsWith('(spoken)'));
}

/** Adds the plan that another agent submitted in a call, before everything that followed the messages. */
function withPlan({ said, plan }: ShownTurn): Titled[] {
  const titled = said.map(toTitled);
  if (plan === null || said.some(({ file }) => file === 'plan.md')) return titled;
  const at = said.findIndex(({ title }) => !title.startsWith('Message'));
  return titled.toSpliced(at === -1 ? titled.length : at, 0, { title: 'Plan', text: plan });
}

function toTitled({ title, tool, text }: ShownTurn['said'][number]): Titled {
  const named = title.replace('Reply', 'Answer');
  return { title: tool === undefined ? named : `${named} ${tool}`, text };
}

function toUsual({ messages, plan, reply, replyIsPartial }: ShownTurn): Titled[] {
  return [
    ...messages.map((text) => ({ title: 'Message', text })),
    ...(plan === null ? [] : [{ title: 'Plan', text: plan }]),
    ...(reply === null ? [] : [{ title: replyIsPartial ? 'Answer (interrupted)' : 'Answer', text: reply }]),
  ];
}

/** Cuts a long text, because making it visible takes time. `--json` contains the full text. */
function cutLong(text: string, { turn, line }: ShownTurn): string {
  if (text.length <= maxShownText) return text.trimEnd();
  const more = formatCount(countWhole(text) - maxShownText);
  const command = `teddy show ${turn} -s ${toShellWord(line)} --json`;
  return `${text.slice(0, maxShownText)}\n[${more} more characters are left out; \`${command}\` has them]`;
}

function renderText(terminal: Terminal, title: string, text: string): string {
  const lines = toVisible(text).split('\n');
  return indent(title === 'Plan' ? styleMarkdown(terminal, lines) : lines);
}

/** Styles headings, and dims fences to set them apart from the surrounding text. */
function styleMarkdown(terminal: Terminal, lines: readonly string[]): string[] {
  let fence: string | null = null;
  return lines.map((line) => {
    const marks = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === null && marks !== undefined) fence = marks;
    else if (fence !== null && line.trim() === marks && marks.startsWith(fence)) fence = null;
    else if (fence === null) return /^#{1,6} /.test(line) ? terminal.style(['bold', 'cyan'], line) : line;
    else return line;
    return terminal.style('dim', line);
  });
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`.trimEnd()).join('\n');
}

export function describeCut({ file, characters, command }: CutFile): string {
  return `${formatCount(characters)} characters of ${file}. All of it: \`${command}\``;
}
