/** A model's answer: how it comes along, and what is said about it when it is on its line. */
import type { Answer, PlanRequest } from '../../workflow/turn/plan.ts';
import { describeEffort, showProgress, type AnswerProgress } from './progress.ts';
import { toVisible, visibleChunks, type Terminal } from '../terminal.ts';

type Asked = Parameters<NonNullable<PlanRequest['onAsk']>>[0];

/** Hears one answer. */
export interface AnswerView extends Required<Pick<PlanRequest, 'onText' | 'onUsage' | 'onAsk'>> {
  /** Takes the progress away, and ends the line; again and again, if need be. The time since it was asked, or null. */
  end(): number | null;
}

/** With `isStreamed` the text itself is printed. `describeAsked` says who is asked; null: nobody is. */
export function viewAnswer(
  terminal: Terminal,
  { isStreamed, describeAsked }: { isStreamed: boolean; describeAsked: (asked: Asked) => string | null },
): AnswerView {
  const toChunk = visibleChunks();
  let progress: AnswerProgress | null = null;
  return {
    onUsage: (usage) => progress?.usage(usage),
    onText(text) {
      progress?.text(text);
      if (isStreamed) terminal.print(toChunk(text));
    },
    onAsk(asked) {
      const description = describeAsked(asked);
      if (description === null) return;
      terminal.say(terminal.style('dim', description, 'stderr'));
      progress = showProgress(terminal, { isStreamed });
    },
    end() {
      const elapsedMs = progress?.end() ?? null;
      terminal.endLine();
      return elapsedMs;
    },
  };
}

/** What was tolerated in it, and what it gives away. */
export function showRemarks(terminal: Terminal, { entry, notes, secrets }: Answer): void {
  for (const note of notes)
    terminal.say(terminal.style('dim', `note: line ${note.line}: ${toVisible(note.message)}`, 'stderr'));
  for (const { line: at, kind } of secrets) {
    const place = entry === 'plan' ? `plan.md:${at}` : `line ${at} of the answer`;
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} ${place} holds a secret (${kind}); the answer is kept as it came.`,
    );
  }
}

/** Why it cannot be executed as it is. */
export function showPlanProblems(terminal: Terminal, problems: Answer['problems']): void {
  for (const problem of problems) {
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} plan.md:${problem.line}:${problem.column}: ${toVisible(problem.message)}`,
    );
    showHint(terminal, problem.hint);
  }
}

/** An example may have several lines. */
export function showHint(terminal: Terminal, hint: string | undefined): void {
  for (const line of hint?.split('\n') ?? []) terminal.say(`         ${toVisible(line)}`);
}

/** Null time: none that would mean anything. */
export function showCommitted(terminal: Terminal, answer: Answer, elapsedMs: number | null): void {
  const { line, turn, commit, usage } = answer;
  const effort = describeEffort(usage, elapsedMs);
  terminal.say(
    `Turn ${turn} of ${line.session}: ${describeAnswer(answer)} committed as ${commit.slice(0, 10)}${effort === '' ? '' : `; ${effort}`}.`,
  );
}

function describeAnswer({ entry, actions, problems }: Answer): string {
  if (entry === 'reply') return 'an answer that is no plan, kept as a reply,';
  if (problems.length > 0) return 'a plan that is not valid';
  if (actions === 0) return 'a plan without actions';
  return `a plan with ${actions} ${actions === 1 ? 'action' : 'actions'}`;
}
