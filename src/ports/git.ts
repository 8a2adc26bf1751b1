/** The workflows' view of git: objects, refs, work trees, remotes, hooks. Types only: `git/` implements them. */
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../names.ts';

export type TreeMode = '100644' | '100755' | '120000' | '160000' | '40000';

export interface TreeEntry {
  mode: TreeMode;
  name: string;
  oid: Oid;
  /** The raw bytes of a name that is not UTF-8; rewriting the tree must preserve them. */
  rawName?: Uint8Array;
}

export interface Commit {
  tree: Oid;
  parents: Oid[];
  /** Raw identity lines in git's form: `Name <email> <seconds> <zone>`. */
  author: string;
  committer: string;
  message: string;
}

/** Objects that become durable together. Their IDs are available immediately; nothing is on disk before `flush` resolves. */
export interface ObjectBatch {
  blob(bytes: Uint8Array | string): Promise<Oid>;
  tree(entries: TreeEntry[]): Promise<Oid>;
  commit(commit: Commit): Promise<Oid>;
  flush(): Promise<void>;
}

/** A commit with the fields that most callers need when they walk a line. */
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
  /**
   * Fingerprints of the signing key and its primary key, as git shows them; empty when git cannot determine them or the
   * key is revoked.
   */
  keys: string[];
  /** The key's owner according to git (a person may have several keys); empty when git cannot determine one. */
  signer: string;
}

export interface SignatureOptions {
  /** Also checks ssh keys when no allowed signers are configured; such a signature is `unknown` and names its key. */
  withKeys?: boolean;
  signal?: AbortSignal | undefined;
}

