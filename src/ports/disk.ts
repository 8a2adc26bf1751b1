/** The workflows' view of the disk and of processes: files, commands, journals, staging, leftovers. Types only. */
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../names.ts';
import type { JournalRecord, JournaledRun, ProcessGroup, RunRecord } from '../plan/report/journal.ts';
import type { CommandResult, FileState, FileTarget, NewFile } from './files.ts';
import type { AllowedCommand } from '../conversation/prompts/allowed-commands.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import type { WriteRecord, WriteState } from '../write/write.ts';
import type { FileBelow, Head, RefTip, RunClaim, RunDirs, Scan } from './git.ts';

/** The project's files on disk. Every path is contained: symlinks that lead out are found, never followed. */
export interface ProjectFiles {
  inspect(path: RepoPath): Promise<FileTarget>;
  /** An absolute path as one from the root, if it is below it, also through a link; null: it is elsewhere. */
  inside(path: string): Promise<string | null>;
  /**
   * Finds what stands there under a name that differs only in case or Unicode form, or that is this one once it is percent-decoded;
   * of the path or of a directory above it.
   */
  findTwin(path: RepoPath): Promise<RepoPath | null>;
  /**
   * Atomically: temporary file, fsync, rename, fsync of the directory. Keeps an existing mode, but for the execute bit where
   * `executable` is given; makes parents.
   */
  install(path: RepoPath, bytes: Uint8Array, executable?: boolean): Promise<void>;
  /** The same where nothing stands yet, in one step: `exists` when something does by then, and nothing has changed. */
  installNew(path: RepoPath, bytes: Uint8Array): Promise<'done' | 'exists'>;
  /** Removes a file, and the directories that are empty without it. */
  remove(path: RepoPath): Promise<void>;
  /** Removes what an install that was killed has left beside a path. */
  removeLeftovers(path: RepoPath): Promise<void>;
  readState(path: RepoPath): Promise<FileState>;
  /** Atomically, and never beyond a link; a directory is not replaced. Throws DISK_FULL or WRITE_FAILED. */
  putState(path: RepoPath, state: FileState | NewFile): Promise<void>;
  /** Those that are empty, in this order; never beyond a link. */
  removeEmptyDirectories(directories: RepoPath[]): Promise<void>;
  /**
   * Whether what stands there, a file or a directory, came there before `time`, or since. `unsure`: the file is older, and a
   * directory above it has changed since: it may have been moved with that.
   */
  findAge(path: RepoPath, time: Date): Promise<FileAge>;
}

/** The notes that a run makes as it goes. */
export interface RunJournal {
  /** Durable when it resolves, with all that was noted and kept before. Throws DISK_FULL or WRITE_FAILED. */
  append(record: JournalRecord): Promise<void>;
  /** Survives a crash of the process at once, one of the machine after the next `append`. Nothing is made before the first. */
  note(record: JournalRecord): Promise<void>;
  /** Keeps bytes; the key gives them back. Throws DISK_FULL or WRITE_FAILED. */
  keep(bytes: Uint8Array): Promise<string>;
  read(key: string): Promise<Uint8Array>;
  /** Moves a file out of the work tree at `root`, and says where it is now: a roll back loses nothing. */
  moveAside(root: string, path: RepoPath): Promise<string>;
  /** Undoes that. False: it stays where it is, since the path is taken by now or the system refuses. */
  moveBack(root: string, path: RepoPath, from: string): Promise<boolean>;
  /** The log stays, for the next command. */
  close(): Promise<void>;
  /** The run has its report, or was rolled back. */
  discard(): Promise<void>;
}

/** A run that has no report yet. */
export interface LeftRun extends JournaledRun {
  journal: RunJournal;
}

/** Whoever begins or goes on with a run holds its claim. */
export interface RunJournals {
  /** So that a turn is executed once at a time, within a process as among several. Throws LOCKED. */
  claim(place: RunDirs): Promise<RunClaim>;
  /** The process that executes the turn at this moment; null: none that lives. */
  holder(place: RunDirs): Promise<number | null>;
  begin(place: RunDirs): RunJournal;
  find(place: RunDirs): Promise<LeftRun | null>;
  /** Lists the runs of all lines. One that cannot be read is left out: whoever asks for its line hears of it. */
  list(): Promise<RunRecord[]>;
}

