/** Files as they are found, and what a command gave, as plain values. Types only. */
import type { RepoPath } from '../names.ts';

/** The target of a path of the project, after following symlinks inside it. */
export type FileTarget =
  /** `real`: where it lies, or would lie, when the path goes through symlinks. */
  | {
      kind: 'absent';
      real?: RepoPath;
      /** See `findTwin`. Not everybody asks for it. */
      twin?: RepoPath;
    }
  | { kind: 'file'; bytes: Uint8Array; executable: boolean; real?: RepoPath }
  | { kind: 'directory' }
  /** A symlink on the way leads out of the project, or into `.git` or `.teddy`. */
  | { kind: 'outside'; link: RepoPath }
  /** It lies in another repository: a submodule, or one that git does not know. */
  | { kind: 'foreign'; repository: RepoPath }
  /** A parent of the path is a file. */
  | { kind: 'blocked'; parent: RepoPath }
  /** A device, socket or FIFO. */
  | { kind: 'special' };

/** The state of a path itself, with links as links. `mode`: permission bits. `other`: a directory, a device. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'file'; bytes: Uint8Array; mode: number }
  | { kind: 'link'; target: string }
  | { kind: 'other' };

/** To be made with the mode that a new file gets. */
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
  /** The command of the script that failed, and its line in the script (from 1), when bash could tell. */
  failedCommand: string | null;
  failedLine: number | null;
  timedOut: boolean;
  aborted: boolean;
  /** Output beyond 10 MiB a stream was cut. */
  truncated: boolean;
  durationMs: number;
  /** The ids of processes that the script started, and that could not be ended. */
  stillRunning?: number[];
}
