/** A replay's result: the line, its turns, their actions, and each difference. */
import type { ActionType } from '../../plan/plan.ts';
import type { RunStatus } from '../../session/entries/entry-trailers.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';

export interface Difference {
  turn: TurnName;
  /** The entry with the difference. */
  commit: Oid;
  /** Counts from 1; null when the difference concerns the whole turn. */
  action: number | null;
  path: RepoPath | null;
  /** One sentence; quotes text from the repository unchanged. */
  message: string;
  /** A unified diff from the record (`-`) to the replay (`+`). */
  diff: string | null;
}

/**
 * A path with an unproven state, because neither the preceding commit nor the plan determines it. Listed whatever the
 * report contains.
 */
export interface UnprovenPath {
  turn: TurnName;
  /** The report's entry. */
  commit: Oid;
  path: RepoPath;
  /** The action that the report names, from 1; null when it names none. */
  action: number | null;
  /** A clause: `action 2, a command, changed it`. */
  reason: string;
}

export type ActionOutcome =
  /** Repeated with the same result; for an action that changes nothing, the report agrees with the plan. */
  | 'same'
  | 'different'
  /** A command whose recorded effect was applied. */
  | 'not_run'
  /** The plan does not have the user's edit, so the replay applied the recorded effect. */
  | 'edited_by_user'
  /** The repository lacks something that the comparison needs; the note says what. */
  | 'not_compared'
  | 'skipped';

export interface ReplayedAction {
  /** Counts from 1, in plan order. */
  index: number;
  type: ActionType;
  outcome: ActionOutcome;
  note: string | null;
}

export interface ReplayedTurn {
  turn: TurnName;
  /** The report's commit; null when there is none. */
  commit: Oid | null;
  /** `not_compared` means that nothing differs, but some of the commit's content is unproven. */
  outcome: 'same' | 'different' | 'not_compared' | 'nothing_to_compare';
  /** The report's status. */
  status: RunStatus | null;
  /** The reason why there is nothing to compare, or the parts that were not compared. */
  note: string | null;
  actions: ReplayedAction[];
  differences: Difference[];
  /** The number of paths proven byte for byte by the plan and the preceding commit, or by rerunning the commands. */
  proven: number;
  unproven: UnprovenPath[];
  durationMs: number;
}

/** Code from commits other than reports: the user's edits, snapshots of them, and files streamed by a model. */
interface UnplannedCode {
  commits: number;
  paths: number;
}

export interface ReplayedLine {
  session: SessionId;
  /** The name from `RecordedLine`. */
  line: string;
  tip: Oid;
  /** True when the replay ran commands. */
  ranCommands: boolean;
  /** The number of sections in logs that teddy re-rendered, and the number of sections that it cannot render. */
  derived: number;
  attested: number;
  /** Code that no plan describes, about which a replay proves nothing. */
  unplanned: UnplannedCode;
  /** In the order of the line. */
  turns: ReplayedTurn[];
}

export function isSame({ turns }: ReplayedLine): boolean {
  return turns.every(({ outcome }) => outcome !== 'different');
}

/** Returns true if any of the content in the line's commits is unproven. */
export function isUnproven({ turns }: ReplayedLine): boolean {
  return turns.some(({ outcome }) => outcome === 'not_compared');
}
