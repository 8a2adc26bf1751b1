/** Shows the user how a write session ended: the written file, or the findings and what to do about them. */
import { TeddyError } from '../../errors.ts';
import { askLine } from './line.ts';
import { describeCorrection, showFindings, showWritten } from '../render/write.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { FinalizedAnswer } from '../../http/write-api.ts';
import type { RejectedAnswer } from '../../http/schemas.ts';

export interface Shown {
  terminal: Terminal;
  /** Null when the output is for the user, not a program. */
  printJson: ((value: object) => void) | null;
  /** The message that the user has already seen. */
  shownMessage?: string | undefined;
  /** The URL of the server that has the session. */
  server?: string | undefined;
}

/** Returns the exit code. Throws VALIDATION_FAILED after showing the findings to the user. */
export function showFinalized(shown: Shown, finalized: FinalizedAnswer): number {
  const { terminal, printJson, shownMessage, server } = shown;
  if (printJson !== null) {
    printJson(finalized);
    return finalized.success ? 0 : 1;
  }
  if (finalized.success) {
    showWritten(terminal, finalized);
    return 0;
  }
  if (finalized.message !== shownMessage) showFindings(terminal, finalized);
  const why = finalized.reason === null ? '' : ` (${finalized.reason})`;
  const details = finalized.error.replace(/^Validation failed: /, '').replace(/\.$/, '');
  throw new TeddyError(
    'VALIDATION_FAILED',
    `Content validation failed: ${details}${why}. Please fix and try again.`,
    describeCorrection(finalized, server),
  );
}

/** Returns true if only the user's yes is missing. */
export function isShrinkAlone({ findings }: Pick<RejectedAnswer, 'findings'>): boolean {
  return findings.length > 0 && findings.every(({ check }) => check === 'shrink');
}

/** Throws INTERRUPTED on Ctrl-C. */
export async function askShrink(terminal: Terminal, signal: AbortSignal, rejected: RejectedAnswer): Promise<boolean> {
  for (const { message } of rejected.findings) terminal.say(toVisible(message));
  const question = 'The new content is less than half as long as the old. Write it anyway? [y/N] ';
  return await askYes(terminal, signal, question, false);
}

/**
 * Asks until the user answers; ignores other typed or pasted text. Enter alone means `usual`, and the end of the input
 * means no. Throws INTERRUPTED on Ctrl-C.
 */
export async function askYes(
  terminal: Terminal,
  signal: AbortSignal,
  question: string,
  usual: boolean,
  hint = listHint,
): Promise<boolean> {
  for (;;) {
    const answer = (await askOrStop(terminal, signal, question, hint))?.toLowerCase();
    if (answer === undefined || answer === 'n' || answer === 'no') return false;
    if (answer === 'y' || answer === 'yes') return true;
    if (answer === '') return usual;
    terminal.say('Answer y or n.');
  }
}

/**
 * Asks whether to recover an interrupted write session now; returns null when the input ends without an answer. Throws
 * INTERRUPTED on Ctrl-C and for `q`.
 */
export async function askRecover(terminal: Terminal, signal: AbortSignal): Promise<boolean | null> {
  for (;;) {
    const answer = (await askOrStop(terminal, signal, 'Recover previous write session? [Y,n,q,?] '))?.toLowerCase();
    if (answer === undefined) return null;
    if (answer === 'n' || answer === 'no') return false;
    if (answer === '' || answer === 'y' || answer === 'yes') return true;
    if (answer === 'q' || answer === 'quit')
      throw new TeddyError('INTERRUPTED', 'You stopped before anything was done.', listHint);
    terminal.say('y  continue it now (Enter)\nn  leave it, and continue\nq  leave it, and stop here\n?  this help');
  }
}

const listHint = '`teddy write list` lists the write sessions.';

/** The hint after a question that is not about a write session. */
export const askAgainHint = 'Run the command again: it asks once more.';

/** Returns the trimmed answer, or null when the input has ended. Throws INTERRUPTED, with the hint, on Ctrl-C. */
export async function askOrStop(
  terminal: Terminal,
  signal: AbortSignal,
  question: string,
  hint = listHint,
): Promise<string | null> {
  const answer = await askLine(terminal, signal, terminal.style('bold', question, 'stderr'));
  if (!signal.aborted) return answer?.trim() ?? null;
  throw new TeddyError('INTERRUPTED', 'You interrupted the question before it was answered.', hint);
}
