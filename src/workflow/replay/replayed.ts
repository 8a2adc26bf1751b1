/** The result of a replay: the line, its turns, their actions, and each difference. */
import type { ActionType } from '../../plan/plan.ts';
import type { RunStatus } from '../../session/entries/entry-trailers.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';

export interface Difference {
  turn: TurnName;
  /** The entry that has the difference. */
  commit: Oid;
  /** Counts from 1; null when it concerns the whole turn. */
  action: number | null;
  path: RepoPath | null;
  /** One sentence; text from the repository is quoted unchanged. */
  message: string;
  /** A unified diff from the record (`-`) to the replay (`+`). */
  diff: string | null;
}

/**
 * A path with a state that nothing proves, because the commit before and the plan do not give it. It is listed no
 * matter what the report says.
 */
export interface UnprovenPath {
  turn: TurnName;
  /** The entry of the report. */
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
  /** A command with a recorded effect that was applied. */
  | 'not_run'
  /** The plan does not have the user's edit, so the recorded effect was applied. */
  | 'edited_by_user'
  /** The repository lacks what the comparison needs; the note says what that is. */
  | 'not_compared'
  | 'skipped';

export interface ReplayedAction {
  /** Counts from 1, in the order of the plan. */
  index: number;
  type: ActionType;
  outcome: ActionOutcome;
  note: string | null;
}

export interface ReplayedTurn {
  turn: TurnName;
  /** The commit of the report; null when there is none. */
  commit: Oid | null;
  /** `not_compared` means that nothing differs, but some of the commit's content is not proven. */
  outcome: 'same' | 'different' | 'not_compared' | 'nothing_to_compare';
  /** The status in the report. */
  status: RunStatus | null;
  /** The reason why there is nothing to compare, or what was not compared. */
  note: string | null;
  actions: ReplayedAction[];
  differences: Difference[];
  /** The number of paths that are proven byte for byte by the plan and the commit before, or by running the commands again. */
  proven: number;
  unproven: UnprovenPath[];
  durationMs: number;
}

/** Code from commits other than reports: the user's edits, snapshots of them, and files that a model streamed. */
interface UnplannedCode {
  commits: number;
  paths: number;
}

export interface ReplayedLine {
  session: SessionId;
  /** The name from `RecordedLine`. */
  line: string;
  tip: Oid;
  /** True when commands were run. */
  ranCommands: boolean;
  /** Counts the sections of the logs that were rendered again, and those that cannot be. */
  derived: number;
  attested: number;
  /** Code that no plan describes, and about which a replay says nothing. */
  unplanned: UnplannedCode;
  /** In the order of the line. */
  turns: ReplayedTurn[];
}

export function isSame({ turns }: ReplayedLine): boolean {
  return turns.every(({ outcome }) => outcome !== 'different');
}

/** Returns whether any content of a commit on the line is not proven. */
export function isUnproven({ turns }: ReplayedLine): boolean {
  return turns.some(({ outcome }) => outcome === 'not_compared');
}
