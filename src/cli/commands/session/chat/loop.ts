/** Runs a conversation at the terminal: prompts for a message and shows the answer, until the user leaves. */
import { exitCodes, TeddyError, toWorldError, type ErrorCode } from '../../../../errors.ts';
import { shortRef } from '../../../../names.ts';
import { listPaths } from '../../../../workflow/chat/files.ts';
import { findNextStep } from '../../../../workflow/turn/find-next-step.ts';
import { parseChatInput, renderChatHelp, type ChatCommandName, splitTurn, type ChatInput } from './commands.ts';
import {
  openChatLine,
  printPending,
  printStart,
  printWaiting,
  type Conversation,
  type OpenConversation,
} from './line.ts';
import { keepingTypedAhead, takeTypedAhead, withoutAnswers } from '../../../ask/typed-ahead.ts';
import { exchange, isPlanned, showExchanged } from './exchange.ts';
import { renderError } from '../../../render/error.ts';
import { isDebug, type CliContext } from '../../../context.ts';
import { type Terminal, withInterrupt } from '../../../teddy-command.ts';
import { toVisible } from '../../../../session/text/visible-text.ts';
import { askingForeign } from '../../../ask/choose-model.ts';
import { toExecutionOptions } from '../execution-options.ts';

/** Returns the exit code. Throws NO_MODEL, but only after the message is committed. */
export async function chatLoop(conversation: Conversation): Promise<number> {
  const { terminal, project, prompt, selector } = conversation;
  const talking = { ...conversation, line: await openChatLine(project, selector) };
  await printStart(talking);
  const ending = watchEnding(terminal.context);
  try {
    for (;;) {
      const typed = await withInterrupt(terminal, next, (signal) =>
        prompt.read(signal, () => listPaths(project, talking.line.ref)),
      );
      if (typed.kind === 'end') return 0;
      if (typed.kind === 'interrupt') return exitCodes.INTERRUPTED;
      if (typed.kind === 'message' && (await answer(talking, typed.text)) === 'leave') return 0;
      if (ending.isAsked()) return exitCodes.INTERRUPTED;
    }
  } finally {
    ending.stop();
  }
}

const next = 'teddy show';

/** Watches for SIGTERM and SIGHUP. After one of these signals has ended a step, teddy must not ask the user anything else. */
function watchEnding({ signals }: CliContext): { isAsked(): boolean; stop(): void } {
  const names = ['SIGTERM', 'SIGHUP'] as const;
  let isAsked = false;
  const ask = () => void (isAsked = true);
  for (const name of names) signals.on(name, ask);
  return {
    isAsked: () => isAsked,
    stop: () => names.forEach((name) => signals.off(name, ask)),
  };
}

async function answer(talking: OpenConversation, typed: string): Promise<'leave' | 'stay'> {
  const options = await respond(talking, typed);
  // Separates the next prompt from the output above it with an empty line.
  if (options === 'stay' && typed.trim() !== '') talking.terminal.say('');
  return options;
}

/** Shows an error and continues the conversation, unless teddy can no longer ask anybody. */
async function respond(talking: OpenConversation, typed: string): Promise<'leave' | 'stay'> {
  const { terminal } = talking;
  try {
    const input = parseChatInput(typed);
    return await withInterrupt(terminal, next, (signal) => perform(talking, input, signal));
  } catch (error) {
    const told = toWorldError(error);
    if (told === null || told.code === 'NO_MODEL') throw error;
    showFailure(terminal, told);
    return 'stay';
  }
}

async function perform(talking: OpenConversation, input: ChatInput, signal: AbortSignal): Promise<'leave' | 'stay'> {
  if (input.kind === 'message') await say(talking, input.text, signal);
  else if (input.kind === 'command') return run(talking, input, signal);
  return 'stay';
}

async function run(
  talking: OpenConversation,
  { name, rest }: Extract<ChatInput, { kind: 'command' }>,
  signal: AbortSignal,
): Promise<'leave' | 'stay'> {
  if (name === 'quit') return 'leave';
  if (name === 'help') talking.terminal.say(renderChatHelp());
  else if (name === 'retry') await retry(talking, signal);
  else {
    const message = await runChatCommand(talking, { name, rest }, signal);
    if (message !== null) await say(talking, message, signal);
  }
  return 'stay';
}

/** Repeats the request of the last message, for an answer or a plan. */
async function retry(talking: OpenConversation, signal: AbortSignal): Promise<void> {
  const step = await findNextStep(talking.project, shortRef(talking.line.ref));
  if (step.kind !== 'ask' || step.mode !== 'plan') return say(talking, undefined, signal);
  await runChatCommand(talking, { name: 'plan', rest: '' }, signal);
}

