/** Ends the turn of a model that gets nowhere: the same call in vain, too many errors in a row, too many calls. */
import type { ParsedCall } from '../../conversation/prompts/chat-tools.ts';
import { TeddyError } from '../../errors.ts';
import type { Model, ModelToolCall } from '../../ports/model.ts';
import type { ToolOutcome } from './chat.ts';

const maxCalls = 50;
const maxErrorsInRow = 10;
const maxSameFailures = 3;

/** The calls of one run of a turn, and how they ended so far. */
export interface CallWatch {
  calls: number;
  errorsInRow: number;
  /** A call with its failure -> how often it failed so, since something last changed. */
  failures: Map<string, number>;
  /** Why no call is run any more, for a person: `has called tools 50 times ...`; null while calls are run. */
  stuck: string | null;
}

export function newCallWatch(): CallWatch {
  return { calls: 0, errorsInRow: 0, failures: new Map(), stuck: null };
}

/** The result of a call that is not run any more. */
export function toNotRun(stuck: string): ToolOutcome {
  return { output: `Not run: the turn was ended, because the model ${stuck}.`, isError: true };
}

/** `isUnderstood`: the arguments are those of a tool. */
export function watchResult(
  watch: CallWatch,
  { name, arguments: input }: Pick<ModelToolCall, 'name' | 'arguments'>,
  { output, isError, reason }: ToolOutcome,
  isUnderstood: boolean,
): void {
  watch.calls += 1;
  watch.errorsInRow = isError ? watch.errorsInRow + 1 : 0;
  if (!isError && reason === undefined && changing.has(name)) watch.failures.clear();
  // Arguments that cannot be read differ from one another for no reason.
  const failure = JSON.stringify(isUnderstood ? [name, input, output] : [name, output]);
  const count = isError ? (watch.failures.get(failure) ?? 0) + 1 : 0;
  if (isError) watch.failures.set(failure, count);
  watch.stuck ??= describeStuck(watch, count, output);
}

/** After one of these, the same call may well come to something else. */
const changing = new Set<string>(['run_command', 'edit_file', 'WritePlanTool_begin'] satisfies ParsedCall['name'][]);

function describeStuck({ calls, errorsInRow }: CallWatch, failures: number, output: string): string | null {
  const [first = ''] = output.trim().split('\n');
  if (failures >= maxSameFailures) return `has made the same call in vain ${failures} times: ${first}`;
  if (errorsInRow >= maxErrorsInRow)
    return `has made ${errorsInRow} calls in a row that failed, the last one with: ${first}`;
  return calls >= maxCalls ? `has called tools ${calls} times without an answer` : null;
}

/** Throws MODEL_STUCK. The calls and their results are on the line by then. */
export function refuseStuck({ stuck }: CallWatch, { label }: Model, goesOn: string): void {
  if (stuck === null) return;
  throw new TeddyError(
    'MODEL_STUCK',
    `${label} ${stuck.replace(/\.$/, '')}. The turn was ended there, and all of it is kept.`,
    `\`${goesOn}\` lets it go on; another message, or another model, may help it.`,
  );
}
