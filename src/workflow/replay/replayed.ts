/** The result of a replay: line, turn, action, and each difference by itself. */
import type { ActionType } from '../../plan/plan.ts';
import type { RunStatus } from '../../session/entries/entry-trailers.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';

export interface Difference {
  turn: TurnName;
  /** The entry that holds what differs. */
  commit: Oid;
  /** From 1; null: it is about the turn as a whole. */
  action: number | null;
  path: RepoPath | null;
  /** One sentence; what comes from the repository stands in it as it is. */
  message: string;
  /** The record (`-`) against the replay (`+`), as a unified diff. */
  diff: string | null;
}

/**
 * A path whose state nothing proves: what the commit before and the plan hold does not give it. It is named whatever the
 * report says of it.
 */
export interface UnprovenPath {
  turn: TurnName;
  /** The report's entry. */
  commit: Oid;
  path: RepoPath;
  /** From 1, as the report attributes it; null: it attributes it to none. */
  action: number | null;
  /** A clause: `action 2, a command, changed it`. */
  reason: string;
}

export type ActionOutcome =
  /** Done again, with the same result; of an action that changes nothing: the report agrees with the plan. */
  | 'same'
  | 'different'
  /** A command: its recorded effect was applied. */
  | 'not_run'
  /** The plan does not have the user's edit: the recorded effect was applied. */
  | 'edited_by_user'
  /** The repository does not hold what it takes to tell; the note says what that is. */
  | 'not_compared'
  | 'skipped';

export interface ReplayedAction {
  /** From 1, in the order of the plan. */
  index: number;
  type: ActionType;
  outcome: ActionOutcome;
  note: string | null;
}

export interface ReplayedTurn {
  turn: TurnName;
  /** The commit of the report; null when there is none. */
  commit: Oid | null;
  /** `not_compared`: nothing differs, and some of what its commit holds is not proven. */
  outcome: 'same' | 'different' | 'not_compared' | 'nothing_to_compare';
  /** The status in the report. */
  status: RunStatus | null;
  /** Why there is nothing to compare, or what was not. */
  note: string | null;
  actions: ReplayedAction[];
  differences: Difference[];
  /** How many paths the plan and the commit before give byte for byte, or running the commands again does. */
  proven: number;
  unproven: UnprovenPath[];
  durationMs: number;
}

/** Code that came by other commits than reports: edits of the user's, snapshots of them, files that a model streamed. */
interface UnplannedCode {
  commits: number;
  paths: number;
}

export interface ReplayedLine {
  session: SessionId;
  /** The name from `RecordedLine`. */
  line: string;
  tip: Oid;
  /** Commands were run. */
  ranCommands: boolean;
  /** Counts sections of the logs: those that were rendered again, and those that nothing can render again. */
  derived: number;
  attested: number;
  /** No plan tells of it, and no replay says anything about it. */
  unplanned: UnplannedCode;
  /** In the order of the line. */
  turns: ReplayedTurn[];
}

export function isSame({ turns }: ReplayedLine): boolean {
  return turns.every(({ outcome }) => outcome !== 'different');
}

/** Something that a commit of it holds is not proven. */
export function isUnproven({ turns }: ReplayedLine): boolean {
  return turns.some(({ outcome }) => outcome === 'not_compared');
}
