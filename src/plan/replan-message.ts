/** Tells the model about a plan that is not valid, so that it writes another one. */
import { renderFenced } from '../session/fenced-text.ts';
import type { TurnName } from '../names.ts';
import type { Problem } from './problem.ts';
import { describeAction } from './actions/actions.ts';
import type { Action, Plan } from './plan.ts';

interface InvalidPlan {
  turn: TurnName;
  /** At least one; places are those of the plan. */
  problems: readonly Problem[];
  /** `plan.md`, byte for byte. */
  text: string;
}

/** The problems, each with its place and what to do about it, then the plan as it was. Ends in a newline. */
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

/** Whether the same things are wrong, in any order and at any place: a plan that was only moved about is no better. */
export function haveSameProblems(some: readonly Problem[], others: readonly Problem[]): boolean {
  const [a, b] = [some, others].map((problems) => problems.map(describeWhat).toSorted());
  return JSON.stringify(a) === JSON.stringify(b);
}

/** A hint shows how FIND and the file differ: another FIND that is missed too is another problem. */
function describeWhat({ message, hint = '' }: Problem): string {
  return `${message}\n${hint}`;
}

/** Compares plans by what they do. */
export interface PlanDifference {
  removed: string[];
  added: string[];
  /** The same action on the same thing, otherwise. */
  changed: string[];
}

/** Compares what two plans do, action by action; their places in the plans and their descriptions do not count. */
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
