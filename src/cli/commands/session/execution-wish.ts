/** What is asked for when a plan is executed, as values. */
import type { Selection } from '../../../workflow/run/select-actions.ts';
import type { SettleChoice } from '../../../workflow/run/settle.ts';

/** What becomes of a run that was killed. */
export type InterruptedChoice = SettleChoice | 'rollback';

export const interruptedChoices: readonly InterruptedChoice[] = ['resume', 'rollback', 'keep'];

export interface ExecutionWish {
  selector?: string | undefined;
  yes: boolean;
  selection: Selection;
  /** Run nothing and close the turn; the reason may be empty. */
  reject: string | undefined;
  memos: 'yes' | 'no' | undefined;
  /** How many other plans may be asked for; undefined: not said. */
  replans: number | undefined;
  rollback: boolean;
  interrupted: InterruptedChoice | undefined;
  /** Null: a person reads it. */
  printJson: ((schema: string, value: object) => void) | null;
}
