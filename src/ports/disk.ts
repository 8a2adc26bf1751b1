/** The workflows' view of the disk and of processes: files, commands, journals, staging, leftovers. Types only. */
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../names.ts';
import type { JournalRecord, JournaledRun, ProcessGroup, RunRecord } from '../plan/report/journal.ts';
import type { CommandResult, FileState, FileTarget, NewFile } from './files.ts';
import type { AllowedCommand } from '../conversation/prompts/allowed-commands.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import type { WriteRecord, WriteState } from '../write/write.ts';
import type { FileBelow, Head, RefTip, RunClaim, RunDirs, Scan } from './git.ts';

/**
 * The project's files on disk. Every path stays within the project: teddy reports symlinks that lead out of it and
 * never follows them.
 */
export interface ProjectFiles {
  inspect(path: RepoPath): Promise<FileTarget>;
  /** Makes an absolute path relative to the root if the path is below the root, even through a link; otherwise null. */
  inside(path: string): Promise<string | null>;
  /**
   * Finds an existing path that differs from this one only in case or Unicode form, or equals it after
   * percent-decoding. Checks the path and its parent directories.
   */
  findTwin(path: RepoPath): Promise<RepoPath | null>;
  /**
   * Writes atomically: temporary file, fsync, rename, fsync of the directory. Keeps the existing mode, except for the
   * execute bit when `executable` is set; makes parent directories.
   */
  install(path: RepoPath, bytes: Uint8Array, executable?: boolean): Promise<void>;
  /** Like `install`, but only when nothing exists at the path. `exists`: the path was taken, and nothing has changed. */
  installNew(path: RepoPath, bytes: Uint8Array): Promise<'done' | 'exists'>;
  /** Removes a file and the directories that become empty. */
  remove(path: RepoPath): Promise<void>;
  /** Removes the files that a killed install left next to a path. */
  removeLeftovers(path: RepoPath): Promise<void>;
  readState(path: RepoPath): Promise<FileState>;
  /** Writes atomically and never through a link; does not replace a directory. Throws DISK_FULL or WRITE_FAILED. */
  putState(path: RepoPath, state: FileState | NewFile): Promise<void>;
  /** Removes the directories that are empty, in this order; never follows a link. */
  removeEmptyDirectories(directories: RepoPath[]): Promise<void>;
  /**
   * Finds out whether the file or directory appeared at its path before or after `time`. `unsure`: the file itself is
   * older, but a parent directory has changed since, so the file may have moved with that directory.
   */
  findAge(path: RepoPath, time: Date): Promise<FileAge>;
}

/** The notes that a run makes while it runs. */
export interface RunJournal {
  /** Resolves once this record, and everything noted or kept earlier, is durable. Throws DISK_FULL or WRITE_FAILED. */
  append(record: JournalRecord): Promise<void>;
  /**
   * The note immediately survives a crash of the process, and survives a crash of the machine after the next `append`.
   * Creates no file before the first append.
   */
  note(record: JournalRecord): Promise<void>;
  /** Stores bytes and returns a key for reading them back. Throws DISK_FULL or WRITE_FAILED. */
  keep(bytes: Uint8Array): Promise<string>;
  read(key: string): Promise<Uint8Array>;
  /** Moves a file out of the work tree at `root` and returns its new path, so that a rollback loses nothing. */
  moveAside(root: string, path: RepoPath): Promise<string>;
  /** Undoes `moveAside`. Returns false when the file cannot move because its path is taken or the system refuses. */
  moveBack(root: string, path: RepoPath, from: string): Promise<boolean>;
  /** Closes the log but leaves it for the next command. */
  close(): Promise<void>;
  /** Removes the journal once the run has its report or has been rolled back. */
  discard(): Promise<void>;
}

/** A run that has no report yet. */
export interface LeftRun extends JournaledRun {
  journal: RunJournal;
}

/** The journals of all runs. Only the holder of a run's claim may begin or continue it. */
export interface RunJournals {
  /** Ensures that only one run of a turn is active, within a process and across processes. Throws LOCKED. */
  claim(place: RunDirs): Promise<RunClaim>;
  /** Returns the live process that is running the turn; null when there is none. */
  holder(place: RunDirs): Promise<number | null>;
  begin(place: RunDirs): RunJournal;
  find(place: RunDirs): Promise<LeftRun | null>;
  /** Lists the runs of all lines. Omits unreadable runs; a command on the run's line reports them. */
  list(): Promise<RunRecord[]>;
}