/** The objects and refs of one repository, shared by all its work trees. */
export interface Store {
  readonly objectFormat: 'sha1' | 'sha256';
  /** The `read` methods throw DAMAGED_SESSION when the object is missing or has another type. */
  readBlob(oid: Oid): Promise<Uint8Array>;
  /** Streams a blob piece by piece instead of reading it into memory, for blobs that may be large. `take` never throws. */
  streamBlob(oid: Oid, take: (piece: Uint8Array) => void): Promise<void>;
  readTree(oid: Oid): Promise<TreeEntry[]>;
  readCommit(oid: Oid): Promise<Commit>;
  /** Reads the file (or link) at a path in a commit or tree; null when there is none. */
  readFile(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; bytes: Uint8Array } | null>;
  /** Reads the tree at a path in a commit or tree; null when there is none. */
  readDir(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; entries: TreeEntry[] } | null>;
  /** Returns the size in bytes; null when the object does not exist. */
  readSize(oid: Oid): Promise<number | null>;
  /** Returns the object that a ref points to, whether a commit or not; null when the ref does not exist. */
  readRef(ref: RefName): Promise<Oid | null>;
  /** Returns the commit that a revision names; null when there is none. Never treats `revision` as an option. */
  resolve(revision: string): Promise<Oid | null>;
  /**
   * Makes later calls see the current refs: a long-running git process can miss refs when they are packed twice within
   * a second.
   */
  readAnew(): void;
  /** Lists refs sorted by name. */
  listRefs(...prefixes: string[]): Promise<RefTip[]>;
  /** Walks from `from` along first parents, newest first, and skips the commits that are reachable from `not`. */
  firstParents(from: Oid, not?: Oid[]): AsyncIterable<{ oid: Oid; commit: Commit }>;
  /**
   * Walks the first parents of several commits together with one git process. Yields each commit once, and only after a
   * child has named it as its first parent. The process ends when the reader stops. Throws GIT_FAILED when an object is
   * missing.
   */
  firstParentsOf(tips: readonly Oid[]): AsyncIterable<WalkedCommit>;
  /** Returns true if a commit or tree has an entry at a path. Many concurrent calls are cheap. */
  hasPath(treeish: Oid, path: RepoPath): Promise<boolean>;
  /** Returns the ID of the entry at a path in a commit or tree, without reading the object; null when there is none. */
  findOid(treeish: Oid, path: RepoPath): Promise<Oid | null>;
  /**
   * Walks the commits up to `from` along first parents, oldest first, and skips the commits that are reachable from
   * `not`. Yields each commit with its changes against its first parent (against nothing when it has none, as at the
   * end of a shallow clone). Made for bulk: a few thousand commits per second. Throws DAMAGED_SESSION when an object is
   * missing.
   */
  walkChanges(from: Oid, not: readonly Oid[]): AsyncIterable<ChangedCommit>;
  /**
   * Returns the changes in commits that the caller has already walked, in the given order, each against the given
   * parent. A null parent means that the commit has none or begins a shallow clone. Throws DAMAGED_SESSION when an
   * object is missing.
   */
  changesOf(
    commits: readonly Pick<WalkedCommit, 'oid' | 'parent'>[],
  ): AsyncIterable<Pick<ChangedCommit, 'oid' | 'changes'>>;
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Returns the commits whose parents are missing in a shallow clone; empty in a full clone. */
  cutCommits(): Promise<ReadonlySet<Oid>>;
  /**
   * Verifies all signed commits among those that `walkChanges` would yield, in one pass, with git's own verdict;
   * `unknown` when git cannot decide.
   */
  checkSignatures(from: Oid, not: readonly Oid[], options?: SignatureOptions): Promise<Map<Oid, Signature>>;
  /** Returns the lines that `git fsck` reports about the repository and everything reachable from these commits. */
  fsck(tips: readonly Oid[]): Promise<string[]>;
  /** Returns the best common ancestor of a commit and a hypothetical merge of all the others; null when there is none. */
  mergeBase(commit: Oid, others: readonly Oid[]): Promise<Oid | null>;
  /**
   * Finds commits with this text in their message that are reachable (through any parent) from `from` but not from
   * `not`; newest first.
   */
  findReachable(text: string, from: Oid, not: readonly Oid[]): Promise<Oid[]>;
  /** Finds commits with this text in their message along the first parents of all refs with these prefixes, in one pass. */
  findCommits(text: string, ...prefixes: string[]): Promise<Oid[]>;
  /** Lists every file below a tree in git's order, including links and submodules. */
  listTree(treeish: Oid): Promise<TreeFile[]>;
  /**
   * Reads the wanted files below a directory of a commit or tree, in git's order, with paths relative to the directory;
   * yields nothing when the directory does not exist. Yields files in batches: this method is meant for many small
   * files and costs two processes. Throws DAMAGED_SESSION, GIT_FAILED.
   */
  readFilesBelow(treeish: Oid, dir: RepoPath, isWanted: (path: string) => boolean): AsyncIterable<FileBelow[]>;
  /** Compares two trees by path, except for `without`; a rename is a deletion and an addition. Null means the empty tree. */
  diffTrees(before: Oid | null, after: Oid, options?: { without?: RepoPath }): Promise<TreeChange[]>;
  /**
   * Merges three trees as git's own merge does, without a checkout. When `tree` is null, the listed paths conflict and
   * nothing is saved. Throws DAMAGED_SESSION, GIT_FAILED.
   */
  mergeTrees(
    base: Oid,
    ours: Oid,
    theirs: Oid,
  ): Promise<{ tree: Oid; conflicts: [] } | { tree: null; conflicts: RepoPath[] }>;
  /** Searches the text files in a commit or tree, except `.teddy`. Throws the same errors as `Workspace.search`. */
  search(treeish: Oid, query: TextQuery): Promise<TextHits[]>;
  /**
   * Returns the files below these trees that contain one of the texts, tree by tree. The caller names a tree by its ID
   * or as `<commit>:<path>`; missing trees are skipped. A blob may take the place of a tree; its path is then empty.
   * Throws the same errors as `search`.
   */
  searchTrees(trees: readonly string[], query: TreeQuery): Promise<{ tree: string; path: string }[]>;
  /** Streams a git bundle of a branch with its full history. Throws DAMAGED_SESSION when the history is cut off. */
  bundle(ref: RefName): AsyncIterable<Uint8Array>;
  batch(): ObjectBatch;
  /**
   * Writes many commits in a row, the first on top of `parent`, and returns the last one (`parent` when there are
   * none). Does not move any ref. The objects appear only when all of them are durable; if `commits` throws, none
   * remains. Requests the next commit once the previous one is written. The commits must not return to a directory
   * after moving on to a sibling.
   */
  writeLine(parent: Oid, commits: AsyncIterable<LineCommit>): Promise<Oid>;
  /**
   * Updates all refs or none, by compare-and-swap. `moved`: a ref was not at its old value, so nothing has changed.
   * `durable` settles when pending object writes do: no ref moves before the promise resolves, and none moves if it
   * rejects.
   */
  updateRefs(updates: RefUpdate[], reflog: string, durable?: Promise<void>): Promise<'done' | 'moved'>;
  /** Packs all refs after the caller has created all of `made` together. Throws GIT_FAILED. */
  packRefs(made: readonly RefName[]): Promise<void>;
  /** Returns the author and committer that git would use; throws NO_IDENTITY when git refuses. */
  ident(): Promise<Ident>;
  /** Returns the last value of a key in git's configuration, such as `teddy.model`. */
  setting(key: string): Promise<string | undefined>;
  /** Returns the origin of that value, such as `local .git/config`, `global ~/.gitconfig` or `command line`. */
  settingOrigin(key: string): Promise<string | undefined>;
  /** Returns all values of a key with their origins, in the order in which git reads them: the last one wins. */
  settingValues(key: string): Promise<{ value: string; origin: string }[]>;
  /**
   * Returns all settings with this key prefix, with the last value of each. Keys are spelled as git prints them: lower
   * case except for the subsection.
   */
  settings(prefix: string): Promise<{ key: string; value: string }[]>;
}

