/** Files as they are on disk, and the results of commands, as plain values. Types only. */
import type { RepoPath } from '../names.ts';

/** The target of a project path, after following the symlinks inside the project. */
export type FileTarget =
  /** `real` is the path with symlinks resolved, if the path contains any; it is set even when the file does not exist yet. */
  | {
      kind: 'absent';
      real?: RepoPath;
      /** The result of `findTwin`, if the caller requested it. */
      twin?: RepoPath;
    }
  | { kind: 'file'; bytes: Uint8Array; executable: boolean; real?: RepoPath }
  | { kind: 'directory' }
  /** A symlink on the path leads out of the project, or into `.git` or `.teddy`. */
  | { kind: 'outside'; link: RepoPath }
  /** The path is in another repository: a submodule, or a repository unknown to git. */
  | { kind: 'foreign'; repository: RepoPath }
  /** A parent of the path is a file. */
  | { kind: 'blocked'; parent: RepoPath }
  /** A device, socket or FIFO. */
  | { kind: 'special' };

/** The state of the path itself, without following links. `mode`: permission bits. `other`: a directory or a device. */
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
  /** The script's exit code; 124 after a timeout, 128 + n when signal n ended the script. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The failed command in the script and its line (from 1), if bash reported them. */
  failedCommand: string | null;
  failedLine: number | null;
  timedOut: boolean;
  aborted: boolean;
  /** True when teddy cut a stream's output at 10 MiB. */
  truncated: boolean;
  durationMs: number;
  /** The IDs of processes that the script started and teddy could not end. */
  stillRunning?: number[];
}
