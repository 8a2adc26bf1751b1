/**
 * Ends a turn in which the model makes no progress: the same failing call again, too many errors in a row, or too many
 * calls.
 */
import type { ParsedCall } from '../../conversation/prompts/chat-tools.ts';
import { TeddyError } from '../../errors.ts';
import type { Model, ModelToolCall } from '../../ports/model.ts';
import type { ToolOutcome } from './chat.ts';

const maxCalls = 50;
const maxErrorsInRow = 10;
const maxSameFailures = 3;

/** A turn's calls in this process, and their results. */
export interface CallWatch {
  calls: number;
  errorsInRow: number;
  /** Maps a call with its failure to the number of times that it has failed this way since the last change. */
  failures: Map<string, number>;
  /** Why teddy runs no more calls, in words: `has called tools 50 times ...`; null while it runs calls. */
  stuck: string | null;
}

export function newCallWatch(): CallWatch {
  return { calls: 0, errorsInRow: 0, failures: new Map(), stuck: null };
}

/** Returns the result of a call that teddy does not run because the model is stuck. */
export function toNotRun(stuck: string): ToolOutcome {
  return { output: `Not run: the turn was ended, because the model ${stuck}.`, isError: true };
}

/** Counts a result. `isUnderstood` means that the arguments are valid for a tool. */
export function watchResult(
  watch: CallWatch,
  { name, arguments: input }: Pick<ModelToolCall, 'name' | 'arguments'>,
  { output, isError, reason }: ToolOutcome,
  isUnderstood: boolean,
): void {
  watch.calls += 1;
  watch.errorsInRow = isError ? watch.errorsInRow + 1 : 0;
  if (!isError && reason === undefined && changing.has(name)) watch.failures.clear();
  // Unreadable arguments differ from each other for no reason, so teddy does not compare them.
  const failure = JSON.stringify(isUnderstood ? [name, input, output] : [name, output]);
  const count = isError ? (watch.failures.get(failure) ?? 0) + 1 : 0;
  if (isError) watch.failures.set(failure, count);
  watch.stuck ??= describeStuck(watch, count, output);
}

/** After one of these, the same call may well have a different result. */
const changing = new Set<string>(['run_command', 'edit_file', 'WritePlanTool_begin'] satisfies ParsedCall['name'][]);

function describeStuck({ calls, errorsInRow }: CallWatch, failures: number, output: string): string | null {
  const [first = ''] = output.trim().split('\n');
  if (failures >= maxSameFailures) return `has made the same call in vain ${failures} times: ${first}`;
  if (errorsInRow >= maxErrorsInRow)
    return `has made ${errorsInRow} calls in a row that failed, the last one with: ${first}`;
  return calls >= maxCalls ? `has called tools ${calls} times without an answer` : null;
}

/** Throws MODEL_STUCK when the model is stuck; the calls and their results are already on the line. */
export function refuseStuck({ stuck }: CallWatch, { label }: Model, goesOn: string): void {
  if (stuck === null) return;
  throw new TeddyError(
    'MODEL_STUCK',
    `${label} ${stuck.replace(/\.$/, '')}. teddy ended the turn there; everything in it was saved.`,
    `To let it continue: \`${goesOn}\`. Another message, or another model, may help.`,
  );
}
