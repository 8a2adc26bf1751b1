/** The line that a conversation is on, and its pending message or plan. */
import type { ChosenModel } from '../../../../app.ts';
import { TeddyError } from '../../../../errors.ts';
import type { Project } from '../../../../ports/project.ts';
import { mainLineRef, shortRef, type RefName, type SessionId } from '../../../../names.ts';
import { findHeadLine } from '../../../../workflow/line/find.ts';
import { findNextStep } from '../../../../workflow/turn/find-next-step.ts';
import type { Chat } from './exchange.ts';
import type { ChatPrompt } from './prompt.ts';
import type { Terminal } from '../../../terminal.ts';
import { toVisible } from '../../../../session/text/visible-text.ts';

export interface ChatLine {
  readonly session: SessionId;
  readonly ref: RefName;
  /**
   * Returns the line's selector for a workflow; undefined while HEAD is on the line. Reads HEAD each time, because the
   * user may have switched it.
   */
  selector(): Promise<string | undefined>;
  /** Moves the conversation to this line. */
  moveTo(ref: RefName): void;
}

export interface Conversation extends Chat {
  prompt: ChatPrompt;
  /** Chooses another model and keeps the command's other options. */
  choose(model: string): Promise<ChosenModel>;
  selector: string | undefined;
  /** Shows long text to the user. */
  page(text: string): Promise<void>;
}

/** True when the session has a turn. */
export interface OpenConversation extends Conversation {
  line: ChatLine;
}

/** Throws UNKNOWN_SESSION or AMBIGUOUS_SESSION. */
export async function openChatLine(project: Project, selector: string | undefined): Promise<ChatLine> {
  const { line } = await findNextStep(project, selector);
  let { ref } = line;
  return {
    session: line.session,
    get ref() {
      return ref;
    },
    async selector() {
      const head = await findHeadLine(project);
      return head?.ref === ref ? undefined : shortRef(ref);
    },
    moveTo(moved) {
      ref = moved;
    },
  };
}

type LineContext = Pick<Chat, 'terminal' | 'project' | 'choice'> & { line: ChatLine };

export async function printStart(place: LineContext): Promise<void> {
  const { terminal, choice, line } = place;
  const branch = line.ref === mainLineRef(line.session) ? '' : ` (${shortRef(line.ref)})`;
  const model = choice.model === null ? '' : `, with ${toVisible(choice.model.label)}`;
  terminal.say(`Conversation in ${terminal.style('bold', line.session, 'stderr')}${branch}${model}.`);
  if (choice.missing !== null) printMissing(terminal, choice.missing);
  await printWaiting(place);
  terminal.say(terminal.style('dim', '/help lists the commands; Ctrl-D leaves.', 'stderr'));
}

function printMissing(terminal: Terminal, { message, hint }: TeddyError): void {
  const label = terminal.style('yellow', 'warning:', 'stderr');
  terminal.say(`${label} ${toVisible([message, hint ?? ''].join(' ').trim())}`);
}

/** Explains what happens to a plan that has just arrived. */
export function printPending(
  terminal: Terminal,
  { turn, isPending, problems }: { turn: string; isPending: boolean; problems: readonly unknown[] },
): void {
  if (!isPending) return;
  if (problems.length === 0) terminal.say(`Turn ${turn} has a pending plan: /execute runs it.`);
  else terminal.say('The plan is not valid: /execute runs nothing and records why. Then plan again.');
}

/** Reports what is pending on the line, if anything. */
export async function printWaiting({ terminal, project, line }: LineContext): Promise<void> {
  const step = await findNextStep(project, shortRef(line.ref));
  if (step.kind === 'execute') terminal.say(`Turn ${step.turn} has a pending plan: /execute runs it.`);
  if (step.kind === 'ask') terminal.say(`Turn ${step.turn} has a message without an answer: /retry asks again.`);
}