async function say(talking: OpenConversation, message: string | undefined, signal: AbortSignal): Promise<void> {
  const { terminal, line } = talking;
  const exchanged = await exchange(talking, { message, selector: await line.selector(), signal });
  showExchanged(talking, exchanged);
  if (exchanged.outcome.kind === 'denied') terminal.say('The call was denied; say what the model should do instead.');
  else if (isPlanned(exchanged.outcome)) printPending(terminal, exchanged.outcome);
  else await printWaiting(talking);
}

/** Suggests the conversation's own commands as the next step, in place of shell commands. */
const hints: Partial<Record<ErrorCode, string>> = {
  PLAN_PENDING: '/execute runs it. Your message was not sent; press the up arrow to recall it.',
  EMPTY_MESSAGE: 'Say what you want, or /plan what you want.',
  RUN_INTERRUPTED: '/execute asks you what to do about it.',
  NO_PENDING_PLAN: 'Say what you want, or /plan what you want.',
};

function showFailure(terminal: Terminal, error: TeddyError): void {
  const { code, message } = error;
  if (code === 'INTERRUPTED') return terminal.say('Stopped. Use /retry to ask again, or say something else.');
  const shown = new TeddyError(code, message, hints[code] ?? error.hint, { cause: error });
  renderError(terminal, shown, { json: false, debug: isDebug(terminal.context) });
  if (code.startsWith('MODEL_') || code === 'EMPTY_ANSWER') terminal.say('/retry asks again.');
}

/** The slash commands that correspond to a shell command. */
type ChatVerb = Exclude<ChatCommandName, 'quit' | 'help' | 'retry'>;

interface Command {
  name: ChatVerb;
  /** The text that the user typed after the command. */
  rest: string;
}

/** Returns a message to send now, or null if there is none. */
async function runChatCommand(
  talking: OpenConversation,
  command: Command,
  signal: AbortSignal,
): Promise<string | null> {
  const { name, rest } = command;
  if (name === 'branch') return branch(talking, rest);
  if (name === 'plan') await plan(talking, rest, signal);
  else if (name === 'execute') await execute(talking, signal);
  else if (name === 'undo') await undo(talking, rest);
  else if (name !== 'history') await (await import('./settings.ts')).runSetting(talking, name, rest);
  else await showHistory(talking);
  return null;
}

async function plan(talking: OpenConversation, message: string, signal: AbortSignal): Promise<void> {
  const { terminal, project, line, agent, choice, canAsk, isStreamed } = talking;
  const { planAndShow } = await import('../plan-and-show.ts');
  const answer = await planAndShow(terminal, project, {
    selector: await line.selector(),
    message: message === '' ? undefined : message,
    agent,
    choice,
    approveForeign: askingForeign(terminal, signal, { canAsk }),
    signal,
    isQuiet: !isStreamed,
    printJson: null,
  });
  if (answer !== null) printPending(terminal, answer);
}

async function execute(talking: OpenConversation, signal: AbortSignal): Promise<void> {
  const { terminal, project, line, page, approval, prompt } = talking;
  const { executeAndShow } = await import('../execute-and-show.ts');
  const options = toExecutionOptions({ selector: await line.selector(), yes: approval === 'all', printJson: null });
  const unread = (text: string) => prompt.unread(withoutAnswers(text));
  await executeAndShow(
    { terminal: keepingTypedAhead(terminal, unread), project, signal, page, isInChat: true },
    options,
  );
  unread(await takeTypedAhead(terminal.context));
  await printWaiting(talking);
}

async function branch({ terminal, project, line }: OpenConversation, rest: string): Promise<string | null> {
  const { turn, message } = splitTurn(rest);
  const [{ branchSession }, { showBranched }] = await Promise.all([
    import('../../../../workflow/turn/branch-session.ts'),
    import('../../../render/name-line.ts'),
  ]);
  const made = await branchSession(project, { turn, selector: await line.selector(), switch: true });
  line.moveTo(made.ref);
  showBranched(terminal, made);
  return message ?? null;
}

async function undo({ terminal, project, line }: OpenConversation, turn: string): Promise<void> {
  const [{ undoTurn }, { showUndone }] = await Promise.all([
    import('../../../../workflow/turn/undo.ts'),
    import('../../../render/effect.ts'),
  ]);
  const options = { turn: turn === '' ? undefined : turn, selector: await line.selector() };
  showUndone(terminal, await undoTurn(project, options), '');
}

async function showHistory({ terminal, project, line, page }: OpenConversation): Promise<void> {
  const { showHistory: read } = await import('../../../../workflow/conversation/show-history.ts');
  const { text } = await read(project, { target: await line.selector(), format: 'markdown' });
  if (text === '') terminal.say('There are no messages yet.');
  else await page(toVisible(text));
}
