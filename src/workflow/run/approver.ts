/** Whoever says yes or no: a person at a terminal, or a flag. */
import type { Action } from '../../plan/plan.ts';
import type { ActionLog } from '../../plan/report.ts';
import type { Effect } from '../../plan/effect.ts';

/** `end`: nobody answers now; before anything was run it decides nothing. */
type Decision = 'yes' | 'no' | 'all' | 'quit' | 'end';

export interface Approval {
  decision: Decision;
  /** With a yes: what the user has made of it, the whole new content of a file or the script. */
  edited?: string;
  /** With `quit`: this action was refused, and the run stopped after it. */
  declines?: boolean;
  /** With a no: the user's words, for the report and so for the model. */
  comment?: string;
}

export interface Approver {
  /** `flag` when -y has decided for all. */
  readonly by: 'user' | 'flag';
  /** Before the first question: all that the plan will do, as far as it can be known. */
  begin(effects: Effect[]): Promise<void>;
  /** `isLast`: nothing is asked about after it. */
  action(asked: { action: Action; effect: Effect; count: number; isLast: boolean }): Promise<Approval>;
  /** The answer to CHAT_WITH_USER or PROMPT; null without somebody to ask. Throws INTERRUPTED where somebody gives none. */
  answer(text: string): Promise<string | null>;
  /** Announces an action that nobody was asked about, and shows that it runs until `use` is over. */
  during<Value>(started: { action: Action; count: number }, use: () => Promise<Value>): Promise<Value>;
  /** Live output of a command. */
  output(stream: 'stdout' | 'stderr', text: string): void;
  /** After each action. */
  done(log: ActionLog, count: number): void;
}
