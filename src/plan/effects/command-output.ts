/**
 * A command's output in a report: the part that the report shows, how teddy stores the whole output, and a note about
 * facts that the output alone does not reveal.
 */
import type { CommandResult } from '../../ports/files.ts';
import { endLine } from '../../session/context/context-log-sections.ts';

/** The number of lines in a stream that a report shows unless the plan specifies another. */
export const shownLines = 100;

export function takeLast(text: string, count: number): string {
  const lines = text.split('\n');
  const kept = text.endsWith('\n') ? count + 1 : count;
  return lines.length <= kept ? text : lines.slice(-kept).join('\n');
}

export function renderOutput({ stdout, stderr }: Pick<CommandResult, 'stdout' | 'stderr'>): string {
  return `--- stdout\n${endLine(stdout)}--- stderr\n${endLine(stderr)}`;
}

export function takeFirst(text: string, count: number): string {
  const lines = text.split('\n');
  const kept = text.endsWith('\n') ? count + 1 : count;
  return lines.length <= kept ? text : `${lines.slice(0, count).join('\n')}\n`;
}

const inputNote =
  'The command seems to wait for input. It has none here: use options such as --yes, or pipe the input in.';

/** A `read` from anything other than the closed stdin is not a question. */
const readCommand = /^(?:\w+=\S*\s+)*(?:builtin\s+|command\s+)?read\b[^<]*$/;
/** An unfinished last line, such as `Continue? [y/N] `. */
const question = /[?:\]>] ?$/;
// oxlint-disable-next-line no-control-regex
const styling = /\x1b\[[0-9;?]*[A-Za-z]/g;

/** Returns null when there is nothing to note. */
export function noteResult(result: CommandResult): string | null {
  const { stillRunning = [] } = result;
  const left = `These processes that it started still run, and could not be ended: ${stillRunning.join(', ')}.`;
  const notes = [...(stillRunning.length === 0 ? [] : [left]), ...(asks(result) ? [inputNote] : [])];
  return notes.length === 0 ? null : notes.join(' ');
}

/** Returns true if the script seems to wait for input; false for a script that succeeded or was interrupted. */
function asks({ exitCode, aborted, failedCommand, stdout, stderr }: CommandResult): boolean {
  if (exitCode === 0 || aborted) return false;
  return readCommand.test(failedCommand ?? '') || isQuestion(stdout) || isQuestion(stderr);
}

function isQuestion(text: string): boolean {
  return question.test(text.slice(text.lastIndexOf('\n') + 1).replace(styling, ''));
}
