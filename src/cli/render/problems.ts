/** Shows a plan's problems, and texts that other people wrote. */
import type { Problem } from '../../plan/match/problem.ts';
import { showHint } from './show-answer.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { SteeringText } from '../../workflow/line/foreign-texts.ts';

/** Shows each problem with its position in the plan, so that an editor can jump to it. */
export function showProblems(terminal: Terminal, problems: readonly Problem[]): void {
  for (const { line, column, message, hint } of problems) {
    terminal.say(`${terminal.style('red', 'plan.md', 'stderr')}:${line}:${column}: ${toVisible(message)}`);
    showHint(terminal, hint);
  }
}

/** Renders the texts from elsewhere, so that the user can read them before accepting them. */
export function renderForeign(terminal: Terminal, texts: SteeringText[], stream: 'stdout' | 'stderr'): string {
  return texts
    .map(({ name, text }) => `${terminal.style('bold', `--- ${name}`, stream)}\n${toVisible(text).trimEnd()}\n`)
    .join('\n');
}
