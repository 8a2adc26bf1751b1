/** What the workflows need of the outside world. Types only: `git`, `model` and `system` implement them. */
import type { JournaledRun, JournalRecord, ProcessGroup, RunRecord } from './plan/journal.ts';
import type { MaskedSecret } from './session/mask.ts';
import type { FoundSetting } from './session/decide-setting.ts';
import type { Oid, RefName, RepoPath, SessionId, TurnName } from './session/names.ts';
import type { SettingName } from './session/settings.ts';
import type { Limits } from './write/limits.ts';
import type { Finding, WriteRecord, WriteState } from './write/write.ts';

export type Hash = (bytes: Uint8Array | string) => string;

export interface Clock {
  now(): Date;
}

export interface Ids {
  /** A UUID v7: ordered by time. */
  entryId(): string;
  /** A UUID v4. */
  writeId(): string;
}

/** For what a process leaves behind when it is killed. */
export interface ProcessNames {
  /** Of this process: digits, lower-case letters and hyphens. No other process has it, nor will have it. */
  ownName(): Promise<string>;
  /** Null: no process is called so. */
  isAlive(name: string): Promise<boolean | null>;
}

/** Short-lived facts for a person who waits or has to know; never results. */
export interface Notices {
  info(text: string): void;
  warn(text: string): void;
  /** Asks the person who waits yes or no; absent where there is nobody to ask. */
  confirm?(question: string): Promise<boolean>;
}

// --- git -----------------------------------------------------------------------------------------------------------

export type TreeMode = '100644' | '100755' | '120000' | '160000' | '40000';

export interface TreeEntry {
  mode: TreeMode;
  name: string;
  oid: Oid;
  /** The name's bytes, where they are not UTF-8: they have to survive a rewrite of the tree. */
  rawName?: Uint8Array;
}

export interface Commit {
  tree: Oid;
  parents: Oid[];
  /** Raw identity lines: `Name <email> <seconds> <zone>`. */
  author: string;
  committer: string;
  message: string;
}

/** Objects that become durable together. Ids are known at once, nothing is on disk before `flush` resolves. */
export interface ObjectBatch {
  blob(bytes: Uint8Array | string): Promise<Oid>;
  tree(entries: TreeEntry[]): Promise<Oid>;
  commit(commit: Commit): Promise<Oid>;
  flush(): Promise<void>;
}

export interface RefTip {
  ref: RefName;
  oid: Oid;
}

/** `old` null: the ref must not exist yet. `new` null: delete it. */
export interface RefUpdate {
  ref: RefName;
  old: Oid | null;
  new: Oid | null;
}

export interface Ident {
  author: string;
  committer: string;
}

/** A commit on top of the one before it: its tree is that one's with one more file, or with another version of one. */
export interface LineCommit extends Ident {
  message: string;
  file: { path: RepoPath; bytes: Uint8Array };
}

export interface Signature {
  state: 'good' | 'bad' | 'unknown';
  /** Fingerprints of the key that has signed, as git shows them, and of its primary key; none where git cannot tell, or it is revoked. */
  keys: string[];
}

export interface SignatureOptions {
  /** Also of ssh keys where git was told of no allowed signers: such a signature is `unknown`, and names its key. */
  withKeys?: boolean;
  signal?: AbortSignal | undefined;
}

