/** How the check of an action says no. */
import type { Position, Problem } from './plan.ts';

export function refuse(action: Position & { index: number }, message: string, hint: string): { problems: Problem[] } {
  return { problems: [{ line: action.line, column: action.column, message, hint, action: action.index }] };
}