/** The files of `.teddy/` as they were before a command. */
export interface KeptFiles {
  head: Head;
  scan: Scan;
  /** Those that may differ from HEAD, as they were on disk. */
  bytes: ReadonlyMap<RepoPath, Uint8Array>;
  /** The settings, which are read from the disk, tracked or not. Null: there were none. */
  config: Uint8Array | null;
}

export interface Shell {
  /**
   * Runs a script in a process group of its own, stdin closed. `cwd` is relative to the project. What it started is ended with it,
   * also outside the group where there is a /proc.
   */
  run(
    script: string,
    options: {
      cwd: string;
      env: Record<string, string>;
      timeoutMs: number;
      signal: AbortSignal;
      /** The script begins when it has resolved, and never if it rejects: then `run` rejects with the same error. */
      onStart?: (group: ProcessGroup) => void | Promise<void>;
      onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
    },
  ): Promise<CommandResult>;
  /**
   * Names what of the group's script is still running, as `kill` takes it: the group, as a negative number, or processes that have left it.
   * Empty where that cannot be told.
   */
  findRunning(group: ProcessGroup): Promise<number[]>;
}

/** Which answer it is that arrives. */
export interface AnswerTarget {
  /** The id of the record that will hold the answer: an answer that is on the line already is known by it. */
  id: string;
  session: SessionId;
  turn: TurnName;
  ref: RefName;
  /** How many records of the turn had said something when the model was asked. */
  recordCount: number;
  /** Calls and their results, as lines of a transcript; without it, the text of an answer. */
  unit?: 'exchange';
  /** True in a conversation, where an answer stays valid whatever is said meanwhile. */
  isChat?: true;
  /** An answer about a plan: it is words, whatever it looks like. */
  isQuestion?: true;
  /** The record of the message that is answered. */
  messageId?: string;
  provider: string;
  model: string;
  agent: string;
}

/** An answer on disk while it arrives. None of these throws: without a disk the text is in memory alone, and a notice says so. */
export interface StagedAnswer {
  /** Never waits: what is added becomes durable within seconds. An answer that is discarded by then was never on disk. */
  add(text: string): void;
  /** When it resolves, all that was added is durable, if the disk takes it. */
  save(): Promise<void>;
  /** It is on the line now, or not wanted. Nothing is written after it. */
  discard(): Promise<void>;
  /** It could not be put on the line: from now on any command may recover it, this process too. Nothing is written after it. */
  leave(): Promise<void>;
}

/** An answer that a dead process left in staging. */
export interface LeftAnswer {
  text: string;
  /** How many bytes at the end of `text` no save has confirmed. */
  unconfirmedBytes: number;
  /** All bytes as they were found, when part of them is not in `text`. */
  damaged: Uint8Array | null;
}

/** An answer whose process is dead. */
export interface OrphanedAnswer {
  id: string;
  /** Null: damaged; nothing says where it belongs. */
  place: AnswerTarget | null;
  /** Takes it over, so that of several commands one recovers it; null: another has, or it cannot be read now. */
  claim(): Promise<LeftAnswer | null>;
  /** After `claim`. */
  discard(): Promise<void>;
}

export interface AnswerStaging {
  /** The right to answer a turn in a conversation: its tools are run once. Throws LOCKED. */
  claim(place: RunDirs): Promise<RunClaim>;
  begin(place: AnswerTarget): StagedAnswer;
  orphans(): Promise<OrphanedAnswer[]>;
  /** Reads the answers that other processes are receiving now, as far as they are durable. */
  arriving(session: SessionId): Promise<{ place: AnswerTarget; text: string }[]>;
}

/** A write session on disk. Whoever has it opened holds it: no other process changes it meanwhile. */
export interface StagedWrite {
  readonly record: WriteRecord;
  /** The state that the last confirmed save has recorded. */
  readonly state: WriteState;
  /**
   * Adds bytes to the content and replaces the state; durable and confirmed when it resolves. Throws DISK_FULL or
   * WRITE_FAILED, and has confirmed nothing then: the next call begins with the same bytes.
   */
  save(bytes: Uint8Array, state: WriteState): Promise<void>;
  /** The same with `bytes` as the whole content. */
  replace(bytes: Uint8Array, state: WriteState): Promise<void>;
  /** The content that is confirmed. */
  read(): Promise<Uint8Array>;
  /** The content is gone, and the state stays: it says how the session has ended. */
  dropContent(): Promise<void>;
  /** All of it is gone. */
  remove(): Promise<void>;
  /** Lets others have it. With `goesOn` this process stays its controller, if it is; else it is received by nobody any more. */
  close(options?: { goesOn: boolean }): Promise<void>;
}