/** The objects and refs of one repository, shared by all its work trees. */
export interface Store {
  readonly objectFormat: 'sha1' | 'sha256';
  /** These throw DAMAGED_SESSION when the object is missing or of another type. */
  readBlob(oid: Oid): Promise<Uint8Array>;
  readTree(oid: Oid): Promise<TreeEntry[]>;
  readCommit(oid: Oid): Promise<Commit>;
  /** The file (or link) at a path of a commit or tree; null when there is none. */
  readFile(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; bytes: Uint8Array } | null>;
  /** The tree at a path of a commit or tree; null when there is none. */
  readDir(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; entries: TreeEntry[] } | null>;
  /** Size in bytes; null when there is no such object. */
  readSize(oid: Oid): Promise<number | null>;
  /** The commit that a revision names, or null. `revision` is never taken as an option. */
  resolve(revision: string): Promise<Oid | null>;
  listRefs(...prefixes: string[]): Promise<RefTip[]>;
  /** The same with the messages of the commits, in one go. */
  listTips(...prefixes: string[]): Promise<(RefTip & { message: string })[]>;
  /** Commits from `from` along first parents, newest first, none of them reachable from `not`. */
  firstParents(from: Oid, not?: Oid[]): AsyncIterable<{ oid: Oid; commit: Commit }>;
  /**
   * The same of several commits at once, by one git process: each commit once, never before one that it is a first parent of
   * has named it. The process ends when the reader stops. Throws GIT_FAILED where an object is missing.
   */
  firstParentsOf(tips: readonly Oid[]): AsyncIterable<{ oid: Oid; parent: Oid | null; message: string }>;
  /** Whether a commit or tree has something at a path. Many are asked at once at little cost. */
  hasPath(treeish: Oid, path: RepoPath): Promise<boolean>;
  /**
   * Commits up to `from` along first parents, oldest first, none of them reachable from `not`, each with what it changed against
   * its first parent (one without a parent, against nothing; as at the end of a shallow clone). It is for many: the rate is
   * some thousands a second. Throws DAMAGED_SESSION where an object is missing.
   */
  walkChanges(from: Oid, not: readonly Oid[]): AsyncIterable<ChangedCommit>;
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Whether its history is cut off, as in a shallow clone. */
  isShallow(): Promise<boolean>;
  /** Of the commits that `walkChanges` gives, those that are signed, as git judges them; `unknown`: it cannot. In one go. */
  checkSignatures(from: Oid, not: readonly Oid[], options?: SignatureOptions): Promise<Map<Oid, Signature>>;
  /** What `git fsck` finds wrong with the repository and with what is reachable from these commits, a line each. */
  fsck(tips: readonly Oid[]): Promise<string[]>;
  /** The best common ancestor of a commit and what a merge of all the others would be; null: there is none. */
  mergeBase(commit: Oid, others: readonly Oid[]): Promise<Oid | null>;
  /** Commits that `from` reaches and none of `not` does, by any parent, whose message holds this text; the newest first. */
  findReachable(text: string, from: Oid, not: readonly Oid[]): Promise<Oid[]>;
  /** Commits along the first parents of the refs below these prefixes whose message holds this text, in one go. */
  findCommits(text: string, ...prefixes: string[]): Promise<Oid[]>;
  /** Every file below a tree, in git's order, links and submodules included. */
  listTree(treeish: Oid): Promise<TreeFile[]>;
  /**
   * The wanted files below a directory of a commit or tree, in git's order, their paths counted from there; nothing when
   * there is no such directory. They come as many at a time as there are: it is for many small ones, and costs two processes.
   * Throws DAMAGED_SESSION, GIT_FAILED.
   */
  readFilesBelow(treeish: Oid, dir: RepoPath, isWanted: (path: string) => boolean): AsyncIterable<FileBelow[]>;
  /** What differs between two trees, path by path; a rename is a deletion and an addition. Null is the empty tree. */
  diffTrees(before: Oid | null, after: Oid): Promise<TreeChange[]>;
  /**
   * What git's own merge makes of three trees. `tree` null: these paths are in conflict, and nothing is kept. Nothing is
   * checked out. Throws DAMAGED_SESSION, GIT_FAILED.
   */
  mergeTrees(
    base: Oid,
    ours: Oid,
    theirs: Oid,
  ): Promise<{ tree: Oid; conflicts: [] } | { tree: null; conflicts: RepoPath[] }>;
  /** Lines of the text files of a commit or tree; `.teddy` is left out. Throws what `Workspace.search` throws. */
  search(treeish: Oid, query: TextQuery): Promise<TextHits[]>;
  /** A git bundle of a branch with all of its history, piece by piece. Throws DAMAGED_SESSION where that is cut off. */
  bundle(ref: RefName): AsyncIterable<Uint8Array>;
  batch(): ObjectBatch;
  /**
   * Writes many commits in a row, the first on `parent`, and returns the last (`parent`, if there are none). No ref moves; no
   * object is there before all are, and durable; none stays if `commits` throws. It is asked for the next one when the last
   * is written. A directory is not come back to once the commits have gone on to another one beside it.
   */
  writeLine(parent: Oid, commits: AsyncIterable<LineCommit>): Promise<Oid>;
  /**
   * All or nothing, by compare-and-swap. `moved`: some ref was not at its old value, and nothing was changed. With
   * `durable`, objects are still being written: no ref moves before that resolves, nor if it fails.
   */
  updateRefs(updates: RefUpdate[], reflog: string, durable?: Promise<void>): Promise<'done' | 'moved'>;
  /** Author and committer as git would use them; throws NO_IDENTITY as git refuses. */
  ident(): Promise<Ident>;
  /** A setting of git's configuration, the last value; `teddy.model`. */
  setting(key: string): Promise<string | undefined>;
  /** Where that value is set: `local .git/config`, `global ~/.gitconfig`, `command line`. */
  settingOrigin(key: string): Promise<string | undefined>;
  /** All settings whose key begins so, the last value of each. Keys as git prints them: lower case but for the subsection. */
  settings(prefix: string): Promise<{ key: string; value: string }[]>;
}

