/** Asks for the next message. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { askText } from './line.ts';
import { composeText } from '../../app.ts';
import { toSurroundings, type CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** Returns null when the user enters no message. Throws INTERRUPTED on Ctrl-C. */
export async function askMessage(
  terminal: Terminal,
  project: Project,
  signal: AbortSignal,
  what: 'Message' | 'Question' = 'Message',
): Promise<string | null> {
  terminal.say('Say what you want. Enter alone stops here; e opens your editor.');
  const line = await askText(terminal, signal, terminal.style('bold', `${what}: `, 'stderr'));
  if (signal.aborted)
    throw new TeddyError(
      'INTERRUPTED',
      'You interrupted before you entered a message.',
      'To say it later: `teddy plan -m "..."`.',
    );
  const answer = line?.trim() ?? '';
  const message = answer === 'e' ? await editMessage(terminal.context, project) : answer;
  return message === '' ? null : message;
}

/** Opens the user's editor; returns an empty text if the user wants no message. */
export async function editMessage(context: CliContext, project: Project, initial = ''): Promise<string> {
  const hint = '\n# What do you want? Lines that begin with # are ignored; an empty message cancels.\n';
  const text = await composeText(project, toSurroundings(context), `${initial}${hint}`, 'MESSAGE.md');
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .trim();
}
