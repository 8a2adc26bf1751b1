/** The result of checking an action: the effect it would have, or the problems that stand against it. */
import type { RepoPath } from '../names.ts';
import type { Grammar } from '../session/grammar.ts';
import type { EditMatch } from './match.ts';
import type { Problem } from './plan.ts';
import type { Inspect } from './virtual-files.ts';

/** A file or directory of the project. */
export interface ReadEffect {
  kind: 'read';
  action: number;
  path: RepoPath;
  lines: string | null;
}

/** A page of the web. `url` is the one spelling that is fetched. */
export interface FetchEffect {
  kind: 'fetch';
  action: number;
  url: string;
  lines: string | null;
}

/** Nothing is done: the next turn's list leaves `resource`, a path or a URL, out. */
export interface PruneEffect {
  kind: 'prune';
  action: number;
  resource: string;
}

/** The whole file before and after; `before` null: there was none. `matches` is empty for CREATE. */
interface WriteEffect {
  kind: 'write';
  action: number;
  path: RepoPath;
  before: Uint8Array | null;
  after: Uint8Array;
  matches: EditMatch[];
}

/** `cwd` is relative to the project, `.` its root. `timeoutMs` null: the default. */
interface CommandEffect {
  kind: 'command';
  action: number;
  script: string;
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
}

interface AskEffect {
  kind: 'ask';
  action: number;
  text: string;
}

/** Nothing is done: the next turn is another agent's. */
interface InvokeEffect {
  kind: 'invoke';
  action: number;
  agent: string;
  text: string;
}

/** Each query is given to the user's search command, one after the other. */
interface SearchEffect {
  kind: 'search';
  action: number;
  queries: string[];
}

/** `action` is the action's index, from 1. */
export type Effect =
  WriteEffect | CommandEffect | ReadEffect | FetchEffect | SearchEffect | PruneEffect | AskEffect | InvokeEffect;
export type EffectOutcome = { effect: Effect } | { problems: Problem[] };

/** An action is checked against this world. Parts that are absent are not checked. */
export interface PlanWorld {
  inspect: Inspect;
  /** Untracked paths that git ignores. */
  ignored?: ReadonlySet<RepoPath>;
  /** The names that INVOKE may give. */
  agents?: readonly string[];
  /** There is a command that RESEARCH can run. */
  canSearch?: boolean;
  /** A text without its secrets: what a problem quotes of a file is cut from it, and half a secret is not recognised. */
  mask?(text: string): Promise<string>;
  /** With the version that a report records, a FIND that misses is described as it was for that report. */
  grammar?: Grammar;
}
