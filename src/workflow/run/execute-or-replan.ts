/** Executes the pending plan; if it is not valid, asks for another plan and executes that one, up to a limit. */
import { TeddyError } from '../../errors.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, TurnName } from '../../names.ts';
import { executePlan, type ExecuteRequest } from './execute-plan.ts';
import type { Executed } from './finish.ts';
import type { Answer, PlanOutcome, PlanRequest } from '../turn/plan.ts';
import { findLine, toSelector } from '../line/find.ts';
import { readTurnFile } from '../../view/view.ts';
import { renderFenced } from '../../session/text/fenced-text.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { Action, Plan } from '../../plan/plan.ts';
import { describeAction } from '../../plan/actions/actions.ts';

export interface Replanning extends Pick<PlanRequest, 'approveForeign'> {
  /** The maximum number of other plans to request. */
  maxTries: number;
  /** Called once, when the first plan is not valid. If it returns no model, teddy requests no other plan. */
  chooseModel(): Promise<PlanRequest['choice']>;
  /** Returns the listener for an attempt's answer; attempts count from 1. */
  listen(attempt: number): Pick<PlanRequest, 'onText' | 'onUsage' | 'onAsk'>;
  /** Called once an answer is on its line. */
  onAnswered?(answer: Answer): void;
  /** Called once a report has closed a turn. */
  onExecuted?(executed: Executed): void;
}

/** Why teddy did not execute another plan although the last plan was not valid. */
export type ReplanStop =
  | { reason: 'limit'; maxTries: number }
  | { reason: 'same_problems' }
  | { reason: 'budget_spent'; error: TeddyError }
  | { reason: 'no_plan'; turn: TurnName };

export interface ExecutedOrReplanned {
  /** The last execution, which decides the outcome. */
  executed: Executed;
  /** The earlier executions, oldest first; none of their plans was valid. */
  tries: Executed[];
  /** Null unless the last plan is not valid and teddy could have requested other plans. */
  stopped: ReplanStop | null;
}

/**
 * Executes and replans. Each attempt is a separate turn of the same agent, with its own report. Throws the errors of
 * `executePlan` and `planTurn`, except for an exhausted budget, which ends the attempts just as their limit does;
 * earlier reports stay.
 */
export async function executeOrReplan(
  project: Project,
  request: ExecuteRequest,
  replanning: Replanning,
): Promise<ExecutedOrReplanned> {
  const tries: Executed[] = [];
  let executed = await execute(project, request, replanning);
  if (replanning.maxTries === 0 || !isInvalid(executed)) return { executed, tries, stopped: null };
  const choice = await replanning.chooseModel();
  if (choice.model === null) return { executed, tries, stopped: null };
  const again = { ...request, selector: toSelector(project, executed.line) };
  while (isInvalid(executed)) {
    const stopped =
      findStop(tries, executed, replanning) ??
      (await requestNewPlan(project, again, { ...replanning, choice }, executed, tries.length + 1));
    if (stopped) return { executed, tries, stopped };
    tries.push(executed);
    executed = await execute(project, again, replanning);
  }
  return { executed, tries, stopped: null };
}

/** A plan refused in favor of another one. */
export interface Replaced {
  turn: TurnName;
  /** Its report's commit. */
  commit: Oid;
  /** The actions that differ in the new plan; null when the answer is not a plan. */
  difference: PlanDifference | null;
}

/**
 * Closes the pending plan without running any of it, with the message as the reason, and asks for another plan. The
 * model sees its plan and the reason for the refusal. Throws NO_PENDING_PLAN, and the errors of `planTurn`; in that
 * case the report stays.
 */
export async function planInstead(
  project: Project,
  request: PlanRequest & Pick<ExecuteRequest, 'onStart'> & { message: string; signal: AbortSignal },
  onRefused: (refused: Executed) => void,
): Promise<{ replaced: Replaced; outcome: PlanOutcome }> {
  const { planTurn, refuseUnready } = await import('../turn/plan.ts');
  const line = await findLine(project, request.selector, { appends: true });
  // Before closing the plan, refuses anything that could be refused later.
  await refuseUnready(project, line, request);
  const { message, signal, onStart } = request;
  const selector = toSelector(project, line);
  const refused = await executePlan(project, {
    selector,
    approver: null,
    memos: { kind: 'none' },
    reject: message,
    signal,
    ...(onStart === undefined ? {} : { onStart }),
  });
  onRefused(refused);
  const outcome = await planTurn(project, { ...request, selector });
  const { report, commit } = refused;
  const isPlan = outcome.kind === 'answered' && outcome.entry === 'plan';
  const before = await readTurnFile(
    project.repository.store,
    { commit, session: report.session, turn: report.turn },
    'plan.md',
  );
  const difference = isPlan ? comparePlans(parsePlan(before ?? '').plan, parsePlan(outcome.text).plan) : null;
  return { replaced: { turn: report.turn, commit, difference }, outcome };
}

async function execute(
  project: Project,
  request: ExecuteRequest,
  { onExecuted }: Pick<Replanning, 'onExecuted'>,
): Promise<Executed> {
  const executed = await executePlan(project, request);
  onExecuted?.(executed);
  return executed;
}

