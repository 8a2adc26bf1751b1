/** Tells a script that failed because it asked something: nobody can answer it here. */
import type { CommandResult } from '../ports/disk.ts';

const inputNote =
  'The command seems to wait for input. It has none here: use options such as --yes, or pipe the input in.';

/** `read` from anything else than the closed input is no question. */
const readCommand = /^(?:\w+=\S*\s+)*(?:builtin\s+|command\s+)?read\b[^<]*$/;
/** An unfinished last line, such as `Continue? [y/N] `. */
const question = /[?:\]>] ?$/;
// oxlint-disable-next-line no-control-regex
const styling = /\x1b\[[0-9;?]*[A-Za-z]/g;

/** Null for a script that succeeded or was interrupted, and for one that asked nothing. */
export function findInputNote({ exitCode, aborted, failedCommand, stdout, stderr }: CommandResult): string | null {
  if (exitCode === 0 || aborted) return null;
  const asks = readCommand.test(failedCommand ?? '') || isQuestion(stdout) || isQuestion(stderr);
  return asks ? inputNote : null;
}

function isQuestion(text: string): boolean {
  return question.test(text.slice(text.lastIndexOf('\n') + 1).replace(styling, ''));
}
