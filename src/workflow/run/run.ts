/** A run of a plan: its input, its approver, and its outcome. */
import type { Before, JournaledRun, LeftFile, ProcessGroup, RunEnd } from '../../plan/report/journal.ts';
import { toParams } from '../../plan/actions/actions.ts';
import type { Action } from '../../plan/plan.ts';
import type { ActionLog } from '../../plan/report/report.ts';
import type { Effect } from '../../plan/effects/effect.ts';
import type { ProjectFiles, RunJournal, Shell } from '../../ports/disk.ts';
import type { Masker } from '../../ports/project.ts';
import type { Pages } from '../../ports/web.ts';
import type { RefName, RepoPath } from '../../names.ts';
import type { SessionTarget } from '../line/guard-session-files.ts';

export interface Run {
  logs: ActionLog[];
  /** Maps each path to the index of the last action that changed it. */
  changed: Map<RepoPath, number>;
  /**
   * A fingerprint of the run's result at each changed path: `sha256:...` of the content, or a scan's fingerprint; null
   * when the file is the same as in HEAD.
   */
  left: Map<RepoPath, string | null>;
  /** New files in `.teddy/` that commands made. */
  strays: Set<RepoPath>;
  /** Complete outputs that are too long for the report, by action. */
  outputs: { action: number; text: string }[];
  /** Masked web pages that the run read, by action. */
  pages: { action: number; text: string }[];
  /** By action, the files that it changed, in the state in which it left them; null when unknown. */
  files: Map<number, LeftFile[] | null>;
  ended: RunEnd;
  /** True when HEAD has left the line, so that the run does nothing more here. */
  isOffLine?: boolean;
  /** The action in which an earlier process was killed during this run. */
  crashedIn?: number;
  /** Actions with unknown changes. */
  unseen: Set<number>;
}

export interface RunSettings {
  timeoutMs: number;
  /** Indexes of the actions to run; the run skips the others. */
  chosen: ReadonlySet<number>;
  signal: AbortSignal;
}

/** The tools for running an action, and the run that it adds to. */
export interface Runner {
  place: SessionTarget;
  /** The branch of the line. */
  ref: RefName;
  files: ProjectFiles;
  shell: Shell;
  masker: Masker;
  pages: Pages;
  approver: Approver;
  settings: RunSettings;
  run: Run;
  log: RunLog;
}

/** `end` means that nobody answers anymore; before anything has run, it decides nothing. */
type Decision = 'yes' | 'no' | 'all' | 'quit' | 'end';

export interface Approval {
  decision: Decision;
  /** With a yes: the user's version, either a file's whole new content or the script. */
  edited?: string;
  /** True with `quit` when the user declined this action, and the run stopped after it. */
  declines?: boolean;
  /** With a no: the user's words, for the report and thereby for the model. */
  comment?: string;
}

export interface Approver {
  /** `flag` when -y has approved everything. */
  readonly by: 'user' | 'flag';
  /** Called before the first question with all known effects of the plan. */
  begin(effects: Effect[]): Promise<void>;
  /** Asks about an action. With `isLast`, no question follows. */
  action(asked: { action: Action; effect: Effect; count: number; isLast: boolean }): Promise<Approval>;
  /**
   * Returns the answer to CHAT_WITH_USER or PROMPT; null when nobody can be asked. Throws INTERRUPTED when the user
   * does not answer.
   */
  answer(text: string): Promise<string | null>;
  /** Announces an action that needs no question, and shows that it is running until `use` is done. */
  during<Value>(started: { action: Action; count: number }, use: () => Promise<Value>): Promise<Value>;
  /** Shows a command's live output. */
  output(stream: 'stdout' | 'stderr', text: string): void;
  /** Called after each action. */
  done(log: ActionLog, count: number): void;
}

/** This run's journal, action by action. */
export interface RunLog {
  journal: RunJournal;
  /** Returns the journal's current records. */
  journaled(): JournaledRun;
  /** Called before any part of the action happens. Throws DISK_FULL or WRITE_FAILED; in these cases nothing may start. */
  begin(action: Action, before: Before): Promise<void>;
  /**
   * Called before one of the action's scripts begins. Throws DISK_FULL or WRITE_FAILED; in these cases the script must
   * not begin.
   */
  started(group: ProcessGroup): Promise<void>;
  end(log: ActionLog, run: Run): Promise<void>;
  /** Called before the first file is restored. */
  rollBack(): Promise<void>;
}

/** Begins an action's log with the facts from the plan. */
export function newLog<Rest extends Omit<ActionLog, 'index' | 'action_type' | 'params'>>(action: Action, rest: Rest) {
  return { index: action.index, action_type: action.type, params: toParams(action), ...rest };
}

export function skipped(reason: string, comment?: string): Pick<ActionLog, 'status' | 'approved_by' | 'details'> {
  const details = { reason, ...(comment === undefined ? {} : { comment }) };
  return { status: 'SKIPPED', approved_by: 'none', details };
}

export function newRun(): Run {
  return {
    logs: [],
    changed: new Map(),
    left: new Map(),
    strays: new Set(),
    outputs: [],
    pages: [],
    files: new Map(),
    ended: 'done',
    unseen: new Set(),
  };
}
