/** The commands of a conversation that do what a command of the shell does as well. */
import { splitTurn, type ChatCommandName } from './commands.ts';
import { sayWaiting, type Talking } from './line.ts';
import { askingForeign } from '../../../ask/choose-model.ts';
import type { ExecutionWish } from '../execution-wish.ts';
import { toVisible } from '../../../terminal.ts';

type ChatVerb = Exclude<ChatCommandName, 'quit' | 'help' | 'retry'>;

interface Command {
  name: ChatVerb;
  /** What was typed after it. */
  rest: string;
}

/** Returns a message that is to be said now, or null. */
export async function runChatCommand(talking: Talking, command: Command, signal: AbortSignal): Promise<string | null> {
  const { name, rest } = command;
  if (name === 'branch') return branch(talking, rest);
  if (name === 'plan') await plan(talking, rest, signal);
  else if (name === 'execute') await execute(talking, signal);
  else if (name === 'undo') await undo(talking, rest);
  else await showHistory(talking);
  return null;
}

async function plan(talking: Talking, message: string, signal: AbortSignal): Promise<void> {
  const { terminal, project, line, agent, choice, canAsk, isStreamed } = talking;
  const { planAndShow } = await import('../plan-and-show.ts');
  await planAndShow(terminal, project, {
    selector: await line.selector(),
    message: message === '' ? undefined : message,
    agent,
    choice,
    approveForeign: askingForeign(terminal, signal, { canAsk }),
    signal,
    isQuiet: !isStreamed,
    printJson: null,
    isInChat: true,
  });
  await sayWaiting(talking);
}

async function execute(talking: Talking, signal: AbortSignal): Promise<void> {
  const { terminal, project, line, page, approval } = talking;
  const { executeAndShow } = await import('../execute-and-show.ts');
  const wish: ExecutionWish = {
    selector: await line.selector(),
    yes: approval === 'all',
    selection: { only: undefined, skip: undefined },
    reject: undefined,
    memos: undefined,
    replans: undefined,
    rollback: false,
    interrupted: undefined,
    printJson: null,
  };
  await executeAndShow({ terminal, project, signal, page, isInChat: true }, wish);
  await sayWaiting(talking);
}

async function branch({ terminal, project, line }: Talking, rest: string): Promise<string | null> {
  const { turn, message } = splitTurn(rest);
  const [{ branchSession }, { showBranched }] = await Promise.all([
    import('../../../../workflow/turn/branch-session.ts'),
    import('../../../render/branched.ts'),
  ]);
  const made = await branchSession(project, { turn, selector: await line.selector(), switch: true });
  line.moveTo(made.ref);
  showBranched(terminal, made);
  return message ?? null;
}

async function undo({ terminal, project, line }: Talking, turn: string): Promise<void> {
  const [{ undoTurn }, { showUndone }] = await Promise.all([
    import('../../../../workflow/turn/undo.ts'),
    import('../../../render/undone.ts'),
  ]);
  const wish = { turn: turn === '' ? undefined : turn, selector: await line.selector() };
  showUndone(terminal, await undoTurn(project, wish));
}

async function showHistory({ terminal, project, line, page }: Talking): Promise<void> {
  const { showHistory: read } = await import('../../../../workflow/conversation/show-history.ts');
  const { text } = await read(project, { target: await line.selector(), format: 'markdown' });
  if (text === '') terminal.say('Nothing was said yet.');
  else await page(toVisible(text));
}
