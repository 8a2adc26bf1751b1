/** The options for executing a plan, as values. */
import { interruptedChoices } from '../../../workflow/line/unfinished-run.ts';
import { TeddyError } from '../../../errors.ts';
import type { Selection } from '../../../workflow/run/select-actions.ts';

export type InterruptedChoice = (typeof interruptedChoices)[number];

/** Returns a run's options, with defaults for options that were not given. */
export function toExecutionOptions(given: Pick<ExecutionOptions, 'selector' | 'yes' | 'printJson'>): ExecutionOptions {
  return {
    selection: { only: undefined, skip: undefined },
    reject: undefined,
    memos: undefined,
    replans: undefined,
    rollback: false,
    interrupted: undefined,
    ...given,
  };
}

export interface ExecutionOptions {
  selector?: string | undefined;
  yes: boolean;
  selection: Selection;
  /** The reason for running nothing and closing the turn; may be empty. */
  reject: string | undefined;
  memos: 'yes' | 'no' | undefined;
  /** The number of further plans that teddy may request; undefined when the user did not specify the option. */
  replans: number | undefined;
  rollback: boolean;
  interrupted: InterruptedChoice | undefined;
  /** Null when the result is for the user. */
  printJson: ((schema: string, value: object) => void) | null;
}

const maxRange = 10_000;

/** Reads lists such as `1,3` and `2-4`. Throws USAGE. */
export function parseActionList(flag: string, text: string | undefined): number[] | undefined {
  return text?.split(',').flatMap((part) => parseRange(flag, part.trim()));
}

function parseRange(flag: string, part: string): number[] {
  const [, from, to] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part) ?? [];
  const [first, last] = [Number(from), Number(to ?? from)];
  if (from !== undefined && last >= first && last - first < maxRange) {
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  }
  throw new TeddyError(
    'USAGE',
    `${flag}: ${JSON.stringify(part)} is not an action number.`,
    `Use numbers and ranges: ${flag} 1,3-5.`,
  );
}