/** The files in `.teddy/` before a command ran. */
export interface KeptFiles {
  head: Head;
  scan: Scan;
  /** The files that may differ from HEAD, with their bytes on disk. */
  bytes: ReadonlyMap<RepoPath, Uint8Array>;
  /** The settings file on disk, tracked or not; null when there was none. */
  config: Uint8Array | null;
}

export interface Shell {
  /**
   * Runs a script in its own process group, with stdin closed. `cwd` is relative to the project. When the script ends,
   * so does every process that it started, even outside the group on systems with /proc.
   */
  run(
    script: string,
    options: {
      cwd: string;
      env: Record<string, string>;
      timeoutMs: number;
      signal: AbortSignal;
      /**
       * Called before the script, which begins once the returned promise resolves. If the promise rejects, the script
       * never begins and `run` rejects with the same error.
       */
      onStart?: (group: ProcessGroup) => void | Promise<void>;
      onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
    },
  ): Promise<CommandResult>;
  /**
   * Returns the script's processes that are still running, in the form that `kill` takes: the group as a negative
   * number, or processes that have left the group. Empty when that cannot be determined.
   */
  findRunning(group: ProcessGroup): Promise<number[]>;
}

/** Identifies the answer that is arriving. */
export interface AnswerTarget {
  /** The ID of the record that will contain the answer; shows whether the answer is already on the line. */
  id: string;
  session: SessionId;
  turn: TurnName;
  ref: RefName;
  /** The number of the turn's records with text when teddy asked the model. */
  recordCount: number;
  /** `exchange` when the answer consists of calls and their results, as transcript lines; absent for an answer's text. */
  unit?: 'exchange';
  /** True in a conversation, where an answer stays valid even if the user says more meanwhile. */
  isChat?: true;
  /** An answer to a question about a plan: always treated as text. */
  isQuestion?: true;
  /** The record of the message that the model is answering. */
  messageId?: string;
  provider: string;
  model: string;
  agent: string;
}

/**
 * An answer that teddy saves to disk as it arrives. No method throws: if the disk fails, a notice reports it, and the
 * answer stays in memory.
 */
export interface StagedAnswer {
  /** Never waits: the text becomes durable within seconds. An answer discarded earlier never reaches the disk. */
  add(text: string): void;
  /** Resolves once all added text is durable, unless the disk refuses it. */
  save(): Promise<void>;
  /** Call once the answer is on the line or no longer wanted. Nothing is written after that. */
  discard(): Promise<void>;
  /**
   * Call when the answer could not be put on the line. Any command may then recover the answer, even in this process.
   * Nothing is written after that.
   */
  leave(): Promise<void>;
}

/** An answer that a dead process left in staging. */
export interface LeftAnswer {
  text: string;
  /** The number of bytes at the end of `text` that no save has confirmed. */
  unconfirmedBytes: number;
  /** All bytes found, when some of them are not in `text`. */
  damaged: Uint8Array | null;
}

/** An answer that belongs to a dead process. */
export interface OrphanedAnswer {
  id: string;
  /** Null when the answer is damaged and nothing shows where it belongs. */
  place: AnswerTarget | null;
  /**
   * Takes over the answer, so that only one command recovers it; null when another command has already taken it over,
   * or when the answer cannot be read now.
   */
  claim(): Promise<LeftAnswer | null>;
  /** Call only after `claim`. */
  discard(): Promise<void>;
}

export interface AnswerStaging {
  /** Claims the right to answer a turn in a conversation, so that its tools run only once. Throws LOCKED. */
  claim(place: RunDirs): Promise<RunClaim>;
  begin(place: AnswerTarget): StagedAnswer;
  orphans(): Promise<OrphanedAnswer[]>;
  /** Reads the durable part of the answers that other processes are currently receiving. */
  arriving(session: SessionId): Promise<{ place: AnswerTarget; text: string }[]>;
}

/** A write session on disk. Only the process that opened the session may change it while it is open. */
export interface StagedWrite {
  readonly record: WriteRecord;
  /** The state that the last confirmed save recorded. */
  readonly state: WriteState;
  /**
   * Appends bytes to the content and replaces the state; resolves once both are durable and confirmed. Throws DISK_FULL
   * or WRITE_FAILED without confirming anything; the next call must then begin with the same bytes.
   */
  save(bytes: Uint8Array, state: WriteState): Promise<void>;
  /** Like `save`, with `bytes` as the whole content. */
  replace(bytes: Uint8Array, state: WriteState): Promise<void>;
  /** Reads the confirmed content. */
  read(): Promise<Uint8Array>;
  /** Removes the content but keeps the state, which records how the session ended. */
  dropContent(): Promise<void>;
  /** Removes the whole session. */
  remove(): Promise<void>;
  /**
   * Releases the session. With `goesOn`, a process that controls the session remains its controller; otherwise the
   * session no longer has a controller.
   */
  close(options?: { goesOn: boolean }): Promise<void>;
}

