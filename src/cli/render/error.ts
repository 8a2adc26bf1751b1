/** Renders an error in at most three lines: the message with its code, and the next step. */
import { TeddyError, toWorldError } from '../../errors.ts';
import { toJson, type Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

/** Renders the error and returns the exit code. Shows the stack of any error but a TeddyError: it is a bug to report. */
export function renderError(terminal: Terminal, cause: unknown, options: { json: boolean; debug: boolean }): number {
  const error = toWorldError(cause) ?? cause;
  if (!(error instanceof TeddyError)) return renderDefect(terminal, error, options.json);
  const { code, message, hint, exitCode } = error;
  if (options.json) {
    terminal.print(toJson({ schema: 'teddy.error/1', error: errorDocument(error) }));
    return exitCode;
  }
  const label = terminal.style(['red', 'bold'], 'error:', 'stderr');
  terminal.say(`${label} ${toOneLine(message)} ${terminal.style('dim', `[${code}]`, 'stderr')}`);
  if (hint !== undefined) terminal.say(`${terminal.style('cyan', 'hint:', 'stderr')}  ${toOneLine(hint)}`);
  if (options.debug) terminal.say(error.stack ?? '');
  return exitCode;
}

/** The document for an error with `--json`. */
export function errorDocument({ code, message, hint }: TeddyError) {
  return { code, message, hint: hint ?? null };
}

function toOneLine(text: string): string {
  return toVisible(text).replace(/\s*\n\s*/g, ' ');
}

function renderDefect(terminal: Terminal, error: unknown, json: boolean): number {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (json) terminal.print(toJson({ schema: 'teddy.error/1', error: { code: 'DEFECT', message: stack, hint: null } }));
  terminal.say(
    `${terminal.style(['red', 'bold'], 'error:', 'stderr')} This is a bug in teddy; your repository is as it was before this step.`,
  );
  terminal.say(toVisible(stack));
  terminal.say("Please report it to teddy's authors, with these lines and the command that you ran.");
  return 1;
}
