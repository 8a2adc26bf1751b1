/** Renders a history as Markdown for the user. No quoted words can be mistaken for a heading that names the speaker. */
import { renderFenced } from '../../session/text/fenced-text.ts';
import type { AssistantBlock, History, HistoryCall, HistoryResult, HistoryStep, HistoryTurn } from './history.ts';
import { markInterrupted, toOutputText } from './provider-parts.ts';
import { toWellFormed } from '../records/well-formed.ts';

/** Quotes the words, and fences the inputs and results of tools. Returns an empty string for an empty history. */
export function renderMarkdown(history: History): string {
  return history.turns.flatMap(renderTurn).join('\n');
}

function renderTurn({ said, steps }: HistoryTurn): string[] {
  const user = said.map(({ text }) => renderQuoted(text));
  const assistant = steps.flatMap(renderStep);
  return [
    ...(user.length === 0 ? [] : [renderHeading('User', said[0]?.timestamp), ...user]),
    ...(assistant.length === 0 ? [] : [renderHeading('Assistant', firstTime(steps)), ...assistant]),
  ];
}

function renderStep({ texts, calls }: HistoryStep): string[] {
  return [...texts.map((block: AssistantBlock) => renderQuoted(markInterrupted(block))), ...calls.flatMap(renderCall)];
}

function renderCall({ name, input, result }: HistoryCall): string[] {
  return [
    `### Call of ${toShownName(name)}\n`,
    renderFenced(`${JSON.stringify(input, null, 2)}\n`, 'json'),
    `### ${toResultTitle(result)}\n`,
    renderFenced(endLine(toOutputText(result)), 'text'),
  ];
}

/** Adds a missing final newline, so that the fence does not note its absence: readers of an output do not care. */
function endLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

function toResultTitle({ isError, isSynthetic, reason }: HistoryResult): string {
  if (isSynthetic) return 'No result';
  if (reason !== undefined) return `Error (${reason})`;
  return isError ? 'Error' : 'Result';
}

/** Quotes each line separately, with all the line ends that Markdown recognizes. */
function renderQuoted(text: string): string {
  const lines = toWellFormed(text).split(/\r\n|\r|\n/);
  return lines.map((line) => (line === '' ? '>\n' : `> ${line}\n`)).join('');
}

function renderHeading(who: string, timestamp = ''): string {
  const time = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(timestamp);
  return time ? `## ${who}, ${time[1]} ${time[2]} UTC\n` : `## ${who}\n`;
}

function firstTime([step]: HistoryStep[]): string | undefined {
  return (step?.texts[0] ?? step?.calls[0])?.timestamp;
}

/** A tool's name may contain anything, but the heading must stay teddy's. */
function toShownName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_.:/-]/gu, '_') || 'an unnamed tool';
}