/** The part of a store that is needed for reading sessions; the reader that works without git implements it too. */
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

/** A source of sessions, such as a project. */
export interface SessionSource {
  repository: { store: SessionStore; cache: Cache };
}

/** A work tree of the repository, main or linked. `ref` is null when HEAD is detached. */
export interface WorkTree {
  root: string;
  ref: RefName | null;
}

/** A linked work tree made by `git worktree add`, as recorded by git. */
export interface LinkedWorkTree extends WorkTree {
  /** The commit that HEAD points to; null when its branch has no commits. */
  oid: Oid | null;
  /** True when the work tree's directory no longer exists. */
  isGone: boolean;
  /** The reason given to `git worktree lock`, which may be empty; null when the work tree is not locked. */
  lock: string | null;
  /** The line that teddy made the work tree for; null when somebody else made the work tree. */
  madeFor: RefName | null;
  /**
   * True when a teddy process was killed while making the work tree, or is still making it: files are missing, and HEAD
   * is not on any branch.
   */
  isUnfinished: boolean;
}

export interface ScratchTree {
  workspace: Workspace;
  /** A separate store: objects that commands make in the scratch tree exist in no other repository. */
  store: Store;
  /** The environment for commands that run in the scratch tree. */
  env: Record<string, string>;
  /** Returns true if the scratch tree's repository still exists and has not been replaced. */
  isIntact(): Promise<boolean>;
  /**
   * Makes the tracked files match the commit and keeps untracked files, as in a work tree that stays in use. Returns
   * false when leftovers of a command prevent the move, so that the caller needs a new scratch tree.
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
  /** Null to blame the file on disk. */
  commit: Oid | null;
  /** The first and last lines, from 1; empty for the whole file. */
  ranges: readonly (readonly [first: number, last: number])[];
  grafts: Grafts;
  /** Finds lines that were moved within the file, as `git blame -M` does. */
  moves?: boolean | undefined;
  /** Finds lines that came from another file changed in the same commit, as `git blame -C` does. */
  copies?: boolean | undefined;
  /** Ignores these commits and whitespace changes; git then guesses the corresponding earlier line. */
  ignored?: readonly Oid[] | undefined;
}

