/** Asks for a plan and shows the answer: for `session plan`, `session branch` with a message, and `session resume`. */
import type { ChosenModel } from '../../../app.ts';
import type { Project } from '../../../ports/project.ts';
import { planTurn, type Answer, type PlanOutcome, type PlanRequest } from '../../../workflow/turn/plan.ts';
import { toExecuteCommand, toLineOption } from '../../render/name-line.ts';
import { showCommitted, showPlanProblems, showRemarks, viewAnswer } from '../../render/show-answer.ts';
import { toVisible, type Terminal } from '../../terminal.ts';

export interface PlanningOptions extends Omit<PlanRequest, 'choice' | 'onText' | 'onUsage' | 'onAsk'> {
  choice: ChosenModel;
  /** Whether the answer is shown when it is complete, not as it arrives. */
  isQuiet: boolean;
  /** Null when the result is for a person. */
  printJson: ((schema: string, value: object) => void) | null;
  /** Whether the caller says what comes next. */
  isInChat?: boolean;
}

/** Throws NO_MODEL after the message is safe. */
export async function planAndShow(terminal: Terminal, project: Project, options: PlanningOptions): Promise<number> {
  const { choice, isQuiet, printJson, isInChat: _isInChat, ...request } = options;
  const isShown = !isQuiet && !printJson && terminal.isOutputTty;
  const view = viewAnswer(terminal, {
    isStreamed: isShown,
    // An answer by hand is here already, so no model is asked.
    describeAsked: ({ line, turn, agent, label }) =>
      choice.provider === 'manual' ? null : `Turn ${turn} of ${line.session}: asking ${label} as ${agent} ...`,
  });
  try {
    const outcome = await planTurn(project, { ...request, ...view, choice });
    const elapsedMs = view.end();
    return showOutcome(terminal, project, outcome, options, {
      isShown,
      elapsedMs,
      option: toLineOption(project, outcome.line),
    });
  } finally {
    view.end();
  }
}

function showOutcome(
  terminal: Terminal,
  project: Project,
  outcome: PlanOutcome,
  options: PlanningOptions,
  { isShown, elapsedMs, option }: { isShown: boolean; elapsedMs: number | null; option: string },
): number {
  const { choice, printJson } = options;
  if (outcome.kind === 'open') return showOpen(terminal, outcome, options, option);
  const { line, turn, commit, entry, text, problems, notes, secrets, actions, usage } = outcome;
  if (printJson) {
    printJson('plan', {
      session: line.session,
      line: line.ref.replace('refs/heads/', ''),
      turn,
      entry,
      commit,
      text,
      actions,
      problems,
      notes,
      secrets,
      usage,
    });
    return 0;
  }
  if (!isShown) terminal.print(`${toVisible(text).replace(/\n$/, '')}\n`);
  showRemarks(terminal, outcome);
  showPlanProblems(terminal, problems);
  // The time that a recorded answer takes means nothing.
  showCommitted(terminal, outcome, choice.provider === 'openai' ? elapsedMs : null);
  if (!options.isInChat) sayNext(terminal, project, outcome, option);
  return 0;
}

function showOpen(
  terminal: Terminal,
  outcome: Extract<PlanOutcome, { kind: 'open' }>,
  { choice, printJson }: PlanningOptions,
  option: string,
): number {
  const { line, turn, logPath } = outcome;
  if (choice.missing !== null) {
    if (!printJson) terminal.say(`Turn ${turn} of ${line.session}: your message is committed; no model was asked.`);
    throw choice.missing;
  }
  if (printJson) printJson('plan', { session: line.session, turn, entry: 'message', log: logPath });
  else {
    terminal.say(
      `Turn ${turn} of ${line.session}: your message is committed. Show the model the text of the file below,`,
    );
    terminal.say(`then bring its answer: teddy session plan${option} --from <file>  (or --from - to paste it).`);
    terminal.print(`${logPath}\n`);
  }
  return 0;
}

function sayNext(terminal: Terminal, project: Project, { line, isPending, problems }: Answer, option: string): void {
  if (!isPending) return terminal.say(`Next: teddy session plan${option} -m "..."`);
  if (problems.length > 0)
    terminal.say('The plan is not valid. Executing it runs nothing and records why; then plan again.');
  terminal.say(`Next: ${toExecuteCommand(project, line)}`);
}
