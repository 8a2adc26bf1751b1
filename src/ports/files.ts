/** Files as they are found on disk, and the results of commands, as plain values. Types only. */
import type { RepoPath } from '../names.ts';

/** The target of a project path, after following the symlinks inside the project. */
export type FileTarget =
  /** `real`: the path with symlinks resolved, when it goes through any, even if the file does not exist yet. */
  | {
      kind: 'absent';
      real?: RepoPath;
      /** The result of `findTwin`, for callers that look for it. */
      twin?: RepoPath;
    }
  | { kind: 'file'; bytes: Uint8Array; executable: boolean; real?: RepoPath }
  | { kind: 'directory' }
  /** A symlink on the path leads out of the project, or into `.git` or `.teddy`. */
  | { kind: 'outside'; link: RepoPath }
  /** The path is in another repository: a submodule, or one that git does not know about. */
  | { kind: 'foreign'; repository: RepoPath }
  /** A parent of the path is a file. */
  | { kind: 'blocked'; parent: RepoPath }
  /** A device, socket or FIFO. */
  | { kind: 'special' };

/** The state of a path itself; links are not followed. `mode`: permission bits. `other`: a directory or a device. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'file'; bytes: Uint8Array; mode: number }
  | { kind: 'link'; target: string }
  | { kind: 'other' };

/** A file to create with the default mode of new files. */
export interface NewFile {
  kind: 'new-file';
  bytes: Uint8Array;
  executable: boolean;
}

export interface CommandResult {
  /** The script's exit code; 124 after a timeout, 128 + n when a signal n ended it. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The script's command that failed and its line in the script (from 1), if bash reported it. */
  failedCommand: string | null;
  failedLine: number | null;
  timedOut: boolean;
  aborted: boolean;
  /** Whether a stream's output was cut at 10 MiB. */
  truncated: boolean;
  durationMs: number;
  /** The ids of processes that the script started and that could not be ended. */
  stillRunning?: number[];
}
