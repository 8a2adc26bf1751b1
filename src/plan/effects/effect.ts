/** The result of checking an action: the effect it would have, or the problems that stand against it. */
import type { RepoPath } from '../../names.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import type { EditMatch } from '../match/match.ts';
import type { Problem } from '../match/problem.ts';
import type { Inspect } from './virtual-files.ts';

interface EffectOf<Kind extends string> {
  kind: Kind;
  /** The index of the action, from 1. */
  action: number;
}

/** A file or directory of the project. */
export interface ReadEffect extends EffectOf<'read'> {
  path: RepoPath;
  lines: string | null;
}

/** A page of the web. `url` is the one spelling that is fetched. */
export interface FetchEffect extends EffectOf<'fetch'> {
  url: string;
  lines: string | null;
}

/** Nothing is done: the next turn's list leaves `resource`, a path or a URL, out. */
export interface PruneEffect extends EffectOf<'prune'> {
  resource: string;
}

/** The whole file before and after; `before` null: there was none. `matches` is empty for CREATE. */
export interface WriteEffect extends EffectOf<'write'> {
  path: RepoPath;
  before: Uint8Array | null;
  after: Uint8Array;
  matches: EditMatch[];
}

/** `cwd` is relative to the project, `.` its root. `timeoutMs` null: the default. */
export interface CommandEffect extends EffectOf<'command'> {
  script: string;
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
}

export interface AskEffect extends EffectOf<'ask'> {
  text: string;
}

/** Nothing is done: the next turn is another agent's. */
export interface InvokeEffect extends EffectOf<'invoke'> {
  agent: string;
  text: string;
}

/** Each query is given to the user's search command, one after the other. */
export interface SearchEffect extends EffectOf<'search'> {
  queries: string[];
}

export type Effect =
  WriteEffect | CommandEffect | ReadEffect | FetchEffect | SearchEffect | PruneEffect | AskEffect | InvokeEffect;
export type EffectOutcome<E extends Effect = Effect> = { effect: E } | { problems: Problem[] };

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

/** A file that is written several times is one change: before the first write, after the last. In the order of first writes. */
export function joinWrites(effects: readonly Effect[]): WriteEffect[] {
  const files = new Map<string, WriteEffect>();
  for (const effect of effects) {
    if (effect.kind !== 'write') continue;
    files.set(effect.path, { ...effect, before: (files.get(effect.path) ?? effect).before });
  }
  return [...files.values()];
}

/** Returns the effect with the user's own text, the whole content of a file or the script, which the rules for plans do not bind. */
export function withText(effect: Effect, text: string): Effect {
  if (effect.kind === 'command') return { ...effect, script: text };
  return effect.kind === 'write' ? { ...effect, after: new TextEncoder().encode(text), matches: [] } : effect;
}
