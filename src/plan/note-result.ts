/** Tells what a result does not say by itself: that the script asked something, which nobody can answer here, and what goes on. */
import type { CommandResult } from '../ports/disk.ts';

const inputNote =
  'The command seems to wait for input. It has none here: use options such as --yes, or pipe the input in.';

/** `read` from anything else than the closed input is no question. */
const readCommand = /^(?:\w+=\S*\s+)*(?:builtin\s+|command\s+)?read\b[^<]*$/;
/** An unfinished last line, such as `Continue? [y/N] `. */
const question = /[?:\]>] ?$/;
// oxlint-disable-next-line no-control-regex
const styling = /\x1b\[[0-9;?]*[A-Za-z]/g;

/** Returns null where there is nothing to tell. */
export function noteResult(result: CommandResult): string | null {
  const { stillRunning = [] } = result;
  const left = `These processes that it started still run, and could not be ended: ${stillRunning.join(', ')}.`;
  const notes = [...(stillRunning.length === 0 ? [] : [left]), ...(asks(result) ? [inputNote] : [])];
  return notes.length === 0 ? null : notes.join(' ');
}

/** False for a script that succeeded or was interrupted. */
function asks({ exitCode, aborted, failedCommand, stdout, stderr }: CommandResult): boolean {
  if (exitCode === 0 || aborted) return false;
  return readCommand.test(failedCommand ?? '') || isQuestion(stdout) || isQuestion(stderr);
}

function isQuestion(text: string): boolean {
  return question.test(text.slice(text.lastIndexOf('\n') + 1).replace(styling, ''));
}
