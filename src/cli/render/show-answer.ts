/** Shows a model's answer as it arrives, and adds remarks once it is committed. */
import type { ChosenModel } from '../../app.ts';
import type { Answer, PlanRequest } from '../../workflow/turn/plan.ts';
import { describeEffort, showProgress, type AnswerProgress } from './progress.ts';
import { visibleChunks, type Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

type Asked = Parameters<NonNullable<PlanRequest['onAsk']>>[0];

/** Shows one answer. */
export interface AnswerView extends Required<Pick<PlanRequest, 'onText' | 'onUsage' | 'onAsk'>> {
  /**
   * Removes the progress display and ends the line; callers may call it more than once. Returns the time since teddy
   * asked the model, or null.
   */
  end(): number | null;
}

/** `isStreamed` prints the text itself. `describeAsked` names the model that teddy asks; null when it asks none. */
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

/** Shows the faults in the answer that teddy tolerated, and the secrets in the answer. */
export function showRemarks(terminal: Terminal, { entry, notes, secrets }: Answer): void {
  for (const note of notes)
    terminal.say(terminal.style('dim', `note: line ${note.line}: ${toVisible(note.message)}`, 'stderr'));
  for (const { line: at, kind } of secrets) {
    const place = entry === 'plan' ? `plan.md:${at}` : `line ${at} of the answer`;
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} ${place} contains a secret (${kind}); the answer is kept unchanged.`,
    );
  }
}

/** Shows why the plan cannot run as it is. */
export function showPlanProblems(terminal: Terminal, problems: Answer['problems']): void {
  for (const problem of problems) {
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} plan.md:${problem.line}:${problem.column}: ${toVisible(problem.message)}`,
    );
    showHint(terminal, problem.hint);
  }
}

/** Shows the hint, which may be an example of several lines. */
export function showHint(terminal: Terminal, hint: string | undefined): void {
  for (const line of hint?.split('\n') ?? []) terminal.say(`         ${toVisible(line)}`);
}

/** An answer's model and time. Both are null when they would mean nothing. */
export interface Effort {
  elapsedMs: number | null;
  model: string | null;
}

export function showCommitted(terminal: Terminal, answer: Answer, { elapsedMs, model }: Effort): void {
  const { line, turn, commit, usage } = answer;
  const effort = describeEffort(usage, elapsedMs, { model });
  terminal.say(
    `Turn ${turn} of ${line.session}: ${describeAnswer(answer)} committed as ${commit.slice(0, 10)}${effort === '' ? '' : `; ${effort}`}.`,
  );
}

/** Omits the time of a recorded answer, which means nothing. */
export function toEffort({ provider, model }: ChosenModel, elapsedMs: number | null): Effort {
  const isAsked = provider !== 'manual' && provider !== 'recorded';
  return { elapsedMs: isAsked ? elapsedMs : null, model: (isAsked && model?.model) || null };
}

function describeAnswer({ entry, actions, problems, isPending }: Answer): string {
  if (entry === 'reply' && isPending) return 'the answer was';
  if (entry === 'reply') return 'an answer that is not a plan was';
  if (problems.length > 0) return 'an invalid plan was';
  if (actions === 0) return 'a plan without actions';
  return `a plan with ${actions} ${actions === 1 ? 'action' : 'actions'}`;
}