/** A write session that this process is about to begin. */
export type NewWrite = Omit<WriteRecord, 'pid' | 'bootId' | 'startTime' | 'nonce'>;

/** A write session on disk that this process has not opened. */
export interface FoundWrite {
  id: string;
  /** Null when nothing shows why the session was begun. */
  record: WriteRecord | null;
  /** Null when the state cannot be read or does not match the content. */
  state: WriteState | null;
  /** When any of the session's files was last written. */
  savedAt: Date;
  /** True when the session's controller is alive; false when there is none. */
  isControlled: boolean;
  /** The bytes on disk that no save has confirmed. */
  tailBytes: number;
  isDamaged: boolean;
}

/** All existing bytes in a session's content, for the user. */
export interface WriteContent {
  verified: Uint8Array;
  /** The bytes after `confirmed` that were written but never confirmed. For a damaged session, all bytes. */
  tail: Uint8Array;
  /** The tails that teddy set aside when it reopened the session, oldest first. `name` is the file's name. */
  aside: { name: string; bytes: Uint8Array }[];
}

/** The staging of write sessions: crash-safe files that all processes working in the repository share. */
export interface WriteStaging {
  /**
   * Creates the staging of a new session. When several processes begin at the same time, one succeeds. Throws
   * WRITE_ACTIVE while another session occupies the slot: a session that was begun or used within `idleExpiryMs`, is
   * not over, and has no dead controller.
   */
  begin(record: NewWrite, state: WriteState, limits: Limits): Promise<StagedWrite>;
  /**
   * Opens a session; null when it does not exist. Sets an unverified tail aside first. Throws LOCKED while another
   * process has the session open, or STAGING_DAMAGED.
   */
  open(id: string): Promise<StagedWrite | null>;
  /** Like `open`, but also makes this process the controller. Throws WRITE_ACTIVE while another session occupies the slot. */
  resume(id: string, limits: Limits): Promise<StagedWrite | null>;
  /** A cheap check that does not look at any session. */
  isEmpty(): Promise<boolean>;
  list(): Promise<FoundWrite[]>;
  find(id: string): Promise<FoundWrite | null>;
  /** Reads a session's content, even of a damaged session; null when the session does not exist. */
  readContent(id: string): Promise<WriteContent | null>;
  /** Returns only the tails set aside; empty when the session does not exist. */
  readTails(id: string): Promise<WriteContent['aside']>;
  /** Removes a session, even a damaged one. Throws LOCKED while another process has it open. */
  remove(id: string): Promise<void>;
  /** Returns the absolute path of the directory with a session's files. */
  directoryOf(id: string): string;
}

/** Lets other processes find the server of a repository. */
export interface ServerRecord {
  url: string;
  port: number;
  pid: number;
  /** Grants write access to the repository to anyone who sends this token. */
  token: string;
}

/** The right to be the repository's server. A process loses this right when it dies. */
interface ServerClaim {
  /** Publishes the record so that others can find the server. Throws DISK_FULL or WRITE_FAILED. */
  publish(record: ServerRecord): Promise<void>;
  /** Gives up the claim and removes the record. */
  release(): Promise<void>;
}

/** The commands that the user has allowed in a session's conversations. No commit contains them. */
export interface AllowedCommands {
  list(session: SessionId): Promise<AllowedCommand[]>;
  /** Replaces the list. Throws DISK_FULL, WRITE_FAILED. */
  keep(session: SessionId, commands: readonly AllowedCommand[]): Promise<void>;
}

export interface ServerRecords {
  /** The absolute path of the record, which only its owner can read. */
  readonly path: string;
  /** Reads the record of the running server; null when none is running or it has not published one yet. */
  read(): Promise<ServerRecord | null>;
  /** Claims the role of the repository's server. Throws SERVER_RUNNING, which names the URL, while another server runs. */
  claim(): Promise<ServerClaim>;
}

/** Any of the user's files, to be read piece by piece. */
export interface SourceFile {
  /** The path as typed by the user. */
  path: string;
  sizeBytes: number;
  /** Reads from the beginning. Throws FILE_NOT_FOUND. */
  read(): SourceReading;
}

