/**
 * The shape of an action type: its form in a plan, its appearance on the page, and its handler, which checks the
 * action, performs it and describes it in the report. Each type has a file in this folder; `actions.ts` lists them.
 */
import type { RepoPath } from '../../names.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import type { Performed, ReportedParam } from '../effects/action-details.ts';
import type { Effect, EffectOutcome, PlanWorld } from '../effects/effect.ts';
import type { EditPair } from '../match/match.ts';
import type { Position, Problem } from '../match/problem.ts';
import type { ActionSpec } from './spec.ts';
import type { ActionWorld } from './world.ts';

/** The fields that all actions have. */
export interface ActionBase extends Position {
  type: string;
  /** Counted from 1, in plan order. */
  index: number;
  description: string | null;
}

/** A project path, or a URL as written in the plan. */
export type Resource = { kind: 'path'; path: RepoPath } | { kind: 'url'; url: string };

/** Reads one action in a plan. Each method returns null for a missing part, and for an invalid one after reporting it. */
export interface ActionReader {
  readonly grammar: Grammar;
  text(name: string): string | null;
  /** Reads a single word, even inside back-ticks or bold marks. */
  word(name: string): string | null;
  path(name: string): RepoPath | null;
  /** Reads the parameter `Resource`. */
  resource(): Resource | null;
  directory(name: string): string | null;
  boolean(name: string): boolean;
  number(name: string, max: number): number | null;
  lines(name: string): string | null;
  env(name: string): Record<string, string>;
  /** Reads the body in the form named by the type's `body`. */
  readonly body: {
    isEmpty(): boolean;
    /** Reports a body where none is allowed. */
    none(): void;
    content(): string | null;
    pairs(): EditPair[] | null;
    queries(): string[] | null;
    markdown(): string | null;
  };
  /** Reports a problem at the action's heading; the hint is an example of a correct body. */
  report(message: string): void;
}

/** The part of a planned action that the page shows below the action's name. */
type ShownBody =
  | { kind: 'content'; text: string; path: RepoPath }
  | { kind: 'pairs'; pairs: readonly EditPair[] }
  | { kind: 'script'; text: string; note: string | null }
  | { kind: 'markdown'; text: string }
  | { kind: 'queries'; queries: readonly string[] };

/** An action as read by its file; the parser adds the position and the rest of `ActionBase`. */
type FieldsOf<A extends ActionBase> = Omit<A, keyof ActionBase>;

/** An action type as plans use it. Readers of history load only this half. */
export interface ActionType<A extends ActionBase> extends ActionSpec {
  type: A['type'];
  /** Returns null when a problem was reported. */
  read(from: ActionReader): FieldsOf<A> | null;
  /** Returns the action's target, for labels, prompts and lists: a path, or a script's first line. */
  target(action: A): string;
  /** Absent when there is nothing to add to the line that names the action. */
  show?(action: A): ShownBody;
  /** The file or page that a successful action adds to the next turn's context, or removes from it when `drops` is set. */
  touches?(action: A): string;
  drops?: true;
  /** Returns the only file that the action writes. */
  writes?(action: A): RepoPath;
}

/** A type's operations, in a separate table, so that a bundle that only reads plans can omit handlers and matcher. */
export interface ActionHandler<A extends ActionBase, E extends Effect> {
  /** True when the action waits for the user's answer. */
  asks?: true;
  /** The program that the action runs; it may change any file. */
  runs?: string;
  /** Returns the parameters in the report's form. */
  params(action: A): Record<string, ReportedParam>;
  /** The project path that the check depends on; `settings` when the check depends on facts outside any commit. */
  looksAt?(action: A): RepoPath | 'settings' | null;
  /** Finds the effect on the current world, or the reason why the action cannot have one. Changes nothing. */
  check(action: A, world: PlanWorld): Promise<EffectOutcome<E>> | EffectOutcome<E>;
  /** Performs the approved action; absent when there is nothing to do. */
  perform?(action: A, effect: E, world: ActionWorld): Promise<Performed>;
}

/** Returns the result of a check that refuses the action. */
export function refuse(action: Position & { index: number }, message: string, hint: string): { problems: Problem[] } {
  return { problems: [{ line: action.line, column: action.column, message, hint, action: action.index }] };
}

/** Returns the description in the report's form. */
export function described({ description }: ActionBase): { description?: string } {
  return description === null ? {} : { description };
}

export function nameOf(resource: Resource): string {
  return resource.kind === 'path' ? resource.path : resource.url;
}

export function toFirstLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.length > 1 ? `${lines[0]} ...` : (lines[0] ?? '');
}
