/** A parsed plan, as plain values. `parse.ts` makes it; nothing else does. */
import type { MemoChange } from '../session/global/memos.ts';
import type { actionTypes } from './actions/actions.ts';
import type { Problem } from './match/problem.ts';

type ActionOf<Type> = Type extends { target(action: infer A): string } ? A : never;

/** An action of any type in the list. */
export type Action = ActionOf<(typeof actionTypes)[number]>;
export type ActionType = Action['type'];

export interface Plan {
  title: string;
  /** Bullet metadata after the title; keys as written, without bold. */
  metadata: Record<string, string>;
  rationale: string | null;
  /** The next turn's context, one path a line as written; null when the plan has no such section. */
  contextVault: string[] | null;
  memos: MemoChange[];
  actions: Action[];
  /** Markdown to the user; null when the plan has no such section. */
  message: string | null;
}

/** The outcome of reading a plan: always complete, never thrown. A plan with problems is not executed. */
export interface ParsedPlan {
  plan: Plan;
  problems: Problem[];
  /** Things that were tolerated, and how. */
  notes: Problem[];
}
