/** Shows a plan, then runs it, asks for another one, or leaves it pending, all in the same process. */
import { exitCodes } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { toSelector } from '../../../workflow/line/find.ts';
import type { Answer } from '../../../workflow/turn/plan.ts';
import { askLine } from '../../ask/line.ts';
import { askMessage } from '../../ask/message.ts';
import { keepingTypedAhead } from '../../ask/typed-ahead.ts';
import type { Terminal } from '../../terminal.ts';
import { toExecutionOptions } from './execution-options.ts';
import { planAndShow, printNext, type PlanningOptions } from './plan-and-show.ts';

export interface AfterPlan {
  /** `ask` asks the user after each plan that can run. */
  run: 'ask' | 'now' | 'never';
  /** True to approve every action, as `execute -y` does. */
  yes: boolean;
  page(text: string): Promise<void>;
}

/**
 * Returns the exit code; if the plan runs, this is the exit code of `execute`. Throws NO_MODEL, but only after the
 * message is committed.
 */
export async function planAndRun(
  given: Terminal,
  project: Project,
  options: PlanningOptions,
  going: AfterPlan,
): Promise<number> {
  // A key pressed before the question appeared decides nothing.
  const terminal = keepingTypedAhead(given, () => undefined);
  const { printJson, signal } = options;
  let asked = options;
  for (;;) {
    let planned: object | null = null;
    const keepJson =
      going.run === 'now' && printJson ? (_: string, value: object) => void (planned = value) : printJson;
    const answer = await planAndShow(terminal, project, { ...asked, printJson: keepJson });
    const runs = answer !== null && answer.isPending && going.run === 'now';
    if (runs && printJson) return runForJson(terminal, project, answer, { going, signal, printJson, planned });
    if (planned !== null) printJson?.('plan', planned);
    if (answer === null || printJson !== null) return 0;
    if (runs) return runPlan(terminal, project, answer, { ...going, signal, printJson: null });
    // A plan runs only in the work tree that has its files. On another line, teddy only suggests the next step.
    const isHere = toSelector(project, answer.line) === undefined;
    const isAsked = going.run === 'ask' && answer.isPending && answer.problems.length === 0 && isHere;
    const next = isAsked ? await askNext(terminal, project, answer, options) : { kind: 'keep' as const };
    if (next.kind === 'run') return runPlan(terminal, project, answer, { ...going, signal, printJson: null });
    if (next.kind === 'keep') {
      await printNext(terminal, project, answer);
      if (signal.aborted) return exitCodes.INTERRUPTED;
      return 0;
    }
    const { message } = next;
    const mode = next.kind === 'ask' ? next.kind : undefined;
    asked = { ...options, selector: toSelector(project, answer.line), message, mode, isInstead: mode === undefined };
  }
}

type Next = { kind: 'run' } | { kind: 'keep' } | { kind: 'ask' | 'instead'; message: string };

/** Asks what to do with the plan. The end of input and Ctrl-C leave the plan pending. */
async function askNext(
  terminal: Terminal,
  project: Project,
  { turn }: Answer,
  { choice, signal }: PlanningOptions,
): Promise<Next> {
  // A user who writes answers by hand adds the next one with a command.
  const canAskAgain = choice.provider !== 'manual';
  for (;;) {
    const question = canAskAgain ? '[a]sk about it, [r]un it, [i]nstead, [k]eep? ' : '[r]un it, [k]eep? ';
    const answer = await askLine(terminal, signal, terminal.style('bold', question, 'stderr'));
    const word = answer?.trim().toLowerCase() ?? 'k';
    if (word === 'r' || word === 'run') return { kind: 'run' };
    if (word === 'k' || word === 'keep' || word === 'q') return { kind: 'keep' };
    const kind = ({ a: 'ask', ask: 'ask', i: 'instead', instead: 'instead' } as const)[word];
    if (canAskAgain && kind !== undefined) {
      const message = await askMessage(terminal, project, signal, kind === 'ask' ? 'Question' : 'Message');
      if (message !== null) return { kind, message };
      continue;
    }
    if (canAskAgain) terminal.say('a  ask about it: the model answers in words, and the plan stays pending');
    terminal.say(`r  run it: teddy asks you about each action of turn ${turn}`);
    if (canAskAgain) terminal.say('i  refuse it, and say what to do instead: teddy asks the model again');
    terminal.say('k  keep it: it stays pending');
  }
}

/**
 * When another message arrives, asks what to do with a plan that has not run. Returns null when the plan stays pending
 * and no message is sent.
 */
export async function askPending(
  terminal: Terminal,
  signal: AbortSignal,
  turn: string,
): Promise<'ask' | 'run' | 'instead' | null> {
  const asking = keepingTypedAhead(terminal, () => undefined);
  asking.say(`Turn ${turn} has a plan that has not been run.`);
  for (;;) {
    const question = '[a]sk that about it, [r]un it, plan [i]nstead, [k]eep and stop? ';
    const word = (await askLine(asking, signal, asking.style('bold', question, 'stderr')))?.trim().toLowerCase() ?? 'k';
    if (word === 'a' || word === 'ask') return 'ask';
    if (word === 'r' || word === 'run') return 'run';
    if (word === 'i' || word === 'instead') return 'instead';
    if (word === 'k' || word === 'keep' || word === 'q') return null;
    asking.say('a  ask the model your message about it; the plan stays pending');
    asking.say('r  run it: teddy asks you about each of its actions, and then sends your message');
    asking.say('i  refuse it with your message, and ask the model for another plan');
    asking.say('k  keep it, and stop without sending your message');
  }
}

interface RunOptions extends Omit<AfterPlan, 'run'> {
  signal: AbortSignal;
  printJson: PlanningOptions['printJson'];
}

export async function runPlan(
  terminal: Terminal,
  project: Project,
  { line }: { line: Pick<Answer['line'], 'ref' | 'workspace'> },
  { yes, page, signal, printJson }: RunOptions,
): Promise<number> {
  const { executeAndShow } = await import('./execute-and-show.ts');
  const options = toExecutionOptions({ selector: toSelector(project, line), yes, printJson });
  return executeAndShow({ terminal, project, signal, page, namesNext: true }, options);
}

/** Prints one document: the plan, including its execution. */
async function runForJson(
  terminal: Terminal,
  project: Project,
  answer: Answer,
  {
    going,
    signal,
    printJson,
    planned,
  }: {
    going: AfterPlan;
    signal: AbortSignal;
    printJson: NonNullable<PlanningOptions['printJson']>;
    planned: object | null;
  },
): Promise<number> {
  const print = (_: string, execution: object) => printJson('plan', { ...planned, execution });
  return runPlan(terminal, project, answer, { ...going, signal, printJson: print });
}
