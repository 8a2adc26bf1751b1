/** The results collected while replaying one report: differences, and an outcome for each action. */
import { handlerOf } from '../../plan/actions/actions.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import type { Action, ParsedPlan } from '../../plan/plan.ts';
import type { ActionLog, Report, ReportedChange } from '../../plan/report/report.ts';
import type { CommitChange } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import type { ActionOutcome, Difference, ReplayedAction, UnprovenPath } from './replayed.ts';

/** A report and its commit. */
export interface RecordedRun {
  project: Project;
  session: SessionId;
  turn: TurnName;
  commit: Oid;
  /** The parent commit with the code that the plan ran on. */
  base: Oid;
  /** The commit's changes, in the code only. */
  changes: ReadonlyMap<RepoPath, CommitChange>;
  parsed: ParsedPlan;
  /** The grammar with which teddy read the plan for the report, and reads it again. */
  grammar: Grammar;
  report: Report;
  /** Log entries by action. */
  logs: ReadonlyMap<number, ActionLog>;
  /** Reported changes by path. */
  rows: ReadonlyMap<RepoPath, ReportedChange>;
  /** The plan's paths by action, when longer than the report's paths. */
  moved: ReadonlyMap<number, string>;
  /** Paths changed by the user's own commits between the plan and its report; these commits may include the plan's work. */
  foreign: ReadonlySet<RepoPath>;
}

export interface Findings {
  readonly differences: Difference[];
  readonly actions: Map<number, ReplayedAction>;
  /** Paths that the parent's tree and the plan prove. All others count as unproven. */
  readonly proven: Set<RepoPath>;
  /** The reason why a path is unproven, when more is known than the type of the action that the report names. */
  readonly open: Map<RepoPath, OpenPath>;
  differ(about: { action?: number | null; path?: RepoPath | null; diff?: string | null }, message: string): void;
  prove(path: RepoPath): void;
  leaveOpen(path: RepoPath, action: number | null, reason: string): void;
  /** Sets an action's outcome, unless it is already `different`. */
  settle(action: Action, outcome: ActionOutcome, note?: string | null): void;
}

export type OpenPath = Pick<UnprovenPath, 'action' | 'reason'>;

export function newFindings(turn: TurnName, commit: Oid): Findings {
  const differences: Difference[] = [];
  const actions = new Map<number, ReplayedAction>();
  const proven = new Set<RepoPath>();
  const open = new Map<RepoPath, OpenPath>();
  return {
    differences,
    actions,
    proven,
    open,
    prove(path) {
      proven.add(path);
      open.delete(path);
    },
    leaveOpen(path, action, reason) {
      proven.delete(path);
      open.set(path, { action, reason });
    },
    differ({ action = null, path = null, diff = null }, message) {
      differences.push({ turn, commit, action, path, message, diff });
      const known = action === null ? undefined : actions.get(action);
      if (known !== undefined) actions.set(known.index, { ...known, outcome: 'different', note: message });
    },
    settle({ index, type }, outcome, note = null) {
      const found = differences.find(({ action }) => action === index);
      actions.set(index, {
        index,
        type,
        outcome: found ? 'different' : outcome,
        note: found ? found.message : note,
      });
    },
  };
}

/** Returns true if the report shows that any part of the action ran. */
export function wasRun(log: ActionLog | undefined): boolean {
  return log !== undefined && log.status !== 'SKIPPED';
}

/** Returns true if the action may change files that the plan does not mention. */
export function runsScripts(action: Action): boolean {
  return handlerOf(action).runs !== undefined;
}
