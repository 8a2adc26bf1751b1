/** The doctor's findings: a problem, its consequences, and who can fix it. */
import type { AgentSetup } from '../../ports/agent-setup.ts';
import type { Remain } from '../../ports/disk.ts';
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { KnownLine } from '../../session/lines/lines.ts';

/** The kinds are part of `--json`. */
type FindingKind =
  | 'interrupted-publication'
  | 'stale-ref-lock'
  | 'foreign-lock'
  | 'leftover'
  | 'staged-answer'
  | 'staged-write'
  | 'interrupted-command'
  | 'interrupted-run'
  | 'dead-server'
  | 'half-memo-pair'
  | 'diverged-line'
  | 'quarantine'
  | 'deleted-session'
  | 'misplaced-archive'
  | 'damaged-object'
  | 'lost-entry'
  | 'ended-work-tree'
  | 'gone-work-tree'
  | 'attributes'
  | 'session-file'
  | 'identity'
  | 'branch-in-the-way'
  | 'unknown-remote'
  | 'capture'
  | 'hooks';

export interface Finding {
  kind: FindingKind;
  /** The path, ref or commit that is affected. */
  thing: string;
  /** One sentence. */
  meaning: string;
  /** Describes the effect of `--fix`, as a clause that follows its name; null when it has none. */
  fix: string | null;
  /** The command for a person to run; null when `--fix` is enough. */
  todo: string | null;
}

/** Fixes the problem and returns a sentence about it. Throws when it cannot; nothing has changed then. */
type Mend = () => Promise<string>;

export interface Found extends Pick<Finding, 'kind' | 'thing' | 'meaning'>, Partial<Pick<Finding, 'fix' | 'todo'>> {
  /** Given where `fix` is. */
  repairFinding?: Mend;
}

export interface Scene {
  project: Project;
  /** Null when agents are not examined. */
  agents: AgentSetup | null;
  /** Null when git hooks are not examined. */
  findHooks: (() => Promise<Look>) | null;
  /** Branches with names like lines, also of remotes; archives; and everything else below `refs/teddy/`. */
  refs: readonly RefTip[];
  /** All lines, here and on remotes, under any name. */
  lines: readonly KnownLine[];
  remains: readonly Remain[];
}

/** The result of one examination. */
interface Look {
  found: Found[];
  /** A few words about the examined things; null when there was nothing to examine. */
  seen: string | null;
  /** Facts that are worth knowing but are not faults. */
  notes?: string[];
}

/** Looks for one kind of finding. Changes nothing. */
export type Examination = (scene: Scene) => Promise<Look>;

export function remainsOf<Kind extends Remain['kind']>({ remains }: Scene, kind: Kind): (Remain & { kind: Kind })[] {
  return remains.filter((remain): remain is Remain & { kind: Kind } => remain.kind === kind);
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
