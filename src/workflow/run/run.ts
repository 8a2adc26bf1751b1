/** A run of a plan: what it is given, who says yes or no, and what it comes to. */
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
  /** Path -> the index of the last action that changed it. */
  changed: Map<RepoPath, number>;
  /**
   * A print of what the run left at each changed path: `sha256:...` of a content, or that of a scan; null when it is as in
   * HEAD.
   */
  left: Map<RepoPath, string | null>;
  /** New files in `.teddy/` that commands made. */
  strays: Set<RepoPath>;
  /** Whole outputs that are too long for the report, by action. */
  outputs: { action: number; text: string }[];
  /** Pages of the web that were read, masked, by action. */
  pages: { action: number; text: string }[];
  /** By action: the files that it changed, as it left them; null: nobody knows. */
  files: Map<number, LeftFile[] | null>;
  ended: RunEnd;
  /** HEAD has left the line: nothing more is done here. */
  isOffLine?: boolean;
  /** The action in which an earlier process of this run was killed. */
  crashedIn?: number;
  /** Actions of which nobody knows what they changed. */
  unseen: Set<number>;
}

export interface RunSettings {
  timeoutMs: number;
  /** Indexes of the actions that are run; the others are skipped. */
  chosen: ReadonlySet<number>;
  signal: AbortSignal;
}

/** The tools that an action is run with, and the run that it adds to. */
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

/** `end`: nobody answers now; before anything was run it decides nothing. */
type Decision = 'yes' | 'no' | 'all' | 'quit' | 'end';

export interface Approval {
  decision: Decision;
  /** With a yes: what the user has made of it, the whole new content of a file or the script. */
  edited?: string;
  /** With `quit`: this action was refused, and the run stopped after it. */
  declines?: boolean;
  /** With a no: the user's words, for the report and so for the model. */
  comment?: string;
}

export interface Approver {
  /** `flag` when -y has decided for all. */
  readonly by: 'user' | 'flag';
  /** Before the first question: all that the plan will do, as far as it can be known. */
  begin(effects: Effect[]): Promise<void>;
  /** `isLast`: nothing is asked about after it. */
  action(asked: { action: Action; effect: Effect; count: number; isLast: boolean }): Promise<Approval>;
  /** The answer to CHAT_WITH_USER or PROMPT; null without somebody to ask. Throws INTERRUPTED where somebody gives none. */
  answer(text: string): Promise<string | null>;
  /** Announces an action that nobody was asked about, and shows that it runs until `use` is over. */
  during<Value>(started: { action: Action; count: number }, use: () => Promise<Value>): Promise<Value>;
  /** Live output of a command. */
  output(stream: 'stdout' | 'stderr', text: string): void;
  /** After each action. */
  done(log: ActionLog, count: number): void;
}

/** The journal of this run, action by action. */
export interface RunLog {
  journal: RunJournal;
  /** The journal's records by now. */
  journaled(): JournaledRun;
  /** Before anything of the action happens. Throws DISK_FULL or WRITE_FAILED: nothing may start then. */
  begin(action: Action, before: Before): Promise<void>;
  /** Before a script of the action begins. Throws DISK_FULL or WRITE_FAILED: it must not begin then. */
  started(group: ProcessGroup): Promise<void>;
  end(log: ActionLog, run: Run): Promise<void>;
  /** Before the first file is put back. */
  rollBack(): Promise<void>;
}

/** Begins the log of an action with what the plan says of it. */
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
