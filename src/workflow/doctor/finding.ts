/** The doctor's findings: one thing that is wrong, what that means, and who can fix it. */
import type { AgentSetup } from '../../ports/agent-setup.ts';
import type { Remain } from '../../ports/disk.ts';
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { KnownLine } from '../../session/lines/lines.ts';

/** They are part of `--json`. */
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
  /** A path, a ref, a commit. */
  thing: string;
  /** One sentence. */
  meaning: string;
  /** Says what `--fix` does, as a sentence goes on after its name; null: nothing. */
  fix: string | null;
  /** The command for a person to run; null when `--fix` is enough. */
  todo: string | null;
}

/** Says what it did, in a sentence. Throws where it cannot; then nothing has changed. */
type Mend = () => Promise<string>;

export interface Found extends Pick<Finding, 'kind' | 'thing' | 'meaning'>, Partial<Pick<Finding, 'fix' | 'todo'>> {
  /** Given where `fix` is. */
  mend?: Mend;
}

export interface Scene {
  project: Project;
  /** Null: agents are not asked for. */
  agents: AgentSetup | null;
  /** Null: hooks of git are not asked for. */
  findHooks: (() => Promise<Look>) | null;
  /** Branches named like lines, those of remotes, archives, and all else below `refs/teddy/`. */
  refs: readonly RefTip[];
  /** All lines, here and on remotes, whatever they are called. */
  lines: readonly KnownLine[];
  remains: readonly Remain[];
}

/** The result of one look of the doctor. */
interface Look {
  found: Found[];
  /** The thing that it has looked at, in a few words; null when nothing of the kind is there. */
  seen: string | null;
  /** Facts that are good to know and no fault. */
  notes?: string[];
}

/** One kind of finding: looks, changing nothing. */
export type Examination = (scene: Scene) => Promise<Look>;

export function remainsOf<Kind extends Remain['kind']>({ remains }: Scene, kind: Kind): (Remain & { kind: Kind })[] {
  return remains.filter((remain): remain is Remain & { kind: Kind } => remain.kind === kind);
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