/** A work tree of the repository, the main one or a linked one. `ref` null: detached. */
export interface WorkTree {
  root: string;
  ref: RefName | null;
}

/** One that `git worktree add` made, as git has it on record. */
export interface LinkedWorkTree extends WorkTree {
  /** What HEAD is at; null: its branch has no commit. */
  oid: Oid | null;
  /** Its directory is not there any more. */
  isGone: boolean;
  /** The reason of `git worktree lock`, which may be empty; null: it is not locked. */
  lock: string | null;
  /** The line that teddy made it for; null: somebody else made it. */
  madeFor: RefName | null;
  /** Teddy was killed while it was made, or is at it now: files are missing, and HEAD is on no branch. */
  isUnfinished: boolean;
}

export interface ScratchTree {
  workspace: Workspace;
  /** Its own: what its commands make is in no other. */
  store: Store;
  /** For commands that are run there. */
  env: Record<string, string>;
  /** Whether its repository is still there, and the same one. */
  isIntact(): Promise<boolean>;
  /**
   * Its tracked files become those of the commit; what git does not track stays, as in a work tree that is used on. False: what
   * a command has left does not allow that, and another one is needed.
   */
  moveTo(commit: Oid): Promise<boolean>;
  remove(): Promise<void>;
}

/** What can be derived again; any of it may be gone at any time. */
export interface Cache {
  read(key: string): Promise<Uint8Array | null>;
  /** The pieces one after the other. */
  write(key: string, pieces: readonly Uint8Array[]): Promise<void>;
}

/** Which run it is: a line executes a turn once at a time, and two lines may have a turn of the same name. */
export interface RunPlace {
  session: SessionId;
  turn: TurnName;
  ref: RefName;
}

/** The right to execute a turn. A process that dies loses it. */
export interface RunClaim {
  release(): Promise<void>;
}

export interface Repository {
  readonly store: Store;
  /** Null in a bare repository. */
  readonly workspace: Workspace | null;
  /** The main one first; without those that are gone. */
  workTrees(): Promise<WorkTree[]>;
  linkedWorkTrees(): Promise<LinkedWorkTree[]>;
  /** Makes a linked work tree with the branch checked out in it; its root. All or nothing. Throws LINE_CHECKED_OUT. */
  addWorkTree(ref: RefName): Promise<string>;
  /** With git's own checks, never by force; ignored files go with it. Throws WORK_TREE_IN_USE, UNCOMMITTED_EDITS. */
  removeWorkTree(root: string): Promise<void>;
  /** What git ignores in a work tree, a directory as one: `node_modules/`. */
  ignoredFilesOf(root: string): Promise<string[]>;
  openWorkspace(root: string): Promise<Workspace>;
  /**
   * A work tree in a temporary directory, with HEAD detached at the commit, in a repository of its own that reads the objects of
   * this one: no command there can move anything here by its git. `remove` leaves nothing of it.
   */
  openScratch(commit: Oid): Promise<ScratchTree>;
  readonly cache: Cache;
  readonly hooks: Hooks;
  readonly remotes: Remotes;
  /** A process that lives long asks git's configuration anew: somebody may have changed it. */
  reloadSettings(): void;
  /** Writes teddy's marked block in `info/attributes`, once. */
  installAttributes(): Promise<void>;
  /** What git's credential helpers keep for a URL and the user name `teddy`; null when nothing. Nobody is asked. */
  credential(url: string): Promise<string | null>;
  close(): Promise<void>;
}