/** To be begun by this process. */
export type NewWrite = Omit<WriteRecord, 'pid' | 'bootId' | 'startTime' | 'nonce'>;

/** A write session that was found, without holding it. */
export interface FoundWrite {
  id: string;
  /** Null: nothing says what it was begun for. */
  record: WriteRecord | null;
  /** Null: it cannot be read, or is not what the content confirms. */
  state: WriteState | null;
  /** When anything was last written of it. */
  savedAt: Date;
  /** Its controller is alive; false when it has none. */
  isControlled: boolean;
  /** Bytes on disk that no save has confirmed. */
  tailBytes: number;
  isDamaged: boolean;
}

/** Everything that is there of a content, for a person. */
export interface WriteContent {
  verified: Uint8Array;
  /** The bytes beyond it that were written and never confirmed. For a damaged session, all bytes. */
  tail: Uint8Array;
  /** Tails that were set aside when it was opened again, oldest first. `name`: of the file. */
  aside: { name: string; bytes: Uint8Array }[];
}

/** The staging of write sessions: crash-safe files, shared by all processes that work in the repository. */
export interface WriteStaging {
  /**
   * Makes the staging of a new session. Of several processes that begin at once one succeeds. Throws WRITE_ACTIVE while
   * another one holds the slot: begun or used within `idleExpiryMs`, not over, and its controller, if it has one, alive.
   */
  begin(record: NewWrite, state: WriteState, limits: Limits): Promise<StagedWrite>;
  /** Null: there is none. Sets an unverified tail aside first. Throws LOCKED while another has it, STAGING_DAMAGED. */
  open(id: string): Promise<StagedWrite | null>;
  /** The same by who receives it from now on: this process is its controller then. Throws WRITE_ACTIVE while another holds the slot. */
  resume(id: string, limits: Limits): Promise<StagedWrite | null>;
  /** Cheap: no session is looked at. */
  isEmpty(): Promise<boolean>;
  list(): Promise<FoundWrite[]>;
  find(id: string): Promise<FoundWrite | null>;
  /** Also of a damaged one; null: there is none. */
  readContent(id: string): Promise<WriteContent | null>;
  /** Only what was set aside; empty when there is no such session. */
  readTails(id: string): Promise<WriteContent['aside']>;
  /** Also of a damaged one. Throws LOCKED while another has it. */
  remove(id: string): Promise<void>;
  /** The directory of a session's files, absolute. */
  directoryOf(id: string): string;
}

/** How other processes find the server of a repository. */
export interface ServerRecord {
  url: string;
  port: number;
  pid: number;
  /** Whoever sends it may write to the repository. */
  token: string;
}

/** The right to be the server of the repository. A process that dies loses it. */
interface ServerClaim {
  /** Lets others find it. Throws DISK_FULL or WRITE_FAILED. */
  publish(record: ServerRecord): Promise<void>;
  /** The record goes with it. */
  release(): Promise<void>;
}

/** The commands that the user has allowed in conversations of a session. They are in no commit. */
export interface AllowedCommands {
  list(session: SessionId): Promise<AllowedCommand[]>;
  /** Replaces the list. Throws DISK_FULL, WRITE_FAILED. */
  keep(session: SessionId, commands: readonly AllowedCommand[]): Promise<void>;
}

export interface ServerRecords {
  /** Absolute: where the record is, for its user alone. */
  readonly path: string;
  /** Reads the record of the server that is running; null when none is, or when it has not published one yet. */
  read(): Promise<ServerRecord | null>;
  /** Throws SERVER_RUNNING, which names its URL, while another one is running. */
  claim(): Promise<ServerClaim>;
}

/** A file of the user's, wherever it lies, to be read piece by piece. */
export interface SourceFile {
  /** The path in the user's words. */
  path: string;
  sizeBytes: number;
  /** From its beginning. Throws FILE_NOT_FOUND. */
  read(): SourceReading;
}

