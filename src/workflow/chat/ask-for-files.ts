/** Has a model write files: one message of a conversation in which the model can do nothing else. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { findNewestWrites, findTarget, findWritesLine } from '../writes/find-target.ts';
import type { ChatListener, ChatOptions, ChatOutcome } from './chat.ts';
import { chatTurn } from './turn.ts';

/**
 * The turn is on the line that is selected, or that HEAD is on, else in the session named `writes`; then the files are in the work
 * tree all the same. `approvesAll`: so does the command that a hint names. Without a message it goes on with the one that waits. Throws as `chatTurn` and `findTarget`, and what keeps a
 * content from being written: it stays in staging then.
 */
export async function askForFiles(
  project: Project,
  options: Omit<ChatOptions, 'onlyWrites' | 'mode'> & { approvesAll?: boolean },
  listener: ChatListener,
): Promise<ChatOutcome> {
  const { message, approvesAll = false } = options;
  if (message?.trim() === '') throw nothingAskedError();
  const isOffLine = (await findTarget(project, options.selector)).line === null;
  if (isOffLine && message === undefined && (await findNewestWrites(project)) === null) throw nothingAskedError();
  const selector = isOffLine ? shortRef((await findWritesLine(project)).ref) : options.selector;
  const named = options.selector === undefined ? '' : ` --session ${toShellWord(options.selector)}`;
  const onlyWrites = { isOffLine, goesOn: `teddy write ask${approvesAll ? ' -y' : ''}${named}` };
  return chatTurn(project, { ...options, selector, onlyWrites }, listener).catch((error: unknown) => {
    throw error instanceof TeddyError && error.code === 'EMPTY_MESSAGE' ? nothingAskedError() : error;
  });
}

function nothingAskedError(): TeddyError {
  return new TeddyError(
    'EMPTY_MESSAGE',
    'Nothing says what is to be written.',
    'Say it: `teddy write ask -m "Write docs/guide.md: ..."`.',
  );
}