export type HookName = 'prepare-commit-msg' | 'commit-msg' | 'post-rewrite' | 'pre-push' | 'post-checkout';

/** What a hook finds teddy by, where it is not on PATH. Absolute. */
export interface HookProgram {
  node: string;
  main: string;
}

/** The hooks as they come with teddy, and who installs them. */
export interface HookSource {
  program: HookProgram;
  /** Throws FILE_NOT_FOUND. */
  readScript(name: HookName): Promise<string>;
}

/** Of a commit that is being made. A character for each byte, whatever the encoding. */
export interface MessageFile {
  /** Throws FILE_NOT_FOUND. */
  read(): Promise<string>;
  write(text: string): Promise<void>;
}

/** Where git looks for the hooks of this repository. */
export interface HookPlace {
  /** Absolute. */
  dir: string;
  /**
   * `own`: it is this repository's alone. `shared`: the configuration of the user or of the machine names it, for other
   * repositories as well. `work-tree`: it lies among the files of the project.
   */
  kind: 'own' | 'shared' | 'work-tree';
  /** Where `core.hooksPath` is set: `local .git/config`. Null: it is not set. */
  origin: string | null;
}

export interface HookFile {
  /** Null: it is a directory, a device, or too large for a script; nothing that git would run, or that can be looked into. */
  text: string | null;
  isExecutable: boolean;
}

/** The scripts that git runs. Paths are absolute. All but `locate` throw WRITE_FAILED. */
export interface Hooks {
  locate(): Promise<HookPlace>;
  /** Null: there is none. */
  read(path: string): Promise<HookFile | null>;
  /** Makes a second name for the file, which stays what it is, mode and all; never in place of another file. */
  keep(path: string, as: string): Promise<void>;
  /** Atomically, executable; makes the directory. */
  install(path: string, script: string): Promise<void>;
  /** Atomically in place of the file at `path`; null: that is removed. */
  putBack(path: string, kept: string | null): Promise<void>;
}

/** How a transfer goes on; `phase` in git's words: `Writing objects`. Total null: not known. */
export interface TransferProgress {
  phase: string;
  done: number;
  total: number | null;
}

export interface TransferOptions {
  signal: AbortSignal;
  onProgress?: ((progress: TransferProgress) => void) | undefined;
}

/**
 * Other repositories: what is configured, a URL or a path, with git's own transports and credentials; nobody is asked for any.
 * All throw UNKNOWN_REMOTE, REMOTE_UNREACHABLE (after retries with jitter where a retry can help), INTERRUPTED.
 */
export interface Remotes {
  /** Those that git's configuration names. */
  names(): Promise<string[]>;
  /** The remote's refs below these prefixes, and whether it has any ref at all. */
  list(
    remote: string,
    prefixes: readonly string[],
    options: TransferOptions,
  ): Promise<{ refs: RefTip[]; isEmpty: boolean }>;
  /**
   * Brings refs of the remote below `refs/teddy/quarantine/`, replacing what is there: no other ref moves, no tag comes
   * along, FETCH_HEAD is not written. Objects are checked as `transfer.fsckObjects` does. Throws HOSTILE_SESSION where
   * they are refused.
   */
  fetch(remote: string, refs: readonly { from: RefName; to: RefName }[], options: TransferOptions): Promise<void>;
  /**
   * All or nothing, each ref by its lease (`old` null: it must not be there yet; `new` null: delete), never by force. `moved`:
   * a lease did not hold, and nothing has changed. Throws REMOTE_REFUSED in the server's words.
   */
  push(remote: string, updates: readonly RefUpdate[], options: TransferOptions): Promise<'done' | 'moved'>;
}

export interface TreeFile {
  path: RepoPath;
  mode: TreeMode;
  oid: Oid;
}

/** `path` is relative to the directory that was asked for. */
export interface FileBelow {
  path: string;
  bytes: Uint8Array;
}

/** Lines that contain `text`, or match it as a regular expression. */
export interface TextQuery {
  /** One line. */
  text: string;
  isRegex: boolean;
  /** For letters of ASCII. */
  ignoresCase: boolean;
  /** A file or a directory; null: everywhere. */
  path: RepoPath | null;
  signal: AbortSignal;
}