function isInvalid({ report }: Executed): boolean {
  return report.run_summary.status === 'VALIDATION_FAILED';
}

/** Compares with every attempt, because two alternating plans make no progress either. */
function findStop(tries: readonly Executed[], executed: Executed, { maxTries }: Replanning): ReplanStop | null {
  const problems = executed.report.validation_errors;
  if (tries.some(({ report }) => haveSameProblems(report.validation_errors, problems))) {
    return { reason: 'same_problems' };
  }
  return tries.length < maxTries ? null : { reason: 'limit', maxTries };
}

/** Returns null when there is another plan to execute. */
async function requestNewPlan(
  project: Project,
  { selector, signal }: ExecuteRequest,
  { choice, listen, approveForeign, onAnswered }: Replanning & Pick<PlanRequest, 'choice'>,
  executed: Executed,
  attempt: number,
): Promise<ReplanStop | null> {
  refuseInterrupted(signal);
  const answer = await planWithinBudget(project, {
    selector,
    message: await composeMessage(project, executed),
    agent: executed.report.plan.agent ?? undefined,
    choice,
    approveForeign,
    signal,
    ...listen(attempt),
  });
  if (answer instanceof TeddyError) return { reason: 'budget_spent', error: answer };
  if (answer.kind === 'open') return { reason: 'no_plan', turn: answer.turn };
  onAnswered?.(answer);
  return answer.isPending ? null : { reason: 'no_plan', turn: answer.turn };
}

async function composeMessage({ repository }: Project, { report, commit }: Executed): Promise<string> {
  const text = await readTurnFile(repository.store, { commit, session: report.session, turn: report.turn }, 'plan.md');
  return renderReplanMessage({ turn: report.turn, problems: report.validation_errors, text: text ?? '' });
}

/** Asks for a plan; returns the error when the budget is exhausted, which is checked before anything is written. */
async function planWithinBudget(project: Project, request: PlanRequest): Promise<PlanOutcome | TeddyError> {
  // Loaded only here, because few runs ask a model.
  const { planTurn } = await import('../turn/plan.ts');
  try {
    return await planTurn(project, request);
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'BUDGET_SPENT') return error;
    throw error;
  }
}

function refuseInterrupted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new TeddyError(
    'INTERRUPTED',
    'Interrupted before another plan was asked for.',
    'The report was written. To continue: `teddy plan -m "..."`.',
  );
}

/** An invalid plan, to show to the model so that it writes another one. */
interface InvalidPlan {
  turn: TurnName;
  /** At least one problem, with places in the plan. */
  problems: readonly Problem[];
  /** `plan.md`, byte for byte. */
  text: string;
}

/** Returns the problems, each with its position and its solution, followed by the unchanged plan. Ends with a newline. */
export function renderReplanMessage({ turn, problems, text }: InvalidPlan): string {
  const count = problems.length === 1 ? 'this problem' : `these ${problems.length} problems`;
  return [
    `The plan of turn ${turn} is not valid, and none of it was run.\n`,
    `Write the whole plan again, without ${count}:\n`,
    `${problems.map(renderProblem).join('\n')}\n`,
    `The plan as it was:\n`,
    renderFenced(text, 'markdown'),
  ].join('\n');
}

function renderProblem({ line, column, action, message, hint }: Problem): string {
  const place = `line ${line}, column ${column}${action === undefined ? '' : `, action ${action}`}`;
  const texts = hint === undefined ? [message] : [message, hint];
  return `- ${place}: ${texts.join('\n').replaceAll('\n', '\n  ')}`;
}

/**
 * Returns true if both lists contain the same problems, in any order and at any position; a merely rearranged plan is
 * no better.
 */
export function haveSameProblems(some: readonly Problem[], others: readonly Problem[]): boolean {
  const [a, b] = [some, others].map((problems) => problems.map(describeWhat).toSorted());
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Includes the hint, which shows how FIND and the file differ: another FIND that fails to match is another problem. */
function describeWhat({ message, hint = '' }: Problem): string {
  return `${message}\n${hint}`;
}

/** The difference between the effects of two plans. */
interface PlanDifference {
  removed: string[];
  added: string[];
  /** Actions of the same kind on the same target that differ otherwise. */
  changed: string[];
}

/** Compares two plans' actions one by one; ignores their positions in the plans and their descriptions. */
export function comparePlans(before: Plan, after: Plan): PlanDifference {
  const left = before.actions.map((action) => ({ name: describeAction(action), action }));
  const difference: PlanDifference = { removed: [], added: [], changed: [] };
  for (const action of after.actions) {
    const name = describeAction(action);
    const same = left.findIndex((other) => isSame(other.action, action));
    const at = same === -1 ? left.findIndex((other) => other.name === name) : same;
    if (at === -1) difference.added.push(name);
    else if (same === -1) difference.changed.push(name);
    if (at !== -1) left.splice(at, 1);
  }
  difference.removed = left.map(({ name }) => name);
  return difference;
}

function isSame(one: Action, other: Action): boolean {
  const bare = ({ index: _i, line: _l, column: _c, description: _d, ...rest }: Action) =>
    JSON.stringify(rest, (key, value: unknown) => (key === 'line' || key === 'column' ? undefined : value));
  return bare(one) === bare(other);
}
