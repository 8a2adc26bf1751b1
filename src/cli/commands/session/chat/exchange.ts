/** Sends one message of a conversation, and shows the answer as it arrives. */
import type { ChosenModel } from '../../../../app.ts';
import type { Project } from '../../../../ports/project.ts';
import type { ChatListener, ChatOutcome, ChatOptions } from '../../../../workflow/chat/chat.ts';
import { askingForeign } from '../../../ask/choose-model.ts';
import { viewChat, type CalledTool, type ChatViewOptions } from './view.ts';
import { toLineOption } from '../../../render/name-line.ts';
import { describeEffort } from '../../../render/progress.ts';
import { showPlanProblems, showRemarks, toEffort, type Effort } from '../../../render/show-answer.ts';
import type { Terminal } from '../../../terminal.ts';
import { toVisible } from '../../../../session/text/visible-text.ts';

export interface Chat extends Pick<ChatViewOptions, 'approval' | 'isStreamed' | 'isQuiet'> {
  terminal: Terminal;
  project: Project;
  choice: ChosenModel;
  agent: string | undefined;
  /** True when somebody is at the terminal, even if `approval` asks no questions. */
  canAsk: boolean;
  chatTurn(project: Project, options: ChatOptions, listener: ChatListener): Promise<ChatOutcome>;
}

export interface Asking {
  /** Undefined to send the unanswered message again. */
  message: string | undefined;
  selector: string | undefined;
  signal: AbortSignal;
}

export interface Exchanged {
  outcome: ChatOutcome;
  calls: CalledTool[];
  effort: Effort;
}

/** Throws the errors of `chatTurn`. */
export async function exchange(chat: Chat, asking: Asking): Promise<Exchanged> {
  const { terminal, project, choice, agent, canAsk, chatTurn } = chat;
  const { signal } = asking;
  const view = viewChat(terminal, { ...chat, signal });
  const approveForeign = askingForeign(terminal, signal, { canAsk });
  try {
    const outcome = await chatTurn(project, { ...asking, agent, choice, approveForeign }, view.listener);
    const elapsedMs = view.end();
    return { outcome, calls: view.calls, effort: toEffort(choice, elapsedMs) };
  } finally {
    view.end();
  }
}

/**
 * Prints the answer on stdout, unless it was streamed there, and everything else on stderr. Throws NO_MODEL when there
 * was no model to ask.
 */
export function showExchanged(chat: Chat, { outcome, calls, effort }: Exchanged): void {
  if (outcome.kind === 'open') return showOpen(chat, outcome);
  const { terminal, isStreamed } = chat;
  const { turn, commit, usage } = outcome;
  if (outcome.kind === 'answered') {
    if (!isStreamed) terminal.print(`${toVisible(outcome.text).replace(/\n$/, '')}\n`);
    showRemarks(terminal, outcome);
    showPlanProblems(terminal, outcome.problems);
  }
  const took = describeEffort(usage, effort.elapsedMs, { isOnlyModel: calls.length === 0, model: effort.model });
  const end = outcome.kind === 'denied' ? 'ended with a denied call,' : describeEntry(outcome);
  const text = `Turn ${turn} ${end} committed as ${commit.slice(0, 10)}${took === '' ? '' : `; ${took}`}.`;
  terminal.say(terminal.style('dim', text, 'stderr'));
}

function describeEntry({ entry, actions, problems }: Extract<ChatOutcome, { kind: 'answered' }>): string {
  if (entry === 'reply') return 'is answered,';
  if (problems.length > 0) return 'is an invalid plan,';
  return actions === 0
    ? 'is a plan without actions,'
    : `is a plan with ${actions} ${actions === 1 ? 'action' : 'actions'},`;
}

function showOpen({ terminal, project, choice }: Chat, outcome: Extract<ChatOutcome, { kind: 'open' }>): void {
  const { turn, line, logPath } = outcome;
  const committed = `Turn ${turn} of ${line.session}: your message is committed`;
  if (choice.missing !== null) {
    terminal.say(`${committed}; no model was asked.`);
    throw choice.missing;
  }
  terminal.say(`${committed}. Show the model the text of ${logPath},`);
  terminal.say(`then add its answer: teddy plan${toLineOption(project, line)} --from <file>`);
}

/** Returns true if the answer is a plan that still waits for execution. */
export function isPlanned(outcome: ChatOutcome): outcome is Extract<ChatOutcome, { kind: 'answered' }> {
  return outcome.kind === 'answered' && outcome.isPending;
}
