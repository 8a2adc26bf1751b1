/**
 * The shape of an action type: how a plan writes it and what the page shows of it, and its handler: what it would do, how it is done,
 * and what the report has of it. Each type is one file of this folder, and `actions.ts` lists them.
 */
import type { RepoPath } from '../../names.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import type { Performed, ReportedParam } from '../effects/action-details.ts';
import type { Effect, EffectOutcome, PlanWorld } from '../effects/effect.ts';
import type { EditPair } from '../match/match.ts';
import type { Position, Problem } from '../match/problem.ts';
import type { ActionSpec } from './spec.ts';
import type { ActionWorld } from './world.ts';

/** The part that all actions have. */
export interface ActionBase extends Position {
  type: string;
  /** From 1, in the order of the plan. */
  index: number;
  description: string | null;
}

/** A path of the project, or a URL as the plan writes it. */
export type Resource = { kind: 'path'; path: RepoPath } | { kind: 'url'; url: string };

/** Reads one action of a plan. Each reader returns null for what is absent, and for what is wrong after reporting it. */
export interface ActionReader {
  readonly grammar: Grammar;
  text(name: string): string | null;
  /** One word, also when it stands in back-ticks or bold. */
  word(name: string): string | null;
  path(name: string): RepoPath | null;
  /** The parameter `Resource`. */
  resource(): Resource | null;
  directory(name: string): string | null;
  boolean(name: string): boolean;
  number(name: string, max: number): number | null;
  lines(name: string): string | null;
  env(name: string): Record<string, string>;
  /** The body, as the type's `body` has it. */
  readonly body: {
    isEmpty(): boolean;
    /** Reports a body where there is to be none. */
    none(): void;
    content(): string | null;
    pairs(): EditPair[] | null;
    queries(): string[] | null;
    markdown(): string | null;
  };
  /** Reports a problem at the action's heading; the hint is the example of its body. */
  report(message: string): void;
}

/** The part of a planned action that the page shows below its name. */
type ShownBody =
  | { kind: 'content'; text: string; path: RepoPath }
  | { kind: 'pairs'; pairs: readonly EditPair[] }
  | { kind: 'script'; text: string; note: string | null }
  | { kind: 'markdown'; text: string }
  | { kind: 'queries'; queries: readonly string[] };

/** An action as its file gives it: the position and the rest of `ActionBase` are the parser's. */
type FieldsOf<A extends ActionBase> = Omit<A, keyof ActionBase>;

/** An action as a plan has it. Readers of history have this half alone. */
export interface ActionType<A extends ActionBase> extends ActionSpec {
  type: A['type'];
  /** Null when a problem was reported. */
  read(from: ActionReader): FieldsOf<A> | null;
  /** Names the thing that the action is about, for labels, prompts and lists: a path, the first line of a script. */
  target(action: A): string;
  /** Without it the line that names the action says all. */
  show?(action: A): ShownBody;
  /** The file or page that a success brings into the context of the next turn; with `drops`, the one that it takes out. */
  touches?(action: A): string;
  drops?: true;
  /** The file that it writes; it changes no other. */
  writes?(action: A): RepoPath;
}

/** A type's deeds. They are a value of their own, so that a bundle that only reads plans leaves them and the matcher out. */
export interface ActionHandler<A extends ActionBase, E extends Effect> {
  /** It waits for the user's answer. */
  asks?: true;
  /** It runs what may change any file; the value names it. */
  runs?: string;
  /** The parameters as the report shows them. */
  params(action: A): Record<string, ReportedParam>;
  /** The path of the project on which the check depends; `settings` when it depends on what no commit has. */
  looksAt?(action: A): RepoPath | 'settings' | null;
  /** Finds the effect on the world as it is, or why there can be none. Changes nothing. */
  check(action: A, world: PlanWorld): Promise<EffectOutcome<E>> | EffectOutcome<E>;
  /** Does what was approved. Without it nothing is to be done. */
  perform?(action: A, effect: E, world: ActionWorld): Promise<Performed>;
}

/** The check of an action says no. */
export function refuse(action: Position & { index: number }, message: string, hint: string): { problems: Problem[] } {
  return { problems: [{ line: action.line, column: action.column, message, hint, action: action.index }] };
}

/** The description as the report shows it. */
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