/** Of one file, the numbers (from 1) of the first lines that match. */
export interface TextHits {
  path: RepoPath;
  lines: number[];
}

export interface TreeChange {
  path: RepoPath;
  change: 'added' | 'modified' | 'deleted';
  before: Oid | null;
  after: Oid | null;
  mode: TreeMode | null;
}

/** `mode` and `oldMode`: after and before; null where it is not there. */
export interface CommitChange extends TreeChange {
  oldMode: TreeMode | null;
}

export interface ChangedCommit {
  oid: Oid;
  commit: Commit;
  changes: CommitChange[];
}

export interface Head {
  /** The branch that HEAD is on, or null when it is detached. */
  ref: RefName | null;
  /** Null while the branch is unborn. */
  oid: Oid | null;
}

/** A tracked path that is not as HEAD has it. `staged` and `unstaged` are git's status letters, `.` for unchanged. */
export interface Edit {
  path: RepoPath;
  staged: string;
  unstaged: string;
  submodule: boolean;
  /** As git quotes it, where the name is not UTF-8: `path` then shows it, and git would not find the file by it. */
  quotedName?: string;
}

export interface WorkspaceStatus {
  edits: Edit[];
  unmerged: RepoPath[];
  untracked: RepoPath[];
}

/**
 * Which paths differ from HEAD, each with a print: git's two status letters (`??`: untracked), a space, and a fingerprint of
 * what is on disk. Two scans tell what happened in between. Another repository, submodules included, ends with `/`.
 */
export type Scan = ReadonlyMap<RepoPath, string>;

/** The move of a line to its next entry, as it has to reach the ref, the index and `.teddy/` on disk. */
export interface Publication {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  reflog: string;
  /** While objects are still being written: the ref moves when they are durable, and not if this fails. */
  durable?: Promise<void>;
  /** When HEAD is on the line: index entries to set (null: remove), exactly the paths that the commit changed. */
  index: { path: RepoPath; entry: { mode: TreeMode; oid: Oid } | null }[];
  /** Files of `.teddy/` to write after the ref has moved; null: to remove. */
  files: { path: RepoPath; bytes: Uint8Array | null }[];
}

/** One work tree of the repository, with its HEAD and index. */
export interface Workspace {
  /** Absolute. */
  readonly root: string;
  head(): Promise<Head>;
  /** `rebase`, `merge`, ... while git is in the middle of one, also when `ref` is being rebased in any work tree. */
  operationInProgress(ref: RefName | null): Promise<string | null>;
  /** With `path` of it alone: no other file is looked at. */
  status(options: { untracked: boolean; path?: RepoPath }): Promise<WorkspaceStatus>;
  /** The tree of what is staged plus tracked edits, without those in `except`; the user's index is not touched. Durable. */
  snapshotTree(except: RepoPath[]): Promise<Oid>;
  /** The tree of `base` with exactly these paths as they are on disk (through git's filters). Durable. */
  treeOfPaths(base: Oid, paths: RepoPath[]): Promise<Oid>;
  scan(): Promise<Scan>;
  /** Directories without a tracked file that git does not ignore, the empty ones too, but those below another such one. */
  untrackedDirectories(): Promise<RepoPath[]>;
  /** Files at or below a path that git does not track, ignored ones included. */
  untrackedBelow(path: RepoPath): Promise<RepoPath[]>;
  /** Untracked paths, of these, that git ignores. */
  ignored(paths: RepoPath[]): Promise<RepoPath[]>;
  /**
   * Lines of the text files on disk, tracked ones and untracked ones that git does not ignore; `.teddy` and other repositories
   * are left out. Throws ACTION_FAILED for an expression that is none, or that takes too long; INTERRUPTED.
   */
  search(query: TextQuery): Promise<TextHits[]>;
  /** Moves the ref by compare-and-swap, and index and files with it. `moved`: nothing was changed. */
  publish(publication: Publication): Promise<'done' | 'moved'>;
  /** Finishes or takes back what a crash of ours left between objects and index. Says what it did. */
  repair(): Promise<string[]>;
  /** A file of the work tree as it is on disk, not following a link at its end; null when there is none. */
  readDisk(path: RepoPath): Promise<Uint8Array | null>;
  /**
   * The bytes that git would write to each path for its blob: through the user's filters and line endings. Each path once;
   * all are in memory together. Throws GIT_FAILED when one of the blobs is missing or its filter refuses it.
   */
  readCheckouts(files: { path: RepoPath; oid: Oid }[]): Promise<Map<RepoPath, Uint8Array>>;
  /** How many bytes `readDisk` would read; null when there is nothing to read. */
  sizeOnDisk(path: RepoPath): Promise<number | null>;
  /** Writes a file of `.teddy/` again that the line has and the disk has lost. Null: removes one. */
  writeSessionFile(path: RepoPath, bytes: Uint8Array | null): Promise<void>;
  /** Sets the index entries of these paths to those of HEAD, as `git restore --staged` does. */
  unstage(paths: RepoPath[]): Promise<void>;
  /** Switches HEAD to a branch with git's own checkout and its safety rules. */
  switchTo(ref: RefName): Promise<void>;
  /**
   * Moves the branch that HEAD is on, index and files with it, to a descendant, as `git merge --ff-only --no-autostash` does.
   * Throws FILES_IN_THE_WAY where somebody's changes would be lost, REF_MOVED where it is none; nothing has changed then.
   */
  fastForward(commit: Oid): Promise<void>;
}

