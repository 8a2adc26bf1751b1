/** The replay of one report collects these: differences, and an outcome for each action. */
import { handlerOf } from '../../plan/actions/actions.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import type { Action, ParsedPlan } from '../../plan/plan.ts';
import type { ActionLog, Report, ReportedChange } from '../../plan/report/report.ts';
import type { CommitChange } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import type { ActionOutcome, Difference, ReplayedAction, UnprovenPath } from './replayed.ts';

/** One report, and the commit that holds it. */
export interface RecordedRun {
  project: Project;
  session: SessionId;
  turn: TurnName;
  commit: Oid;
  /** The commit before it: its code is what the plan was run on. */
  base: Oid;
  /** The changes of the commit in the code alone. */
  changes: ReadonlyMap<RepoPath, CommitChange>;
  parsed: ParsedPlan;
  /** The grammar that the plan was read with for the report, and is read with again. */
  grammar: Grammar;
  report: Report;
  /** By action. */
  logs: ReadonlyMap<number, ActionLog>;
  /** By path. */
  rows: ReadonlyMap<RepoPath, ReportedChange>;
  /** Actions whose path in the plan goes beyond the path in the report: the path as the plan has it, by action. */
  moved: ReadonlyMap<number, string>;
  /**
   * The paths that the user's own commits between the plan and its report have changed: they may have taken in what the plan
   * did.
   */
  foreign: ReadonlySet<RepoPath>;
}

export interface Findings {
  readonly differences: Difference[];
  readonly actions: Map<number, ReplayedAction>;
  /** Paths of which the parent's tree and the plan give what the commit has. All others count as not proven. */
  readonly proven: Set<RepoPath>;
  /** Why a path is not proven, where more is known than the type of the action that the report names. */
  readonly open: Map<RepoPath, OpenPath>;
  differ(about: { action?: number | null; path?: RepoPath | null; diff?: string | null }, message: string): void;
  prove(path: RepoPath): void;
  leaveOpen(path: RepoPath, action: number | null, reason: string): void;
  /** `different` stays what it is. */
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

/** Whether the report says that something of it was done. */
export function wasRun(log: ActionLog | undefined): boolean {
  return log !== undefined && log.status !== 'SKIPPED';
}

/** It may change files of which the plan says nothing. */
export function runsScripts(action: Action): boolean {
  return handlerOf(action).runs !== undefined;
}