export interface SourceReading {
  /** The decoded text, in pieces; `bytes` is the number of bytes from which a piece was decoded. */
  pieces: AsyncIterable<{ text: string; bytes: number }>;
  /** Returns the sha256 of the bytes read; call it once, at the end. */
  sha256(): string;
}

/** The destination of an export: a file, a directory, or stdout. */
export interface ExportTarget {
  /** The name shown to the user. */
  name: string;
  /** Checks the target before anything is read. Throws FILES_IN_THE_WAY, FILE_NOT_FOUND. */
  refuse(): Promise<void>;
  /** Writes everything or nothing. Throws DISK_FULL or WRITE_FAILED, and any error of `pieces`. */
  put(pieces: AsyncIterable<Uint8Array>): Promise<void>;
}

export interface ExportDirectory extends Omit<ExportTarget, 'put'> {
  /** Like `put` for a single file, but writes several files. */
  put(files: AsyncIterable<FileBelow>): Promise<void>;
}

/** The logs that one of this user's agents keeps in one folder for its sessions. */
export interface AgentLogDirectory {
  /** The folder, spelled as the agent spells it. */
  cwd: string;
  /** The provider of the agent's default models. */
  provider: string;
  /** True when the agent's program can be found. */
  isInstalled: boolean;
  /**
   * Adds a log that only its owner can read, and returns its path. Leaves nothing behind when it throws
   * FILES_IN_THE_WAY, DISK_FULL or WRITE_FAILED.
   */
  add(session: { id: string; startedAt: Date }, text: string): Promise<string>;
}

/** Private files outside every work tree, for a command to read. */
export interface ScratchFiles {
  /** Writes a file; `name` has no directory. Throws WRITE_FAILED. */
  write(name: string, bytes: Uint8Array): Promise<{ path: string; remove(): Promise<void> }>;
}

/** Something on disk that a killed process left behind or that another program put in the way. `path` is absolute. */
export type Remain =
  /** A command moved a line in the work tree at `root`, but did not update the index and files, or left the lock behind. */
  | { kind: 'publication'; path: string; root: string; ref: RefName; new: Oid }
  /** Like a `publication`, but without a work tree: some locks of these refs may be ours. */
  | { kind: 'ref-record'; path: string; refs: RefName[] }
  /** A git lock that no process of ours holds. `heldBy`: the processes known to have the lock file open. */
  | { kind: 'foreign-lock'; path: string; ageMs: number; heldBy: number[] }
  /** A partial file, or the remains of something finished; the file holds nothing of value. */
  | { kind: 'leftover'; path: string }
  /** The block in `info/attributes` was changed. */
  | { kind: 'attributes'; path: string }
  /** `place` is null when nothing says which line the answer belongs to. */
  | { kind: 'answer'; path: string; place: AnswerTarget | null; bytes: number; isDamaged: boolean }
  | { kind: 'write'; path: string; found: FoundWrite }
  /** `run` is null when its journal cannot be read. */
  | { kind: 'run'; path: string; run: JournaledRun | null }
  /** The record of a killed server. */
  | { kind: 'server'; path: string }
  /** A file in teddy's directory with a name that teddy does not use. */
  | { kind: 'stranger'; path: string };

/** An object on a line that git cannot read. */
export interface DamagedObject {
  oid: Oid;
  ref: RefName;
  /** The object's path in one of the line's commits; null when the object is a commit, or no file was found. */
  path: RepoPath | null;
}

/** Finds leftovers for `teddy doctor`. The search changes nothing and skips the files that a live process is using. */
export interface Remains {
  look(): Promise<Remain[]>;
  /** Repairs or removes a `publication`, `ref-record`, `leftover` or `server` if the leftover still exists. */
  clear(remain: Remain): Promise<void>;
  /**
   * Finds missing or empty objects among those reachable from `tips` but not from `not`. `objects` is the number of
   * checked objects.
   */
  checkObjects(tips: readonly RefTip[], not: readonly Oid[]): Promise<{ objects: number; damaged: DamagedObject[] }>;
  /** Lists the repository's commits that are not reachable from any ref or HEAD. */
  unreachableCommits(): Promise<Oid[]>;
  /** Returns the entry IDs of all reachable commits. */
  reachedEntryIds(): Promise<ReadonlySet<string>>;
  /** Returns the commits that refs have pointed to, according to the reflogs. */
  reflogCommits(): Promise<ReadonlySet<Oid>>;
}

/** Whether a file existed at its path before a given time; `unsure` when the disk does not reveal it. */
export type FileAge = 'before' | 'since' | 'unsure';