// --- files and commands ----------------------------------------------------------------------------------------------

/** What stands at a path of the project, after following symlinks inside it. */
export type FileTarget =
  /** `real`: where it lies, or would lie, when the path goes through symlinks. */
  | { kind: 'absent'; real?: RepoPath }
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

/** What stands at a path itself, with links as links. `mode`: permission bits. `other`: a directory, a device. */
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

/** The project's files on disk. Every path is contained: symlinks that lead out are found, never followed. */
export interface ProjectFiles {
  inspect(path: RepoPath): Promise<FileTarget>;
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
  findAge(path: RepoPath, time: Date): Promise<'before' | 'since' | 'unsure'>;
}

/** What a run notes down as it goes. */
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
  claim(place: RunPlace): Promise<RunClaim>;
  begin(place: RunPlace): RunJournal;
  find(place: RunPlace): Promise<LeftRun | null>;
  /** Of all lines. What cannot be read is left out: who asks for it by its place hears of it. */
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

/** A command that a conversation runs, and what puts `.teddy/` back. */
export interface CommandNote extends RunPlace {
  /** Absolute: the work tree that it runs in. */
  root: string;
  /** That is not the main one. */
  isLinked: boolean;
  /** ISO 8601. */
  startedAt: string;
  kept: KeptFiles;
}

export interface OpenCommandNote {
  /** Before the command begins: kept at once, as far as a crash of the process goes. Throws DISK_FULL or WRITE_FAILED. */
  started(group: ProcessGroup): void;
  /** The command has ended, and `.teddy/` is as it was. Throws WRITE_FAILED. */
  discard(): Promise<void>;
  /** It has ended, and the rest is for the next command. Throws WRITE_FAILED. */
  leave(): Promise<void>;
}

/** Of a command whose process is dead. Whoever has it holds it until `discard` or `release`. */
export interface LeftCommand {
  /** Absolute: where the note is. */
  path: string;
  /** Null: damaged; nothing says what it was of. */
  note: CommandNote | null;
  /** Null: it was not started, as far as is known. */
  group: ProcessGroup | null;
  discard(): Promise<void>;
  release(): Promise<void>;
}

/** Notes of the commands that conversations run, each from before its start until `.teddy/` is as it was. */
export interface CommandNotes {
  /** Durable when it resolves. Throws DISK_FULL or WRITE_FAILED. */
  begin(note: CommandNote): Promise<OpenCommandNote>;
  /** The newest first. Throws LOCKED while another command settles one, WRITE_FAILED where they cannot be read. */
  left(): Promise<LeftCommand[]>;
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
}

export interface Shell {
  /** Runs a script in a process group of its own, stdin closed. `cwd` is relative to the project. */
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
  /** Whether anything of the group is still running; false where that cannot be told. */
  isRunning(group: ProcessGroup): Promise<boolean>;
}

// --- models -----------------------------------------------------------------------------------------------------------

/** A function that the model may call. */
export interface ModelTool {
  name: string;
  description: string;
  /** A JSON Schema of an object. */
  parameters: Record<string, unknown>;
}

