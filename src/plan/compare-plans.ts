/** Compares plans by what they do. */
import { describeAction } from './actions/actions.ts';
import type { Action, Plan } from './plan.ts';

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
