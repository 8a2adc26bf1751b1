/** Asks for a plan and shows the answer, for `teddy plan`, `teddy branch` with a message, and `teddy resume`. */
import { TeddyError } from '../../../errors.ts';
import type { ChosenModel } from '../../../app.ts';
import type { Project } from '../../../ports/project.ts';
import { planInstead, type Replaced } from '../../../workflow/run/execute-or-replan.ts';
import type { Executed } from '../../../workflow/run/finish.ts';
import { planTurn, type Answer, type PlanOutcome, type PlanRequest } from '../../../workflow/turn/plan.ts';
import { toExecuteCommand, toLineOption } from '../../render/name-line.ts';
import { showCommitted, showPlanProblems, showRemarks, toEffort, viewAnswer } from '../../render/show-answer.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export interface PlanningOptions extends Omit<PlanRequest, 'choice' | 'onText' | 'onUsage' | 'onAsk'> {
  choice: ChosenModel;
  /** True to show the answer once it is complete, not as it arrives. */
  isQuiet: boolean;
  /** Null when the result is for the user. */
  printJson: ((schema: string, value: object) => void) | null;
  /** True when the message refuses the pending plan; there must be one. */
  isInstead?: boolean;
  signal: AbortSignal;
}

/**
 * Returns the answer, or null when the message is committed but no model was asked. Throws NO_MODEL, but only after the
 * message is committed.
 */
export async function planAndShow(
  terminal: Terminal,
  project: Project,
  options: PlanningOptions,
): Promise<Answer | null> {
  const { choice, isQuiet, printJson, isInstead = false, ...request } = options;
  const isShown = !isQuiet && !printJson && terminal.isOutputTty;
  const view = viewAnswer(terminal, {
    isStreamed: isShown,
    // The user has already provided the answer, so teddy does not ask a model.
    describeAsked: ({ line, turn, agent, label }) =>
      choice.provider === 'manual' ? null : `Turn ${turn} of ${line.session}: asking ${label} as ${agent} ...`,
  });
  try {
    const { replaced, outcome } = isInstead
      ? await planInstead(project, { ...request, ...view, choice, message: request.message ?? '' }, (refused) => {
          if (!printJson) printRefused(terminal, refused);
        })
      : { replaced: null, outcome: await planTurn(project, { ...request, ...view, choice }) };
    const elapsedMs = view.end();
    return showOutcome(terminal, project, outcome, options, { isShown, elapsedMs, replaced });
  } finally {
    view.end();
  }
}

function showOutcome(
  terminal: Terminal,
  project: Project,
  outcome: PlanOutcome,
  options: PlanningOptions,
  { isShown, elapsedMs, replaced }: { isShown: boolean; elapsedMs: number | null; replaced: Replaced | null },
): Answer | null {
  const { choice, printJson, mode = 'plan' } = options;
  if (outcome.kind === 'open') {
    showOpen(terminal, outcome, options, toLineOption(project, outcome.line));
    return null;
  }
  const { line, turn, commit, entry, text, problems, notes, secrets, actions, usage } = outcome;
  if (printJson) {
    printJson(mode, {
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
      ...(replaced === null ? {} : { replaced }),
    });
    return outcome;
  }
  if (!isShown) terminal.print(`${toVisible(text).replace(/\n$/, '')}\n`);
  showRemarks(terminal, outcome);
  showPlanProblems(terminal, problems);
  showCommitted(terminal, outcome, toEffort(choice, elapsedMs));
  if (replaced !== null) showDifference(terminal, replaced, outcome);
  return outcome;
}

function printRefused(terminal: Terminal, { line, report }: Executed): void {
  terminal.say(`Turn ${report.turn} of ${line.session}: refused; none of its actions ran.`);
}

const maxDifferences = 12;

/** Summarizes the differences in what the new plan does. */
function showDifference(terminal: Terminal, { turn: old, difference }: Replaced, { turn }: Answer): void {
  if (difference === null) return;
  const { removed, added, changed } = difference;
  const rows = [
    ...removed.map((row) => terminal.style('red', toVisible(`  - ${row}`), 'stderr')),
    ...added.map((row) => terminal.style('green', toVisible(`  + ${row}`), 'stderr')),
    ...changed.map((row) => toVisible(`  ~ ${row}`)),
  ];
  const more = rows.length <= maxDifferences ? [] : [`  and ${rows.length - maxDifferences} more`];
  if (rows.length === 0) return terminal.say(`It does the same as turn ${old}'s plan.`);
  const shown = [`It differs from turn ${old}'s plan:`, ...rows.slice(0, maxDifferences), ...more];
  terminal.say(shown.join('\n'));
  terminal.say(`See the whole difference: teddy diff ${old} ${turn} --only plan`);
}

function showOpen(
  terminal: Terminal,
  outcome: Extract<PlanOutcome, { kind: 'open' }>,
  { choice, printJson, mode }: PlanningOptions,
  option: string,
): void {
  const verb = mode ?? 'plan';
  const { line, turn, logPath } = outcome;
  if (choice.missing !== null) {
    if (!printJson) terminal.say(`Turn ${turn} of ${line.session}: your message is committed; no model was asked.`);
    const { code, message, hint } = choice.missing;
    throw new TeddyError(code, message, hint?.replace('teddy plan', `teddy ${verb}${option}`));
  }
  if (printJson) printJson(verb, { session: line.session, turn, entry: 'message', log: logPath });
  else {
    terminal.say(
      `Turn ${turn} of ${line.session}: your message is committed. Show the model the text of the file below,`,
    );
    terminal.say(`then add its answer: teddy ${verb}${option} --from <file>  (or --from - to paste it).`);
    terminal.print(`${logPath}\n`);
  }
}

export async function printNext(
  terminal: Terminal,
  project: Project,
  { line, turn, isPending, problems }: Answer,
): Promise<void> {
  const option = toLineOption(project, line);
  if (!isPending) return terminal.say(`Next: teddy plan${option} -m "..."`);
  terminal.say(`To ask about it: teddy ask${option} -m "..."`);
  if (problems.length === 0) {
    const { hasRemote, readApproval } = await import('../../../workflow/line/needed-approval.ts');
    const needed = await readApproval(project, { session: line.session, tip: line.state.tip }, turn);
    const isForOthers = needed.isNeeded && !needed.isOwnEnough && (await hasRemote(project));
    if (isForOthers) terminal.say('Somebody else has to approve it before it runs (teddy.approvals).');
    return terminal.say(`Next: ${isForOthers ? `teddy push${option}` : await toExecuteCommand(project, line)}`);
  }
  terminal.say('The plan is not valid. Executing it runs nothing and records why; then plan again.');
  if (line.workspace !== null) terminal.say(`To have it fixed: teddy execute${option} --replan 2`);
  terminal.say(`Next: teddy plan${option} --instead -m "..."`);
}