export interface ModelToolCall {
  /** Unique in its answer; ours, where the server gives none. */
  id: string;
  name: string;
  /** As the model wrote them: JSON, if it wrote it well. */
  arguments: string;
}

export type ModelMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: ModelToolCall[] }
  /** The result of a call of the assistant's message before it; each call needs one. */
  | { role: 'tool'; toolCallId: string; content: string };

export interface ModelRequest {
  messages: ModelMessage[];
  /** What the model may call; without any it is never heard to call. */
  tools?: ModelTool[];
  /** How a person asks again after a failure, as the end of its hint; `session plan` if not given. */
  again?: string;
  parameters: Record<string, number | string | boolean>;
  /** For recorded answers: which turn is asked, and the sha256 (hex) of the user's message. */
  session: SessionId;
  turn: TurnName;
  messageSha256: string;
  signal: AbortSignal;
}

export type ModelEvent =
  | { type: 'text'; text: string }
  /** `costUsd`: where the endpoint reports what the answer has cost, in US dollars. */
  /** Whole, after the text of the answer. Of an answer that was cut at its limit the last one may be cut as well. */
  | ({ type: 'tool_call' } & ModelToolCall)
  | { type: 'usage'; inputTokens: number; outputTokens: number; costUsd?: number }
  /** `length`: the answer was cut at the model's limit. `tool_calls`: it waits for the results of its calls. */
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'other' };

export type ProviderName = 'openai' | 'manual' | 'recorded';

/** Answers one request as a stream. Failures are TeddyErrors of the MODEL_ codes. */
export interface Model {
  readonly provider: ProviderName;
  readonly model: string;
  /** What a person is told before the request leaves: `gpt-5 at https://api.openai.com/v1`. */
  readonly label: string;
  answer(request: ModelRequest): AsyncIterable<ModelEvent>;
}

// --- secrets, pages, answers, trust, settings ----------------------------------------------------------------------------

export interface Masked {
  /** With `[masked: <kind>]` in place of each secret. */
  text: string;
  /** How many secrets were masked. */
  count: number;
  /** What they were, and where; never the secrets. */
  found: MaskedSecret[];
}

/** Finds secrets before anything is shown, stored or sent. With `teddy.redact=false` it finds none. */
export interface Masker {
  /** `path` tells what kind of file the text is, where it is one. */
  mask(text: string, path?: string): Promise<Masked>;
}

export interface FetchedPage {
  /** After redirects. */
  url: string;
  /** Without parameters: `text/html`. */
  contentType: string;
  /** Decoded; of HTML without scripts, styles, drawings and comments. */
  text: string;
}

/** Public pages of the web: https, no private address after any redirect, 1 MiB, 10 s. */
export interface Pages {
  /** Throws PAGE_REFUSED for what is never fetched, PAGE_FAILED for what could not be, INTERRUPTED. */
  fetch(url: string, signal: AbortSignal): Promise<FetchedPage>;
}

/** Which answer it is that arrives. */
export interface AnswerPlace {
  /** Of the record that will hold it: by it an answer is known that is on the line already. */
  id: string;
  session: SessionId;
  turn: TurnName;
  ref: RefName;
  /** How many records of the turn had said something when the model was asked. */
  recordCount: number;
  /** Calls and their results, as lines of a transcript; without it, the text of an answer. */
  unit?: 'exchange';
  /** Of a conversation: what was said meanwhile makes no answer void. */
  isChat?: true;
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

/** What is left of an answer in staging. */
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
  place: AnswerPlace | null;
  /** Takes it over, so that of several commands one recovers it; null: another has, or it cannot be read now. */
  claim(): Promise<LeftAnswer | null>;
  /** After `claim`. */
  discard(): Promise<void>;
}

export interface AnswerStaging {
  /** The right to answer a turn in a conversation: its tools are run once. Throws LOCKED. */
  claim(place: RunPlace): Promise<RunClaim>;
  begin(place: AnswerPlace): StagedAnswer;
  orphans(): Promise<OrphanedAnswer[]>;
}

