/** The options with which a plan is executed, as values. */
import type { Selection } from '../../../workflow/run/select-actions.ts';
import type { SettleChoice } from '../../../workflow/run/settle.ts';

/** The choice for a run that was killed. */
export type InterruptedChoice = SettleChoice | 'rollback';

export const interruptedChoices: readonly InterruptedChoice[] = ['resume', 'rollback', 'keep'];

/** The options of a run for which nothing else was asked. */
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
  /** The reason for running nothing and closing the turn; it may be empty. */
  reject: string | undefined;
  memos: 'yes' | 'no' | undefined;
  /** How many other plans may be asked for; undefined when the option was not given. */
  replans: number | undefined;
  rollback: boolean;
  interrupted: InterruptedChoice | undefined;
  /** Null when the result is for a person. */
  printJson: ((schema: string, value: object) => void) | null;
}
