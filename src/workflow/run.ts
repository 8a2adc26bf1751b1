/** A run of a plan: what it is given, and what it comes to. */
import type { ActionLog } from '../plan/report.ts';
import type { Masker, Pages, ProjectFiles, Shell } from '../ports.ts';
import type { RepoPath } from '../session/names.ts';
import type { Approver } from './approver.ts';
import type { SessionPlace } from './guard-session-files.ts';

export interface Run {
  logs: ActionLog[];
  /** Path -> the index of the last action that changed it. */
  changed: Map<RepoPath, number>;
  /** New files in `.teddy/` that commands made. */
  strays: Set<RepoPath>;
  /** Whole outputs that are too long for the report, by action. */
  outputs: { action: number; text: string }[];
  /** Pages of the web that were read, masked, by action. */
  pages: { action: number; text: string }[];
  ended: 'done' | 'failed' | 'quit' | 'interrupted';
}

export interface RunSettings {
  timeoutMs: number;
  /** Indexes of the actions that are run; the others are skipped. */
  chosen: ReadonlySet<number>;
  signal: AbortSignal;
}

/** What an action is run with, and the run that it adds to. */
export interface Runner {
  place: SessionPlace;
  files: ProjectFiles;
  shell: Shell;
  masker: Masker;
  pages: Pages;
  approver: Approver;
  settings: RunSettings;
  run: Run;
}

/** How an action's log goes on once it was done. */
export type Performed = Pick<ActionLog, 'status' | 'details'>;
