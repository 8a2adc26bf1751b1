/** Tells the model about a plan that is not valid, so that it writes another one. */
import { renderFenced } from '../session/fenced-text.ts';
import type { TurnName } from '../names.ts';
import type { Problem } from './problem.ts';

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