/** The non-comment lines in the files that `blame.ignoreRevsFile` names, each with its file. */
export interface IgnoredRevisions {
  revisions: { file: string; text: string }[];
  /** Files that teddy could not read. */
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
   * Returns the runs in file order. The grafts must not form a cycle, or git would loop forever. Throws USAGE for lines
   * that the file does not have, FILE_NOT_FOUND, and GIT_FAILED when a graft's parent is missing.
   */
  lines(query: BlameQuery): Promise<BlamedRun[]>;
  /** Returns the revisions as configured, without looking up the commits. */
  ignored(): Promise<IgnoredRevisions>;
  /**
   * Finds commits that are reachable from `tips` but not from `not`, with a message line that begins with one of
   * `marks` (all commits when there are no marks); newest first. `since`, in seconds since 1970, is the earliest commit
   * date.
   */
  findMarked(
    marks: readonly string[],
    tips: readonly Oid[],
    not: readonly Oid[],
    since?: number,
  ): Promise<MarkedCommit[]>;
  /**
   * Finds the commits whose grafts close a cycle in the history of `tips`: for each cycle, its last commit in the map.
   * Without these grafts, there is no cycle.
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

/** Identifies a run. A line has one active run per turn, but two lines may have turns with equal names. */
export interface RunDirs {
  session: SessionId;
  turn: TurnName;
  ref: RefName;
}

/** The right to run a turn. A process loses this right when it dies. */
export interface RunClaim {
  release(): Promise<void>;
}

export interface Repository {
  readonly store: Store;
  /** Null in a bare repository. */
  readonly workspace: Workspace | null;
  /** Lists the existing work trees, the main one first. */
  workTrees(): Promise<WorkTree[]>;
  /** Lets callers avoid a git process: most repositories have no linked work trees. Also counts missing work trees. */
  hasLinkedWorkTrees(): Promise<boolean>;
  linkedWorkTrees(): Promise<LinkedWorkTree[]>;
  /**
   * Makes a linked work tree with the branch checked out and returns its root; leaves nothing behind on failure. Throws
   * LINE_CHECKED_OUT.
   */
  addWorkTree(ref: RefName): Promise<string>;
  /**
   * Removes the work tree, including ignored files, with git's own checks and never by force. Throws WORK_TREE_IN_USE,
   * UNCOMMITTED_EDITS.
   */
  removeWorkTree(root: string): Promise<void>;
  /** Lists the files that git ignores in a work tree; a directory counts as one entry, such as `node_modules/`. */
  ignoredFilesOf(root: string): Promise<string[]>;
  openWorkspace(root: string): Promise<Workspace>;
  /**
   * Makes a work tree in a temporary directory, with HEAD detached at the commit, in a separate repository that reads
   * this one's objects, so that no git command in that work tree can move anything in this repository. `remove` deletes
   * all of it. After a kill, the process name `holder` identifies the leftovers.
   */
  openScratch(commit: Oid, holder: string): Promise<ScratchTree>;
  readonly cache: Cache;
  readonly blame: Blame;
  readonly hooks: Hooks;
  readonly remotes: Remotes;
  /**
   * Sets a key in git's configuration, for this repository or the user; null removes the key. Returns false if there
   * was nothing to remove.
   */
  changeSetting(scope: 'local' | 'global', key: string, value: string | null): Promise<boolean>;
  /** Rereads git's configuration in a long-running process, because the user may have changed it. */
  reloadSettings(): void;
  /** Writes teddy's marked block to `info/attributes`, once. */
  installAttributes(): Promise<void>;
  /** Removes that block. */
  removeAttributes(): Promise<void>;
  /** Returns the secret that git's credential helpers store for a URL and the user name `teddy`, or null. Never prompts. */
  credential(url: string): Promise<string | null>;
  close(): Promise<void>;
}

export const hookNames = ['prepare-commit-msg', 'commit-msg', 'post-rewrite', 'pre-push', 'post-checkout'] as const;
export type HookName = (typeof hookNames)[number];

/** The absolute path of teddy, for hooks that cannot find teddy on PATH. */
export interface HookProgram {
  node: string;
  main: string;
}

/** The hook scripts that ship with teddy, and the program they call. */
export interface HookSource {
  program: HookProgram;
  /** Returns true if `teddy` is on PATH, where the hooks look first. */
  isOnPath(): Promise<boolean>;
  /** Reads a hook's script. Throws FILE_NOT_FOUND. */
  readScript(name: HookName): Promise<string>;
}

/** The message file for a commit in progress. Each byte is one character, in any encoding. */
export interface MessageFile {
  /** Reads the message. Throws FILE_NOT_FOUND. */
  read(): Promise<string>;
  write(text: string): Promise<void>;
}

/** The directory where git looks for this repository's hooks. */
export interface HookTarget {
  /** The absolute path; empty when `core.hooksPath` is empty, in which case git runs no hook. */
  dir: string;
  /**
   * `own`: only this repository uses the directory. `shared`: the user's or machine's configuration names it, so other
   * repositories use it too. `work-tree`: the directory is among the project's files.
   */
  kind: 'own' | 'shared' | 'work-tree';
  /** The place where `core.hooksPath` is set, such as `local .git/config`; null when it is not set. */
  origin: string | null;
}

export interface HookFile {
  /** Null for a directory, a device, or a file too large for a script: git would not run the file, or nobody can inspect it. */
  text: string | null;
  isExecutable: boolean;
}

/** The scripts that git runs. Paths are absolute. All methods but `locate` throw WRITE_FAILED. */
export interface Hooks {
  /** The absolute path where git looks when `core.hooksPath` is not set. */
  readonly ownDir: string;
  locate(): Promise<HookTarget>;
  /** Returns null when the file does not exist. */
  read(path: string): Promise<HookFile | null>;
  /** Gives the file a second name without changing it or its mode; never replaces another file. */
  keep(path: string, as: string): Promise<void>;
  /** Writes the script atomically as an executable and creates the directory. */
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
  /** Fetches everything, even objects that already exist here. Only for a fetch. */
  isWhole?: boolean;
}

/**
 * Other repositories (configured remotes, URLs or paths), reached with git's own transports and credentials, without
 * prompts. All methods throw UNKNOWN_REMOTE, REMOTE_UNREACHABLE (after retries with jitter if a retry can help),
 * INTERRUPTED.
 */
export interface Remotes {
  /** Lists the remotes in git's configuration. */
  names(): Promise<string[]>;
  /** Lists the remote's refs with these prefixes, and reports whether the remote has any ref at all. */
  list(
    remote: string,
    prefixes: readonly string[],
    options: TransferOptions,
  ): Promise<{ refs: RefTip[]; isEmpty: boolean }>;
  /**
   * Fetches refs from the remote to `refs/teddy/quarantine/` and replaces the existing ones. Moves no other ref,
   * fetches no tags and does not write FETCH_HEAD. Checks objects as `transfer.fsckObjects` does. Throws
   * HOSTILE_SESSION when git refuses them.
   */
  fetch(remote: string, refs: readonly { from: RefName; to: RefName }[], options: TransferOptions): Promise<void>;
  /**
   * Pushes all refs or none, each with a lease (`old` null: the ref must not exist yet; `new` null: delete the ref),
   * never by force. `moved`: a lease failed and nothing has changed. Throws a `RemoteRefusedError` with the server's
   * message, and nothing has changed either.
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

/** Finds lines that contain `text`, or match it as a regular expression. */
export interface TextQuery {
  /** A single line. */
  text: string;
  isRegex: boolean;
  /** Applies to ASCII letters only. */
  ignoresCase: boolean;
  /** A file or a directory; null to search everywhere. */
  path: RepoPath | null;
  signal: AbortSignal;
}

/** The pattern that `searchTrees` looks for. */
export interface TreeQuery {
  /** Each text is a single line without NUL. */
  texts: readonly string[];
  /** Applies to ASCII letters only. */
  ignoresCase: boolean;
  /** The paths in a tree to search: patterns in which `*` stands for a name or part of one. */
  paths: readonly string[];
  signal: AbortSignal;
}

/** The numbers (from 1) of the first matching lines in one file. */
export interface TextHits {
  path: RepoPath;
  lines: number[];
}

/** How to show a file's change. `text`: line by line; for all other kinds, show only that the file differs. */
export type DiffKind = 'text' | 'binary' | 'large' | 'submodule' | 'missing';

export interface TreeChange {
  path: RepoPath;
  change: 'added' | 'modified' | 'deleted';
  before: Oid | null;
  after: Oid | null;
  mode: TreeMode | null;
}

/** `oldMode` and `mode` are the modes before and after; null when the file does not exist on that side. */
export interface CommitChange extends TreeChange {
  oldMode: TreeMode | null;
}

export interface ChangedCommit {
  oid: Oid;
  commit: Commit;
  changes: CommitChange[];
}

export interface Head {
  /** The current branch; null when HEAD is detached. */
  ref: RefName | null;
  /** Null while the branch is unborn. */
  oid: Oid | null;
}

/** A tracked path that differs from HEAD. `staged` and `unstaged` are git's status letters; `.` means unchanged. */
export interface Edit {
  path: RepoPath;
  staged: string;
  unstaged: string;
  submodule: boolean;
  /**
   * git's quoted form of a name that is not UTF-8. `path` is then only for display, because git would not find the file
   * under that path.
   */
  quotedName?: string;
}

export interface WorkspaceStatus {
  edits: Edit[];
  unmerged: RepoPath[];
  untracked: RepoPath[];
}

/**
 * The paths that differ from HEAD, each with a fingerprint: git's two status letters (`??`: untracked), a space, and a
 * fingerprint of the file on disk. Comparing two scans shows the changes between them. Another repository, such as a
 * submodule, ends with `/`.
 */
export type Scan = ReadonlyMap<RepoPath, string>;

/** A line's move to its next entry, which must reach the ref, the index and `.teddy/` on disk. */
export interface Publication {
  ref: RefName;
  old: Oid | null;
  new: Oid;
  reflog: string;
  /** Pending object writes: the ref moves once they are durable, and stays if they fail. */
  durable?: Promise<void>;
  /** When HEAD is on the line: the index entries to set (null: remove), for exactly the paths that the commit changed. */
  index: { path: RepoPath; entry: { mode: TreeMode; oid: Oid } | null }[];
  /** The files in `.teddy/` to write after the ref has moved; null bytes remove the file. */
  files: { path: RepoPath; bytes: Uint8Array | null }[];
}

/** One work tree of the repository, with its HEAD and index. */
export interface Workspace {
  /** The absolute path. */
  readonly root: string;
  head(): Promise<Head>;
  /** Returns true if HEAD is currently on the branch. */
  isOn(ref: RefName): Promise<boolean>;
  /** Returns the git operation in progress: `rebase`, `merge`, ... Also reports a rebase of `ref` in any work tree. */
  operationInProgress(ref: RefName | null): Promise<string | null>;
  /** Returns the status; with `path`, only that file's status, without looking at any other file. */
  status(options: { untracked: boolean; path?: RepoPath }): Promise<WorkspaceStatus>;
  /** Returns the status and HEAD's position at that moment. */
  headAndStatus(options: { untracked: boolean }): Promise<{ head: Head; status: WorkspaceStatus }>;
  /**
   * Compares the staged changes with HEAD. `index` is the absolute path of another index file, as git passes it to
   * commit hooks.
   */
  stagedChanges(index: string | null): Promise<CommitChange[]>;
  /**
   * Writes a tree with everything staged and all tracked edits, except those in `except`. Does not touch the user's
   * index. Durable.
   */
  snapshotTree(except: RepoPath[]): Promise<Oid>;
  /** Writes the tree of `base` with exactly these paths taken from disk (through git's filters). Durable. */
  treeOfPaths(base: Oid, paths: RepoPath[]): Promise<Oid>;
  scan(): Promise<Scan>;
  /** Returns the scan and HEAD's position at that moment. */
  headAndScan(): Promise<{ head: Head; scan: Scan }>;
  /**
   * Lists directories without tracked files that git does not ignore, even empty ones. Omits directories inside a
   * listed one.
   */
  untrackedDirectories(): Promise<RepoPath[]>;
  /** Lists untracked files at or below a path, including ignored ones. */
  untrackedBelow(path: RepoPath): Promise<RepoPath[]>;
  /** Returns the paths that are both untracked and ignored. */
  ignored(paths: RepoPath[]): Promise<RepoPath[]>;
  /**
   * Searches the text files on disk, tracked or untracked but not ignored; skips `.teddy` and other repositories.
   * Throws ACTION_FAILED for an expression that is invalid or takes too long; INTERRUPTED.
   */
  search(query: TextQuery): Promise<TextHits[]>;
  /** Moves the ref by compare-and-swap, then the index and files. `moved`: nothing has changed. */
  publish(publication: Publication): Promise<'done' | 'moved'>;
  /**
   * Finishes or undoes work between objects and index that was interrupted when teddy crashed. Returns descriptions of
   * the repairs.
   */
  repair(): Promise<string[]>;
  /** Reads a file in the work tree from disk without following a final symlink; null when the file does not exist. */
  readDisk(path: RepoPath): Promise<Uint8Array | null>;
  /**
   * Returns the bytes that git would write to each path for its blob, through the user's filters and line endings. Each
   * path may occur once; all bytes are in memory together. Throws GIT_FAILED when a blob is missing or its filter
   * refuses it.
   */
  readCheckouts(files: { path: RepoPath; oid: Oid }[]): Promise<Map<RepoPath, Uint8Array>>;
  /** Returns the number of bytes that `readDisk` would read; null when there is nothing to read. */
  sizeOnDisk(path: RepoPath): Promise<number | null>;
  /**
   * Returns when a file was created on this disk, or last changed if the disk does not record that. Null when there is
   * no file.
   */
  bornOnDisk(path: RepoPath): Promise<Date | null>;
  /** Restores a file in `.teddy/` that is on the line but missing on disk. Null bytes remove the file. */
  writeSessionFile(path: RepoPath, bytes: Uint8Array | null): Promise<void>;
  /** Resets the index entries of these paths to HEAD, as `git restore --staged` does. */
  unstage(paths: RepoPath[]): Promise<void>;
  /**
   * Switches HEAD to a branch with git's own checkout and its safety rules. A file that already has the content that
   * git would write does not block the switch.
   */
  switchTo(ref: RefName): Promise<void>;
  /**
   * Fast-forwards the current branch, with index and files, as `git merge --ff-only --no-autostash` does. A file that
   * already has the content that git would write does not block it. Throws FILES_IN_THE_WAY when somebody's changes
   * would be lost, and REF_MOVED when the commit is not a descendant; in both cases nothing has changed.
   */
  fastForward(commit: Oid): Promise<void>;
  /** Throws FILES_IN_THE_WAY if a fast-forward to a commit with this tree would throw it. Changes nothing. */
  rehearse(tree: Oid): Promise<void>;
}
