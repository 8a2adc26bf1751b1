/** Asks for the next message. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { askLine } from './line.ts';
import { editMessage } from '../plan-options.ts';
import type { Terminal } from '../terminal.ts';

/** Null when the user says nothing. Throws INTERRUPTED on Ctrl-C. */
export async function askMessage(terminal: Terminal, project: Project, signal: AbortSignal): Promise<string | null> {
  terminal.say('Say what you want in one line. Enter alone stops here; e opens your editor.');
  const line = await askLine(terminal, signal, terminal.style('bold', 'Message: ', 'stderr'));
  if (signal.aborted)
    throw new TeddyError(
      'INTERRUPTED',
      'Interrupted before anything was said.',
      'To say it later: `teddy session plan -m "..."`.',
    );
  const answer = line?.trim() ?? '';
  const message = answer === 'e' ? await editMessage(terminal.context, project) : answer;
  return message === '' ? null : message;
}
