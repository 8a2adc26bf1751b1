/** The result of checking an action: its expected effect, or the problems that prevent it. */
import type { RepoPath } from '../../names.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import type { EditMatch } from '../match/match.ts';
import type { Problem } from '../match/problem.ts';
import type { Inspect } from './virtual-files.ts';

interface EffectOf<Kind extends string> {
  kind: Kind;
  /** The action's index, counted from 1. */
  action: number;
}

/** A project file or directory. */
export interface ReadEffect extends EffectOf<'read'> {
  path: RepoPath;
  lines: string | null;
}

/** A web page. `url` is normalized to the spelling that teddy fetches. */
export interface FetchEffect extends EffectOf<'fetch'> {
  url: string;
  lines: string | null;
}

/** The action does nothing, except that the next turn's context omits `resource`, a path or a URL. */
export interface PruneEffect extends EffectOf<'prune'> {
  resource: string;
}

/** The whole file before and after; `before` is null when the file did not exist. `matches` is empty for CREATE. */
export interface WriteEffect extends EffectOf<'write'> {
  path: RepoPath;
  before: Uint8Array | null;
  after: Uint8Array;
  matches: EditMatch[];
}

/** `cwd` is relative to the project, with `.` as its root. `timeoutMs` is null for the default. */
export interface CommandEffect extends EffectOf<'command'> {
  script: string;
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
}

export interface AskEffect extends EffectOf<'ask'> {
  text: string;
}

/** The action does nothing, except that the next turn goes to another agent. */
export interface InvokeEffect extends EffectOf<'invoke'> {
  agent: string;
  text: string;
}

/** teddy passes each query to the user's search command, one after the other. */
export interface SearchEffect extends EffectOf<'search'> {
  queries: string[];
}

export type Effect =
  WriteEffect | CommandEffect | ReadEffect | FetchEffect | SearchEffect | PruneEffect | AskEffect | InvokeEffect;
export type EffectOutcome<E extends Effect = Effect> = { effect: E } | { problems: Problem[] };

/** The world for checking an action. teddy skips the checks for missing parts. */
export interface PlanWorld {
  inspect: Inspect;
  /** Untracked paths that git ignores. */
  ignored?: ReadonlySet<RepoPath>;
  /** The names that INVOKE may use. */
  agents?: readonly string[];
  /** True when the user has configured a command for RESEARCH. */
  canSearch?: boolean;
  /** Removes secrets from a text. Problems quote the masked text, because half a secret would not be recognized. */
  mask?(text: string): Promise<string>;
  /** The grammar that a report records; a FIND without a match is then described in the same way as in that report. */
  grammar?: Grammar;
}

/** Joins several writes to a file into one change, from before the first to after the last, ordered by first write. */
export function joinWrites(effects: readonly Effect[]): WriteEffect[] {
  const files = new Map<string, WriteEffect>();
  for (const effect of effects) {
    if (effect.kind !== 'write') continue;
    files.set(effect.path, { ...effect, before: (files.get(effect.path) ?? effect).before });
  }
  return [...files.values()];
}

/** Returns the effect with the user's own text (the whole file or the script), which is exempt from the rules for plans. */
export function withText(effect: Effect, text: string): Effect {
  if (effect.kind === 'command') return { ...effect, script: text };
  return effect.kind === 'write' ? { ...effect, after: new TextEncoder().encode(text), matches: [] } : effect;
}