/** A write session on disk. Whoever has it opened holds it: no other process changes it meanwhile. */
export interface StagedWrite {
  readonly record: WriteRecord;
  /** As the last save that was confirmed has it. */
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
export type NewWrite = Omit<WriteRecord, 'pid' | 'bootId'>;

/** What is found of a session, without holding it. */
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
  /** What lies beyond it: written, and never confirmed. Of a damaged one, all of it. */
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

export interface ServerRecords {
  /** Absolute: where the record is, for its user alone. */
  readonly path: string;
  /** Of the server that is running; null: none is, or it has not published one yet. */
  read(): Promise<ServerRecord | null>;
  /** Throws SERVER_RUNNING, which names its URL, while another one is running. */
  claim(): Promise<ServerClaim>;
}

/** What a language's parser says of a text. */
export interface SyntaxChecker {
  /** Findings, or why it could not be checked; null: nothing checks files of this name. */
  check(path: RepoPath, text: string): Promise<Finding[] | { skipped: string } | null>;
}

/** A file of the user's, wherever it lies, to be read piece by piece. */
export interface SourceFile {
  /** As the user named it. */
  path: string;
  sizeBytes: number;
  /** From its beginning. Throws FILE_NOT_FOUND. */
  read(): SourceReading;
}

export interface SourceReading {
  /** The text, decoded; `bytes`: how many were read for it. */
  pieces: AsyncIterable<{ text: string; bytes: number }>;
  /** Of the bytes that were read; to be asked once, at the end. */
  sha256(): string;
}

/** Where an export goes: a file, a directory, stdout. */
export interface ExportPlace {
  /** For a person. */
  name: string;
  /** Before anything is read. Throws FILES_IN_THE_WAY, FILE_NOT_FOUND. */
  refuse(): Promise<void>;
  /** Whole or not at all. Throws DISK_FULL or WRITE_FAILED, and whatever `pieces` throws. */
  put(pieces: AsyncIterable<Uint8Array>): Promise<void>;
}

export interface ExportDirectory extends Omit<ExportPlace, 'put'> {
  /** The same for files. */
  put(files: AsyncIterable<FileBelow>): Promise<void>;
}

/** Files for a command to read, outside of every work tree, for nobody else's eyes. */
export interface ScratchFiles {
  /** `name`: without a directory. Throws WRITE_FAILED. */
  write(name: string, bytes: Uint8Array): Promise<{ path: string; remove(): Promise<void> }>;
}

/** Which agents and context lists the user of this machine has written or accepted, by content. */
export interface Trust {
  has(oid: Oid): Promise<boolean>;
  add(oids: readonly Oid[]): Promise<void>;
}

/** The environment's value, else git's configuration, else that of `.teddy/config.yaml` where it may set the name. */
export interface Settings {
  /** Undefined when nothing sets it. Throws BAD_SETTING, which names where the value comes from. */
  get(name: SettingName): Promise<string | undefined>;
  /** The same with its origin; a value that cannot be used is an answer here. */
  find(name: SettingName): Promise<FoundSetting>;
}

// --- what was left behind ---------------------------------------------------------------------------------------------

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
  | { kind: 'answer'; path: string; place: AnswerPlace | null; bytes: number; isDamaged: boolean }
  | { kind: 'write'; path: string; found: FoundWrite }
  /** `run` null: its journal cannot be read. */
  | { kind: 'run'; path: string; run: JournaledRun | null }
  /** `note` null: it cannot be read. */
  | { kind: 'command'; path: string; note: CommandNote | null }
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
  /** Of all commits that are reached: the ids of their entries. */
  reachedEntryIds(): Promise<ReadonlySet<string>>;
  /** Commits that a ref was at, as far as the reflogs know. */
  reflogCommits(): Promise<ReadonlySet<Oid>>;
}

// --- all of it -------------------------------------------------------------------------------------------------------

/** What a workflow is given: the repository it works in and the world around it. */
export interface Project {
  repository: Repository;
  clock: Clock;
  ids: Ids;
  /** sha256, in lower-case hexadecimal. */
  hash: Hash;
  notices: Notices;
  filesOf(root: string): ProjectFiles;
  shellOf(root: string): Shell;
  masker: Masker;
  pages: Pages;
  answers: AnswerStaging;
  writes: WriteStaging;
  servers: ServerRecords;
  syntax: SyntaxChecker;
  scratch: ScratchFiles;
  processes: ProcessNames;
  journals: RunJournals;
  commands: CommandNotes;
  remains: Remains;
  trust: Trust;
  settings: Settings;
}
