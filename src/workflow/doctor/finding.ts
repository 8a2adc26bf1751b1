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
  | 'mirror-remote'
  | 'unkept-session'
  | 'capture'
  | 'hooks'
  | 'setup';

export interface Finding {
  kind: FindingKind;
  /** The affected path, ref or commit. */
  thing: string;
  /** One sentence. */
  meaning: string;
  /** Describes the effect of `--fix`, as a clause that follows its name; null when `--fix` has no effect. */
  fix: string | null;
  /** The command for the user to run; null when `--fix` is enough. */
  todo: string | null;
}

/** Fixes the problem and returns a sentence about the fix. Throws when it cannot; in that case nothing changes. */
type Mend = () => Promise<string>;

export interface Found extends Pick<Finding, 'kind' | 'thing' | 'meaning'>, Partial<Pick<Finding, 'fix' | 'todo'>> {
  /** Present if and only if `fix` is. */
  repairFinding?: Mend;
}

export interface Scene {
  project: Project;
  /** Null when teddy does not examine agents. */
  agents: AgentSetup | null;
  /** Null when teddy does not examine git hooks. */
  findHooks: (() => Promise<Look>) | null;
  /** Null when teddy does not examine the parts that `teddy init` sets up. */
  findSetup: (() => Promise<Look>) | null;
  /** Describes the agents that have worked here without their hooks; null when teddy does not examine agents. */
  findSilent: (() => Promise<string[]>) | null;
  /** Branches with names like lines, including remote ones; archives; and everything else below `refs/teddy/`. */
  refs: readonly RefTip[];
  /** All lines, local and remote, under any name. */
  lines: readonly KnownLine[];
  remains: readonly Remain[];
}

/** The result of one examination. */
interface Look {
  found: Found[];
  /** A short description of what was examined; null when there was nothing to examine. */
  seen: string | null;
  /** Facts worth knowing that are not faults. */
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
