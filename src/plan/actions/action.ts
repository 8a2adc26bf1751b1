/**
 * The shape of an action type: how a plan writes it, what the page shows of it, and its handler, which checks it,
 * performs it and describes it in the report. Each type has a file in this folder; `actions.ts` lists them.
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

/** A project path, or a URL as the plan writes it. */
export type Resource = { kind: 'path'; path: RepoPath } | { kind: 'url'; url: string };

/** Reads one action of a plan. Each reader returns null for what is absent, and for what is wrong after reporting it. */
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
  /** Reads the body in the form that the type's `body` names. */
  readonly body: {
    isEmpty(): boolean;
    /** Reports a body where none is allowed. */
    none(): void;
    content(): string | null;
    pairs(): EditPair[] | null;
    queries(): string[] | null;
    markdown(): string | null;
  };
  /** Reports a problem at the action's heading; the hint is an example of its body. */
  report(message: string): void;
}

/** The part of a planned action that the page shows below its name. */
type ShownBody =
  | { kind: 'content'; text: string; path: RepoPath }
  | { kind: 'pairs'; pairs: readonly EditPair[] }
  | { kind: 'script'; text: string; note: string | null }
  | { kind: 'markdown'; text: string }
  | { kind: 'queries'; queries: readonly string[] };

/** An action as its file reads it; the parser adds the position and the rest of `ActionBase`. */
type FieldsOf<A extends ActionBase> = Omit<A, keyof ActionBase>;

/** An action type as a plan uses it. Readers of history load this half only. */
export interface ActionType<A extends ActionBase> extends ActionSpec {
  type: A['type'];
  /** Returns null when a problem was reported. */
  read(from: ActionReader): FieldsOf<A> | null;
  /** Names what the action is about, for labels, prompts and lists: a path, or the first line of a script. */
  target(action: A): string;
  /** Missing when the line that names the action says everything. */
  show?(action: A): ShownBody;
  /** The file or page that a successful action adds to the context of the next turn, or removes from it when `drops` is set. */
  touches?(action: A): string;
  drops?: true;
  /** The only file that it writes. */
  writes?(action: A): RepoPath;
}

/** The operations of a type. Separate from the type, so that a bundle that only reads plans can leave handlers and matcher out. */
export interface ActionHandler<A extends ActionBase, E extends Effect> {
  /** Waits for the user's answer. */
  asks?: true;
  /** Names what the action runs that may change any file. */
  runs?: string;
  /** The parameters as the report shows them. */
  params(action: A): Record<string, ReportedParam>;
  /** The project path that the check depends on; `settings` when it depends on something that no commit holds. */
  looksAt?(action: A): RepoPath | 'settings' | null;
  /** Finds the effect on the world as it is now, or why there can be none. Changes nothing. */
  check(action: A, world: PlanWorld): Promise<EffectOutcome<E>> | EffectOutcome<E>;
  /** Performs what was approved; missing when there is nothing to do. */
  perform?(action: A, effect: E, world: ActionWorld): Promise<Performed>;
}

/** Returns the result of a check that refuses the action. */
export function refuse(action: Position & { index: number }, message: string, hint: string): { problems: Problem[] } {
  return { problems: [{ line: action.line, column: action.column, message, hint, action: action.index }] };
}

/** Returns the description as the report shows it. */
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
