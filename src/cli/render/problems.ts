import type { Problem } from '../../plan/problem.ts';
import { showHint } from './show-answer.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/visible-text.ts';

/** Shows each problem of a plan with its place, so that an editor can jump there. */
export function showProblems(terminal: Terminal, problems: readonly Problem[]): void {
  for (const { line, column, message, hint } of problems) {
    terminal.say(`${terminal.style('red', 'plan.md', 'stderr')}:${line}:${column}: ${toVisible(message)}`);
    showHint(terminal, hint);
  }
}
