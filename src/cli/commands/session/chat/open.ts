/** Opens a conversation for `teddy chat`, and for `teddy resume` when a message still needs an answer. */
import type { ChosenModel } from '../../../../app.ts';
import type { Project } from '../../../../ports/project.ts';
import type { Chat } from './exchange.ts';
import type { Terminal } from '../../../terminal.ts';

export interface ChatFlags {
  agent: string | undefined;
  choice: ChosenModel;
  /** True to approve every call. */
  yes: boolean;
  json: boolean;
  noStream: boolean;
  /** True when teddy may read answers to its questions from stdin. */
  mayAsk: boolean;
}

export async function openChat(terminal: Terminal, project: Project, flags: ChatFlags): Promise<Chat> {
  const { agent, choice, yes, json, noStream, mayAsk } = flags;
  const { chatTurn } = await import('../../../../workflow/chat/turn.ts');
  const canAsk = mayAsk && terminal.isInteractive && !json;
  return {
    terminal,
    project,
    agent,
    choice,
    approval: yes ? 'all' : canAsk ? 'ask' : 'none',
    canAsk,
    isStreamed: terminal.isOutputTty && !noStream && !json,
    isQuiet: json,
    chatTurn,
  };
}
