/** Chosen actions that cannot be run without the others: no verdict on the plan, so the turn is not closed for it. */
import { TeddyError } from '../errors.ts';
import type { ParsedPlan, Problem } from '../plan/plan.ts';
import { comparePositions } from '../plan/validate.ts';

/** Whether the selection leaves out any action of the plan. */
export function leavesOut(parsed: ParsedPlan, chosen: ParsedPlan): boolean {
  return chosen.plan.actions.length < parsed.plan.actions.length;
}

/** Throws VALIDATION_FAILED. */
export function refuseSelection(problems: Problem[]): void {
  const [first] = problems.toSorted(comparePositions);
  if (first === undefined) return;
  const others = problems.length - 1;
  const more = others === 0 ? '' : ` It is the first of ${problems.length} problems.`;
  throw new TeddyError(
    'VALIDATION_FAILED',
    `The chosen actions alone are not valid: plan.md:${first.line}:${first.column}: ${first.message}${more}`,
    'Nothing was run, and the plan is still pending. Choose other actions, or all of them; `--dry-run` shows every problem.',
  );
}
