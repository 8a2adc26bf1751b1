/** A parsed plan, as plain values. Only `parse.ts` makes one. */
import type { MemoChange } from '../session/global/memos.ts';
import type { actionTypes } from './actions/actions.ts';
import type { Problem } from './match/problem.ts';

type ActionOf<Type> = Type extends { target(action: infer A): string } ? A : never;

/** An action of any listed type. */
export type Action = ActionOf<(typeof actionTypes)[number]>;
export type ActionType = Action['type'];

export interface Plan {
  title: string;
  /** The bullets after the title, with keys as written but without bold marks. */
  metadata: Record<string, string>;
  rationale: string | null;
  /** The next turn's context, one path per line as written; null when the plan has no such section. */
  contextVault: string[] | null;
  memos: MemoChange[];
  actions: Action[];
  /** A Markdown message to the user; null when the plan has no such section. */
  message: string | null;
}

/** The outcome of reading a plan: always complete, never an exception. teddy does not execute a plan with problems. */
export interface ParsedPlan {
  plan: Plan;
  problems: Problem[];
  /** The tolerated mistakes, and how the parser read them. */
  notes: Problem[];
}
