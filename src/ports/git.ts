/** The workflows' view of git: objects, refs, work trees, remotes, hooks. Types only: `git/` implements them. */
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../names.ts';

export type TreeMode = '100644' | '100755' | '120000' | '160000' | '40000';

export interface TreeEntry {
  mode: TreeMode;
  name: string;
  oid: Oid;
  /** The raw bytes of a name that is not UTF-8; they must survive when the tree is rewritten. */
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

/** Objects that become durable together. Their ids are known at once; nothing is on disk before `flush` resolves. */
export interface ObjectBatch {
  blob(bytes: Uint8Array | string): Promise<Oid>;
  tree(entries: TreeEntry[]): Promise<Oid>;
  commit(commit: Commit): Promise<Oid>;
  flush(): Promise<void>;
}

/** A commit with what most callers that walk a line need. */
export interface WalkedCommit extends Pick<Commit, 'author' | 'committer' | 'message'> {
  oid: Oid;
  /** The first parent. */
  parent: Oid | null;
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

/** A commit on top of the previous one: the previous tree with these files added or replaced. */
export interface LineCommit extends Ident {
  message: string;
  files: { path: RepoPath; bytes: Uint8Array }[];
}

export interface Signature {
  state: 'good' | 'bad' | 'unknown';
  /** Fingerprints of the signing key and its primary key, as git shows them; empty when git cannot tell or it is revoked. */
  keys: string[];
  /** The owner of the key according to git (a person may have several); empty when git does not know. */
  signer: string;
}

export interface SignatureOptions {
  /** Checks ssh keys too when no allowed signers are configured: such a signature is `unknown` and names its key. */
  withKeys?: boolean;
  signal?: AbortSignal | undefined;
}

/** The objects and refs of one repository, shared by all its work trees. */
export interface Store {
  readonly objectFormat: 'sha1' | 'sha256';
  /** The `read` methods throw DAMAGED_SESSION when the object is missing or of another type. */
  readBlob(oid: Oid): Promise<Uint8Array>;
  /** Passes a blob on piece by piece without holding it in memory, for blobs that may be large. `take` never throws. */
  streamBlob(oid: Oid, take: (piece: Uint8Array) => void): Promise<void>;
  readTree(oid: Oid): Promise<TreeEntry[]>;
  readCommit(oid: Oid): Promise<Commit>;
  /** Reads the file (or link) at a path of a commit or tree; null when there is none. */
  readFile(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; bytes: Uint8Array } | null>;
  /** Reads the tree at a path of a commit or tree; null when there is none. */
  readDir(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; entries: TreeEntry[] } | null>;
  /** Returns the size in bytes; null when the object does not exist. */
  readSize(oid: Oid): Promise<number | null>;
  /** Returns the object that a ref points to, a commit or another; null when the ref does not exist. */
  readRef(ref: RefName): Promise<Oid | null>;
  /** Returns the commit that a revision names, or null. `revision` is never taken as an option. */
  resolve(revision: string): Promise<Oid | null>;
  /** Makes later calls see the current refs: a long-running git process can miss refs that are packed twice within a second. */
  readAnew(): void;
  /** Lists refs in order of their names. */
  listRefs(...prefixes: string[]): Promise<RefTip[]>;
  /** Walks from `from` along first parents, newest first, without the commits that `not` reaches. */
  firstParents(from: Oid, not?: Oid[]): AsyncIterable<{ oid: Oid; commit: Commit }>;
  /**
   * Walks the first parents of several commits at once with one git process. Each commit comes once, and only after a
   * child has named it as its first parent. The process ends when the reader stops. Throws GIT_FAILED when an object is
   * missing.
   */
  firstParentsOf(tips: readonly Oid[]): AsyncIterable<WalkedCommit>;
  /** Tells whether a commit or tree has something at a path. Many calls at once are cheap. */
  hasPath(treeish: Oid, path: RepoPath): Promise<boolean>;
  /** Returns the id of what a commit or tree has at a path, without reading it; null when there is nothing. */
  findOid(treeish: Oid, path: RepoPath): Promise<Oid | null>;
  /**
   * Walks the commits up to `from` along first parents, oldest first, without those that `not` reaches. Each comes with
   * its changes against its first parent (against nothing when it has none, as at the end of a shallow clone). Made for
   * bulk: some thousands of commits a second. Throws DAMAGED_SESSION when an object is missing.
   */
  walkChanges(from: Oid, not: readonly Oid[]): AsyncIterable<ChangedCommit>;
  /**
   * Returns the changes of commits that the caller has already walked, in their order, each against the given parent. A
   * null parent means that the commit has none or begins a shallow clone. Throws DAMAGED_SESSION when an object is
   * missing.
   */
  changesOf(
    commits: readonly Pick<WalkedCommit, 'oid' | 'parent'>[],
  ): AsyncIterable<Pick<ChangedCommit, 'oid' | 'changes'>>;
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Returns the commits whose parents a shallow clone has left out; empty in a full clone. */
  cutCommits(): Promise<ReadonlySet<Oid>>;
  /**
   * Verifies all signed commits among those that `walkChanges` gives, at once, with git's own verdict; `unknown` when
   * git cannot tell.
   */
  checkSignatures(from: Oid, not: readonly Oid[], options?: SignatureOptions): Promise<Map<Oid, Signature>>;
  /** Returns what `git fsck` reports about the repository and about everything these commits reach, one line each. */
  fsck(tips: readonly Oid[]): Promise<string[]>;
  /** Returns the best common ancestor of a commit and a hypothetical merge of all the others; null when there is none. */
  mergeBase(commit: Oid, others: readonly Oid[]): Promise<Oid | null>;
  /** Finds commits that `from` reaches (by any parent) and `not` does not, with this text in their message; newest first. */
  findReachable(text: string, from: Oid, not: readonly Oid[]): Promise<Oid[]>;
  /** Finds commits along the first parents of the refs below these prefixes with this text in their message, in one pass. */
  findCommits(text: string, ...prefixes: string[]): Promise<Oid[]>;
  /** Lists every file below a tree in git's order, including links and submodules. */
  listTree(treeish: Oid): Promise<TreeFile[]>;
  /**
   * Reads the wanted files below a directory of a commit or tree, in git's order, with paths relative to it; yields
   * nothing when the directory does not exist. Files come in batches: this is meant for many small ones and costs two
   * processes. Throws DAMAGED_SESSION, GIT_FAILED.
   */
  readFilesBelow(treeish: Oid, dir: RepoPath, isWanted: (path: string) => boolean): AsyncIterable<FileBelow[]>;
  /** Compares two trees by path, except the path `without`; a rename is a deletion and an addition. Null is the empty tree. */
  diffTrees(before: Oid | null, after: Oid, options?: { without?: RepoPath }): Promise<TreeChange[]>;
  /**
   * Merges three trees as git's own merge does, without a checkout. When `tree` is null, these paths are in conflict
   * and nothing is saved. Throws DAMAGED_SESSION, GIT_FAILED.
   */
  mergeTrees(
    base: Oid,
    ours: Oid,
    theirs: Oid,
  ): Promise<{ tree: Oid; conflicts: [] } | { tree: null; conflicts: RepoPath[] }>;
  /** Searches the text files of a commit or tree, except `.teddy`. Throws what `Workspace.search` throws. */
  search(treeish: Oid, query: TextQuery): Promise<TextHits[]>;
  /**
   * Returns the files below these trees that contain one of the texts, tree by tree. A tree is named by its id or as
   * `<commit>:<path>`; missing ones are skipped. A blob may be given instead of a tree; its path is empty. Throws what
   * `search` throws.
   */
  searchTrees(trees: readonly string[], query: TreeQuery): Promise<{ tree: string; path: string }[]>;
  /** Streams a git bundle of a branch with all of its history. Throws DAMAGED_SESSION when the history is cut off. */
  bundle(ref: RefName): AsyncIterable<Uint8Array>;
  batch(): ObjectBatch;
  /**
   * Writes many commits in a row, the first on top of `parent`, and returns the last one (`parent` when there are
   * none). Moves no ref; no object exists before all do and are durable, and none remains if `commits` throws. The next
   * commit is requested once the previous one is written. The commits must not return to a directory after they have
   * moved on to a sibling.
   */
  writeLine(parent: Oid, commits: AsyncIterable<LineCommit>): Promise<Oid>;
  /**
   * Updates all refs or none, by compare-and-swap. `moved`: a ref was not at its old value, so nothing has changed.
   * With `durable`, objects are still being written: no ref moves before it resolves, and none if it rejects.
   */
  updateRefs(updates: RefUpdate[], reflog: string, durable?: Promise<void>): Promise<'done' | 'moved'>;
  /** Packs all refs after these were created at once. Throws GIT_FAILED. */
  packRefs(made: readonly RefName[]): Promise<void>;
  /** Returns the author and committer as git would use them; throws NO_IDENTITY where git refuses. */
  ident(): Promise<Ident>;
  /** Returns the last value of a key in git's configuration, such as `teddy.model`. */
  setting(key: string): Promise<string | undefined>;
  /** Returns where that value is set, such as `local .git/config`, `global ~/.gitconfig` or `command line`. */
  settingOrigin(key: string): Promise<string | undefined>;
  /** Returns all values of a key and where each is set, in the order in which git reads them: the last one wins. */
  settingValues(key: string): Promise<{ value: string; origin: string }[]>;
  /**
   * Returns all settings with this key prefix, the last value of each. Keys are as git prints them: lower case except
   * for the subsection.
   */
  settings(prefix: string): Promise<{ key: string; value: string }[]>;
}

/** The part of a store that is needed to read sessions; the reader that works without git implements it too. */
export type SessionStore = Pick<
  Store,
  | 'readBlob'
  | 'streamBlob'
  | 'readCommit'
  | 'readFile'
  | 'readDir'
  | 'hasPath'
  | 'resolve'
  | 'listRefs'
  | 'readSize'
  | 'firstParents'
  | 'firstParentsOf'
  | 'isAncestor'
  | 'findReachable'
  | 'readFilesBelow'
  | 'setting'
>;

/** The source that sessions are read from, such as a project. */
export interface SessionSource {
  repository: { store: SessionStore; cache: Cache };
}

/** A work tree of the repository, the main one or a linked one. `ref` is null when HEAD is detached. */
export interface WorkTree {
  root: string;
  ref: RefName | null;
}

/** A linked work tree made by `git worktree add`, as git has recorded it. */
export interface LinkedWorkTree extends WorkTree {
  /** The commit that HEAD points to; null when its branch has no commits. */
  oid: Oid | null;
  /** Its directory no longer exists. */
  isGone: boolean;
  /** The reason given to `git worktree lock`, which may be empty; null when it is not locked. */
  lock: string | null;
  /** The line that teddy made it for; null when somebody else made it. */
  madeFor: RefName | null;
  /** Teddy was killed while making it, or is making it now: files are missing, and HEAD is on no branch. */
  isUnfinished: boolean;
}

export interface ScratchTree {
  workspace: Workspace;
  /** A store of its own: objects that commands make here exist in no other repository. */
  store: Store;
  /** The environment for commands that run there. */
  env: Record<string, string>;
  /** Tells whether its repository still exists and is the same one. */
  isIntact(): Promise<boolean>;
  /**
   * Makes its tracked files those of the commit and keeps untracked files, as in a work tree that stays in use. Returns
   * false when what a command left behind prevents that, and a new one is needed.
   */
  moveTo(commit: Oid): Promise<boolean>;
  remove(): Promise<void>;
}

/** Consecutive lines of a file that the same commit introduced. */
export interface BlamedRun {
  /** Null when the lines are only in the work tree. */
  commit: Oid | null;
  /** The number (from 1) of the first line in the requested file. */
  line: number;
  /** The number of the first line in the commit's file. */
  originalLine: number;
  /** The path of the file in the commit. */
  path: RepoPath;
  texts: string[];
}

/** Commits with the parents that replace their own. */
export type Grafts = ReadonlyMap<Oid, readonly Oid[]>;

export interface BlameQuery {
  path: RepoPath;
  /** Null to blame the file as it is on disk. */
  commit: Oid | null;
  /** First and last lines, from 1; empty for the whole file. */
  ranges: readonly (readonly [first: number, last: number])[];
  grafts: Grafts;
  /** Finds lines that were moved within the file, as `git blame -M` does. */
  moves?: boolean | undefined;
  /** Finds lines that came from another file changed in the same commit, as `git blame -C` does. */
  copies?: boolean | undefined;
  /** Looks past these commits and past whitespace changes; git then guesses which line was there before. */
  ignored?: readonly Oid[] | undefined;
}

/** The non-comment lines of the files of `blame.ignoreRevsFile`, each with its file. */
export interface IgnoredRevisions {
  revisions: { file: string; text: string }[];
  /** Files that could not be read. */
  unread: string[];
}

export interface MarkedCommit {
  oid: Oid;
  parents: Oid[];
  /** The commit date, in seconds since 1970. */
  seconds: number;
  message: string;
  /** The changes against the first parent, or against nothing; empty for a merge. `blob` is null for a deleted file. */
  changes: { path: RepoPath; blob: Oid | null }[];
}

/** Finds the commit that introduced a line. */
export interface Blame {
  /**
   * Returns the runs in the order of the file. The grafts must not form a circle, or git would loop forever. Throws
   * USAGE for lines that the file does not have, FILE_NOT_FOUND, and GIT_FAILED when the parent of a graft is missing.
   */
  lines(query: BlameQuery): Promise<BlamedRun[]>;
  /** Returns the revisions as configured, without looking up the commits. */
  ignored(): Promise<IgnoredRevisions>;
  /**
   * Finds commits that `tips` reach and `not` does not, and that have a message line beginning with one of `marks` (all
   * commits when there are no marks); newest first. `since`, in seconds since 1970, is the earliest commit date.
   */
  findMarked(
    marks: readonly string[],
    tips: readonly Oid[],
    not: readonly Oid[],
    since?: number,
  ): Promise<MarkedCommit[]>;
  /**
   * Finds the commits whose grafts close a circle in the history of `tips`, the last in the map for each circle;
   * without them there is no circle.
   */
  findCircles(tips: readonly Oid[], grafts: Grafts): Promise<Set<Oid>>;
  /** Adds the names that commits reachable from `tip` have given these files since `seconds` (since 1970). */
  followNames(paths: ReadonlySet<RepoPath>, tip: Oid, seconds: number): Promise<Set<RepoPath>>;
}

/** A cache of derived data; any entry may vanish at any time. */
export interface Cache {
  read(key: string): Promise<Uint8Array | null>;
  /** Writes the pieces one after the other. */
  write(key: string, pieces: readonly Uint8Array[]): Promise<void>;
}

/** Identifies a run. A line runs a turn only once at a time, but two lines may have turns of the same name. */
export interface RunDirs {
  session: SessionId;
  turn: TurnName;
  ref: RefName;
}

/** The right to run a turn. A process loses it when it dies. */
export interface RunClaim {
  release(): Promise<void>;
}

export interface Repository {
  readonly store: Store;
  /** Null in a bare repository. */
  readonly workspace: Workspace | null;
  /** Lists the existing work trees, the main one first. */
  workTrees(): Promise<WorkTree[]>;
  /** Lets callers skip a git process: most repositories have no linked work trees. Some that count may no longer exist. */
  hasLinkedWorkTrees(): Promise<boolean>;
  linkedWorkTrees(): Promise<LinkedWorkTree[]>;
  /** Makes a linked work tree with the branch checked out and returns its root. All or nothing. Throws LINE_CHECKED_OUT. */
  addWorkTree(ref: RefName): Promise<string>;
  /** Removes it with git's own checks, never by force, ignored files included. Throws WORK_TREE_IN_USE, UNCOMMITTED_EDITS. */
  removeWorkTree(root: string): Promise<void>;
  /** Lists what git ignores in a work tree; a directory counts as one entry, such as `node_modules/`. */
  ignoredFilesOf(root: string): Promise<string[]>;
  openWorkspace(root: string): Promise<Workspace>;
  /**
   * Makes a work tree in a temporary directory, with HEAD detached at the commit, in a repository of its own that reads
   * this one's objects: no command there can move anything here through git. `remove` deletes all of it; what a killed
   * process leaves is recognized by that process's name, `holder`.
   */
  openScratch(commit: Oid, holder: string): Promise<ScratchTree>;
  readonly cache: Cache;
  readonly blame: Blame;
  readonly hooks: Hooks;
  readonly remotes: Remotes;
  /** Sets a key in git's configuration, for this repository or the user; null removes it. Returns false if it was not set. */
  changeSetting(scope: 'local' | 'global', key: string, value: string | null): Promise<boolean>;
  /** Reads git's configuration again, for a long-running process: somebody may have changed it. */
  reloadSettings(): void;
  /** Writes teddy's marked block to `info/attributes`, once. */
  installAttributes(): Promise<void>;
  /** Returns the secret that git's credential helpers store for a URL and the user name `teddy`, or null. Never prompts. */
  credential(url: string): Promise<string | null>;
  close(): Promise<void>;
}

export const hookNames = ['prepare-commit-msg', 'commit-msg', 'post-rewrite', 'pre-push', 'post-checkout'] as const;
export type HookName = (typeof hookNames)[number];

/** The absolute path of teddy, for hooks that do not find it on PATH. */
export interface HookProgram {
  node: string;
  main: string;
}

/** The hook scripts that ship with teddy, and the program they call. */
export interface HookSource {
  program: HookProgram;
  /** Tells whether `teddy` is on PATH, where the hooks look first. */
  isOnPath(): Promise<boolean>;
  /** Throws FILE_NOT_FOUND. */
  readScript(name: HookName): Promise<string>;
}

/** The message file of a commit in progress. Each byte is one character, in any encoding. */
export interface MessageFile {
  /** Throws FILE_NOT_FOUND. */
  read(): Promise<string>;
  write(text: string): Promise<void>;
}

/** The directory where git looks for the hooks of this repository. */
export interface HookTarget {
  /** The absolute path; empty when `core.hooksPath` is empty, so that git runs no hook. */
  dir: string;
  /**
   * `own`: it belongs to this repository alone. `shared`: the configuration of the user or the machine names it, so
   * other repositories use it too. `work-tree`: it is among the project's files.
   */
  kind: 'own' | 'shared' | 'work-tree';
  /** The place where `core.hooksPath` is set, such as `local .git/config`; null when it is not set. */
  origin: string | null;
}

export interface HookFile {
  /** Null for a directory, a device, or a file too large for a script: git would not run it or nobody can inspect it. */
  text: string | null;
  isExecutable: boolean;
}

/** The scripts that git runs. Paths are absolute. All methods but `locate` throw WRITE_FAILED. */
export interface Hooks {
  /** The absolute path where git looks while `core.hooksPath` is not set. */
  readonly ownDir: string;
  locate(): Promise<HookTarget>;
  /** Returns null when the file does not exist. */
  read(path: string): Promise<HookFile | null>;
  /** Gives the file a second name without changing it or its mode; never replaces another file. */
  keep(path: string, as: string): Promise<void>;
  /** Writes the script atomically as an executable and makes the directory. */
  install(path: string, script: string): Promise<void>;
  /** Atomically replaces the file at `path` with the kept one; null removes it. */
  putBack(path: string, kept: string | null): Promise<void>;
}

/** The progress of a transfer; `phase` is git's own text, such as `Writing objects`. `total` is null when unknown. */
export interface TransferProgress {
  phase: string;
  done: number;
  total: number | null;
}

export interface TransferOptions {
  signal: AbortSignal;
  onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** Fetches everything, even what is already here. Only for a fetch. */
  isWhole?: boolean;
}

/**
 * Other repositories (configured remotes, URLs or paths), with git's own transports and credentials, without prompts.
 * All methods throw UNKNOWN_REMOTE, REMOTE_UNREACHABLE (after retries with jitter where a retry can help), INTERRUPTED.
 */
export interface Remotes {
  /** Lists the remotes in git's configuration. */
  names(): Promise<string[]>;
  /** Lists the remote's refs below these prefixes, and says whether it has any ref at all. */
  list(
    remote: string,
    prefixes: readonly string[],
    options: TransferOptions,
  ): Promise<{ refs: RefTip[]; isEmpty: boolean }>;
  /**
   * Fetches refs of the remote to `refs/teddy/quarantine/` and replaces what is there. Moves no other ref, fetches no
   * tags and does not write FETCH_HEAD. Objects are checked as with `transfer.fsckObjects`. Throws HOSTILE_SESSION when
   * they are refused.
   */
  fetch(remote: string, refs: readonly { from: RefName; to: RefName }[], options: TransferOptions): Promise<void>;
  /**
   * Pushes all refs or none, each with a lease (`old` null: it must not exist yet; `new` null: delete it), never by
   * force. `moved`: a lease failed and nothing has changed. Throws REMOTE_REFUSED with the server's message.
   */
  push(remote: string, updates: readonly RefUpdate[], options: TransferOptions): Promise<'done' | 'moved'>;
}

export interface TreeFile {
  path: RepoPath;
  mode: TreeMode;
  oid: Oid;
}

/** `path` is relative to the requested directory. */
export interface FileBelow {
  path: string;
  bytes: Uint8Array;
}

/** Lines that contain `text`, or match it as a regular expression. */
export interface TextQuery {
  /** A single line. */
  text: string;
  isRegex: boolean;
  /** Applies to ASCII letters only. */
  ignoresCase: boolean;
  /** A file or a directory; null for everywhere. */
  path: RepoPath | null;
  signal: AbortSignal;
}

/** The pattern that `searchTrees` looks for. */
export interface TreeQuery {
  /** Each is a single line without NUL. */
  texts: readonly string[];
  /** Applies to ASCII letters only. */
  ignoresCase: boolean;
  /** Paths in a tree to search: patterns in which `*` stands for a name or part of one. */
  paths: readonly string[];
  signal: AbortSignal;
}

/** The numbers (from 1) of the first matching lines of one file. */
export interface TextHits {
  path: RepoPath;
  lines: number[];
}

/** How a file's change is shown. `text`: line by line; the others are only reported as different. */
export type DiffKind = 'text' | 'binary' | 'large' | 'submodule' | 'missing';

export interface TreeChange {
  path: RepoPath;
  change: 'added' | 'modified' | 'deleted';
  before: Oid | null;
  after: Oid | null;
  mode: TreeMode | null;
}

/** `oldMode` and `mode` are those before and after; null when the file does not exist there. */
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

/** A tracked path that differs from HEAD. `staged` and `unstaged` are git's status letters, `.` for unchanged. */
export interface Edit {
  path: RepoPath;
  staged: string;
  unstaged: string;
  submodule: boolean;
  /**
   * git's quoted form of a name that is not UTF-8; `path` is only for display then, since git would not find the file
   * by it.
   */
  quotedName?: string;
}

export interface WorkspaceStatus {
  edits: Edit[];
  unmerged: RepoPath[];
  untracked: RepoPath[];
}

/**
 * Which paths differ from HEAD, each with a print: git's two status letters (`??`: untracked), a space, and a
 * fingerprint of what is on disk. Comparing two scans shows what happened in between. Another repository, such as a
 * submodule, ends with `/`.
 */
export type Scan = ReadonlyMap<RepoPath, string>;

/** The move of a line to its next entry, which has to reach the ref, the index and `.teddy/` on disk. */
export interface Publication {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  reflog: string;
  /** Pending object writes: the ref moves when they are durable, and does not move if they fail. */
  durable?: Promise<void>;
  /** When HEAD is on the line: the index entries to set (null: remove), exactly the paths that the commit changed. */
  index: { path: RepoPath; entry: { mode: TreeMode; oid: Oid } | null }[];
  /** Files of `.teddy/` to write after the ref has moved; null removes a file. */
  files: { path: RepoPath; bytes: Uint8Array | null }[];
}

/** One work tree of the repository, with its HEAD and index. */
export interface Workspace {
  /** The absolute path. */
  readonly root: string;
  head(): Promise<Head>;
  /** Tells whether HEAD is on the branch right now. */
  isOn(ref: RefName): Promise<boolean>;
  /** Returns `rebase`, `merge`, ... while git is in the middle of one, also when `ref` is being rebased in any work tree. */
  operationInProgress(ref: RefName | null): Promise<string | null>;
  /** Returns the status; with `path`, of that file alone, without looking at any other. */
  status(options: { untracked: boolean; path?: RepoPath }): Promise<WorkspaceStatus>;
  /** Returns the status and where HEAD was at that moment. */
  headAndStatus(options: { untracked: boolean }): Promise<{ head: Head; status: WorkspaceStatus }>;
  /** Compares what is staged with HEAD. `index`: the absolute path of another index file, as git passes one to commit hooks. */
  stagedChanges(index: string | null): Promise<CommitChange[]>;
  /**
   * Writes a tree of what is staged plus all tracked edits, except those in `except`. Leaves the user's index alone.
   * Durable.
   */
  snapshotTree(except: RepoPath[]): Promise<Oid>;
  /** Writes the tree of `base` with exactly these paths as they are on disk (through git's filters). Durable. */
  treeOfPaths(base: Oid, paths: RepoPath[]): Promise<Oid>;
  scan(): Promise<Scan>;
  /** Returns the scan and where HEAD was at that moment. */
  headAndScan(): Promise<{ head: Head; scan: Scan }>;
  /** Lists directories without tracked files that git does not ignore, even empty ones, but not those inside a listed one. */
  untrackedDirectories(): Promise<RepoPath[]>;
  /** Lists untracked files at or below a path, including ignored ones. */
  untrackedBelow(path: RepoPath): Promise<RepoPath[]>;
  /** Returns those of these paths that are untracked and ignored. */
  ignored(paths: RepoPath[]): Promise<RepoPath[]>;
  /**
   * Searches the text files on disk, tracked or untracked but not ignored; skips `.teddy` and other repositories.
   * Throws ACTION_FAILED for an expression that is invalid or takes too long; INTERRUPTED.
   */
  search(query: TextQuery): Promise<TextHits[]>;
  /** Moves the ref by compare-and-swap, and index and files with it. `moved`: nothing has changed. */
  publish(publication: Publication): Promise<'done' | 'moved'>;
  /** Finishes or undoes what a crash of teddy left between objects and index. Returns a description of what it did. */
  repair(): Promise<string[]>;
  /** Reads a file of the work tree from disk without following a final symlink; null when it does not exist. */
  readDisk(path: RepoPath): Promise<Uint8Array | null>;
  /**
   * Returns the bytes that git would write to each path for its blob, through the user's filters and line endings. Each
   * path may occur once; all are in memory together. Throws GIT_FAILED when a blob is missing or its filter refuses it.
   */
  readCheckouts(files: { path: RepoPath; oid: Oid }[]): Promise<Map<RepoPath, Uint8Array>>;
  /** Returns how many bytes `readDisk` would read; null when there is nothing to read. */
  sizeOnDisk(path: RepoPath): Promise<number | null>;
  /** Returns when a file was created on this disk, or last changed if the disk does not say. Null when it does not exist. */
  bornOnDisk(path: RepoPath): Promise<Date | null>;
  /** Restores a file of `.teddy/` that the line has but the disk has lost. Null removes one. */
  writeSessionFile(path: RepoPath, bytes: Uint8Array | null): Promise<void>;
  /** Resets the index entries of these paths to HEAD, as `git restore --staged` does. */
  unstage(paths: RepoPath[]): Promise<void>;
  /**
   * Switches HEAD to a branch with git's own checkout and its safety rules. A file whose content git would write anyway
   * is not in the way.
   */
  switchTo(ref: RefName): Promise<void>;
  /**
   * Fast-forwards the branch that HEAD is on, with index and files, as `git merge --ff-only --no-autostash` does. A
   * file whose content git would write anyway is not in the way. Throws FILES_IN_THE_WAY when somebody's changes would
   * be lost, REF_MOVED when the commit is not a descendant; nothing has changed then.
   */
  fastForward(commit: Oid): Promise<void>;
  /** Throws FILES_IN_THE_WAY if a fast-forward to a commit with this tree would; changes nothing. */
  rehearse(tree: Oid): Promise<void>;
}