export interface SourceReading {
  /** The text, decoded; `bytes`: how many were read for it. */
  pieces: AsyncIterable<{ text: string; bytes: number }>;
  /** The sha256 of the bytes that were read; to be called once, at the end. */
  sha256(): string;
}

/** Where an export goes: a file, a directory, stdout. */
export interface ExportTarget {
  /** For a person. */
  name: string;
  /** Before anything is read. Throws FILES_IN_THE_WAY, FILE_NOT_FOUND. */
  refuse(): Promise<void>;
  /** Whole or not at all. Throws DISK_FULL or WRITE_FAILED, and whatever `pieces` throws. */
  put(pieces: AsyncIterable<Uint8Array>): Promise<void>;
}

export interface ExportDirectory extends Omit<ExportTarget, 'put'> {
  /** The same for files. */
  put(files: AsyncIterable<FileBelow>): Promise<void>;
}

/** The logs that an agent of this user keeps of its sessions in one folder. */
export interface AgentLogDirectory {
  /** The folder, as the agent names it. */
  cwd: string;
  /** Whose models the agent asks when nobody says otherwise. */
  provider: string;
  /** Whether its program can be found. */
  isInstalled: boolean;
  /**
   * Adds a log that only its owner may read, and returns its path. Throws FILES_IN_THE_WAY, DISK_FULL or WRITE_FAILED; then
   * nothing is there that was not.
   */
  add(session: { id: string; startedAt: Date }, text: string): Promise<string>;
}

/** Files for a command to read, outside of every work tree, for nobody else's eyes. */
export interface ScratchFiles {
  /** `name`: without a directory. Throws WRITE_FAILED. */
  write(name: string, bytes: Uint8Array): Promise<{ path: string; remove(): Promise<void> }>;
}

/** Something on disk that a process which was killed has left, or that somebody else has put in the way. `path`: absolute. */
export type Remain =
  /** A command moved a line in the work tree at `root`, and index and files have not followed, or the lock is still there. */
  | { kind: 'publication'; path: string; root: string; ref: RefName; new: Oid }
  /** The same without a work tree: locks of these refs may be ours. */
  | { kind: 'ref-record'; path: string; refs: RefName[] }
  /** A lock of git's that nobody of ours holds. `heldBy`: processes that have it open, as far as the system says. */
  | { kind: 'foreign-lock'; path: string; ageMs: number; heldBy: number[] }
  /** Half of a file, or the rest of something that is over: nothing in it is needed by anybody. */
  | { kind: 'leftover'; path: string }
  /** The block in `info/attributes` was changed. */
  | { kind: 'attributes'; path: string }
  /** `place` null: nothing says where the answer belongs. */
  | { kind: 'answer'; path: string; place: AnswerTarget | null; bytes: number; isDamaged: boolean }
  | { kind: 'write'; path: string; found: FoundWrite }
  /** `run` null: its journal cannot be read. */
  | { kind: 'run'; path: string; run: JournaledRun | null }
  /** The record of a server that was killed. */
  | { kind: 'server'; path: string }
  /** In the directory of teddy, and none of its names. */
  | { kind: 'stranger'; path: string };

/** An object of a line that git cannot read. */
export interface DamagedObject {
  oid: Oid;
  ref: RefName;
  /** Where a commit of the line has it; null: it is a commit, or no file was found. */
  path: RepoPath | null;
}

/** For `teddy doctor`. Looking changes nothing, and what a living process is at work on is not told. */
export interface Remains {
  look(): Promise<Remain[]>;
  /** Puts right or removes a `publication`, `ref-record`, `leftover` or `server`, if it still is one. */
  clear(remain: Remain): Promise<void>;
  /** Objects that are missing or empty, of what these tips have and `not` has not. `objects`: how many were looked at. */
  checkObjects(tips: readonly RefTip[], not: readonly Oid[]): Promise<{ objects: number; damaged: DamagedObject[] }>;
  /** Commits of the repository that no ref and no HEAD reaches. */
  unreachableCommits(): Promise<Oid[]>;
  /** The entry ids of all commits that can be reached. */
  reachedEntryIds(): Promise<ReadonlySet<string>>;
  /** Commits that a ref was at, as far as the reflogs know. */
  reflogCommits(): Promise<ReadonlySet<Oid>>;
}

/** Whether a file was there at a time; `unsure` where the disk does not tell. */
export type FileAge = 'before' | 'since' | 'unsure';
