/** The workflows' view of git: objects, refs, work trees, remotes, hooks. Types only: `git/` implements them. */
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../names.ts';

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

/** A commit with what most of those who walk a line want of it. */
export interface WalkedCommit extends Pick<Commit, 'author' | 'committer' | 'message'> {
  oid: Oid;
  /** The first. */
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

/** A commit on top of the one before it: its tree is that one's with these files, each new or in another version. */
export interface LineCommit extends Ident {
  message: string;
  files: { path: RepoPath; bytes: Uint8Array }[];
}

export interface Signature {
  state: 'good' | 'bad' | 'unknown';
  /** Fingerprints of the key that has signed, as git shows them, and of its primary key; none where git cannot tell, or it is revoked. */
  keys: string[];
  /** Who that key belongs to, as git knows it: a person may have several. Empty where git does not know. */
  signer: string;
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
  /** Hands the blob over in pieces as they come, and holds none of them: for one that may be large. `take` never throws. */
  passBlob(oid: Oid, take: (piece: Uint8Array) => void): Promise<void>;
  readTree(oid: Oid): Promise<TreeEntry[]>;
  readCommit(oid: Oid): Promise<Commit>;
  /** The file (or link) at a path of a commit or tree; null when there is none. */
  readFile(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; bytes: Uint8Array } | null>;
  /** The tree at a path of a commit or tree; null when there is none. */
  readDir(treeish: Oid, path: RepoPath): Promise<{ oid: Oid; entries: TreeEntry[] } | null>;
  /** Size in bytes; null when there is no such object. */
  readSize(oid: Oid): Promise<number | null>;
  /** The object that a ref names, a commit or another; null: there is no such ref. */
  readRef(ref: RefName): Promise<Oid | null>;
  /** The commit that a revision names, or null. `revision` is never taken as an option. */
  resolve(revision: string): Promise<Oid | null>;
  /** Asks for refs as they are from now on: a git that lives on can miss it when they are packed twice within a second. */
  readAnew(): void;
  /** In order of their names. */
  listRefs(...prefixes: string[]): Promise<RefTip[]>;
  /** Commits from `from` along first parents, newest first, none of them reachable from `not`. */
  firstParents(from: Oid, not?: Oid[]): AsyncIterable<{ oid: Oid; commit: Commit }>;
  /**
   * The same of several commits at once, by one git process: each commit once, never before one that it is a first parent of
   * has named it. The process ends when the reader stops. Throws GIT_FAILED where an object is missing.
   */
  firstParentsOf(tips: readonly Oid[]): AsyncIterable<WalkedCommit>;
  /** Whether a commit or tree has something at a path. Many are asked at once at little cost. */
  hasPath(treeish: Oid, path: RepoPath): Promise<boolean>;
  /** Tells what a commit or tree has at a path, without reading it; null: nothing. */
  findOid(treeish: Oid, path: RepoPath): Promise<Oid | null>;
  /**
   * Commits up to `from` along first parents, oldest first, none of them reachable from `not`, each with what it changed against
   * its first parent (one without a parent, against nothing; as at the end of a shallow clone). It is for many: the rate is
   * some thousands a second. Throws DAMAGED_SESSION where an object is missing.
   */
  walkChanges(from: Oid, not: readonly Oid[]): AsyncIterable<ChangedCommit>;
  /**
   * Tells what commits that the caller has walked already changed, in their order, each against the parent that is given with it;
   * one whose parent is null has none, or begins a shallow clone. Throws DAMAGED_SESSION where an object is missing.
   */
  changesOf(
    commits: readonly Pick<WalkedCommit, 'oid' | 'parent'>[],
  ): AsyncIterable<Pick<ChangedCommit, 'oid' | 'changes'>>;
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** The commits whose parents a shallow clone has left out; none in a whole one. */
  cutCommits(): Promise<ReadonlySet<Oid>>;
  /**
   * Judges the signed ones among the commits that `walkChanges` gives, all at once and as git judges them; `unknown` when git
   * cannot.
   */
  checkSignatures(from: Oid, not: readonly Oid[], options?: SignatureOptions): Promise<Map<Oid, Signature>>;
  /** Returns what `git fsck` finds wrong with the repository and with what is reachable from these commits, a line each. */
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
  /**
   * Compares two trees path by path; a rename is a deletion and an addition. Null is the empty tree. Nothing of the path
   * `without` is read.
   */
  diffTrees(before: Oid | null, after: Oid, options?: { without?: RepoPath }): Promise<TreeChange[]>;
  /**
   * Merges three trees as git's own merge does, and checks nothing out. When `tree` is null, these paths are in conflict and
   * nothing is kept. Throws DAMAGED_SESSION, GIT_FAILED.
   */
  mergeTrees(
    base: Oid,
    ours: Oid,
    theirs: Oid,
  ): Promise<{ tree: Oid; conflicts: [] } | { tree: null; conflicts: RepoPath[] }>;
  /** Lines of the text files of a commit or tree; `.teddy` is left out. Throws what `Workspace.search` throws. */
  search(treeish: Oid, query: TextQuery): Promise<TextHits[]>;
  /**
   * The files below these trees that hold one of the texts, tree by tree. A tree is named by its id or as `<commit>:<path>`; one
   * that is not there is passed over. A blob may stand in place of a tree: its path is empty. Throws what `search` throws.
   */
  searchTrees(trees: readonly string[], query: TreeQuery): Promise<{ tree: string; path: string }[]>;
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
  /** Packs all refs, after these were made at once. Throws GIT_FAILED. */
  packRefs(made: readonly RefName[]): Promise<void>;
  /** Author and committer as git would use them; throws NO_IDENTITY as git refuses. */
  ident(): Promise<Ident>;
  /** A setting of git's configuration, the last value; `teddy.model`. */
  setting(key: string): Promise<string | undefined>;
  /** Where that value is set: `local .git/config`, `global ~/.gitconfig`, `command line`. */
  settingOrigin(key: string): Promise<string | undefined>;
  /** All of its values with where each is set, in the order in which git reads them: the last one counts for git. */
  settingValues(key: string): Promise<{ value: string; origin: string }[]>;
  /** All settings whose key begins so, the last value of each. Keys as git prints them: lower case but for the subsection. */
  settings(prefix: string): Promise<{ key: string; value: string }[]>;
}

/** The part of a store that reading sessions takes; the reader without git has one of its own. */
export type SessionStore = Pick<
  Store,
  | 'readBlob'
  | 'passBlob'
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

/** Where sessions are read from: a project has it. */
export interface SessionSource {
  repository: { store: SessionStore; cache: Cache };
}

/** A work tree of the repository, the main one or a linked one. `ref` null: detached. */
export interface WorkTree {
  root: string;
  ref: RefName | null;
}

/** One that `git worktree add` made, as git has it on record. */
export interface LinkedWorkTree extends WorkTree {
  /** The commit that HEAD is at; null: its branch has none. */
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

/** Lines of a file that one commit brought, one after the other. */
export interface BlamedRun {
  /** Null: no commit has them, only the work tree. */
  commit: Oid | null;
  /** The number of the first one, from 1, in the file that was asked for. */
  line: number;
  /** The same in the file of the commit. */
  originalLine: number;
  /** The file in the commit. */
  path: RepoPath;
  texts: string[];
}

/** Commits by the parents that they are to have in place of their own. */
export type Grafts = ReadonlyMap<Oid, readonly Oid[]>;

export interface BlameQuery {
  path: RepoPath;
  /** Null: the file as it is on disk. */
  commit: Oid | null;
  /** First and last lines, from 1; none: the whole file. */
  ranges: readonly (readonly [first: number, last: number])[];
  grafts: Grafts;
  /** Finds lines that were moved within the file, as `git blame -M`. */
  moves?: boolean | undefined;
  /** Finds lines that came from another file which the same commit changed, as `git blame -C`. */
  copies?: boolean | undefined;
  /** Looks past these commits, and past changes of blanks: git then guesses which line was there before. */
  ignored?: readonly Oid[] | undefined;
}

/** The lines of the files of `blame.ignoreRevsFile` that are no comments, with the file of each. */
export interface IgnoredRevisions {
  revisions: { file: string; text: string }[];
  /** Files that cannot be read. */
  unread: string[];
}

export interface MarkedCommit {
  oid: Oid;
  parents: Oid[];
  /** When it was committed, in seconds since 1970. */
  seconds: number;
  message: string;
  /** Against its first parent, or against nothing; none for a merge. `blob` null: the file was deleted. */
  changes: { path: RepoPath; blob: Oid | null }[];
}

/** Which commit brought a line. */
export interface Blame {
  /**
   * In the order of the file, as git finds them. The grafts make no circle: git would go round it for good. Throws USAGE for lines
   * that the file does not have, FILE_NOT_FOUND, and GIT_FAILED where the parent of a graft is missing.
   */
  lines(query: BlameQuery): Promise<BlamedRun[]>;
  /** The configuration's, as they stand there: no commit was looked for. */
  ignored(): Promise<IgnoredRevisions>;
  /**
   * Commits that one of `tips` reaches and none of `not`, and of whose message a line begins with one of `marks`, or all without
   * marks; the newest first. `since`: in seconds since 1970, of commits that were made then or later.
   */
  findMarked(
    marks: readonly string[],
    tips: readonly Oid[],
    not: readonly Oid[],
    since?: number,
  ): Promise<MarkedCommit[]>;
  /** Commits whose grafts close a circle in the history of `tips`, of each circle the last in the map: the others make none. */
  findCircles(tips: readonly Oid[], grafts: Grafts): Promise<Set<Oid>>;
  /** Adds the names that commits that `tip` reaches have given these files since then. `seconds`: since 1970. */
  followNames(paths: ReadonlySet<RepoPath>, tip: Oid, seconds: number): Promise<Set<RepoPath>>;
}

/** Holds what can be derived again; any of it may be gone at any time. */
export interface Cache {
  read(key: string): Promise<Uint8Array | null>;
  /** The pieces one after the other. */
  write(key: string, pieces: readonly Uint8Array[]): Promise<void>;
}

/** Which run it is: a line executes a turn once at a time, and two lines may have a turn of the same name. */
export interface RunDirs {
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
  /** Most repositories have none, and git need not be asked then. Some that it tells of may be gone. */
  hasLinkedWorkTrees(): Promise<boolean>;
  linkedWorkTrees(): Promise<LinkedWorkTree[]>;
  /** Makes a linked work tree with the branch checked out in it; its root. All or nothing. Throws LINE_CHECKED_OUT. */
  addWorkTree(ref: RefName): Promise<string>;
  /** With git's own checks, never by force; ignored files go with it. Throws WORK_TREE_IN_USE, UNCOMMITTED_EDITS. */
  removeWorkTree(root: string): Promise<void>;
  /** Lists what git ignores in a work tree, a directory as one: `node_modules/`. */
  ignoredFilesOf(root: string): Promise<string[]>;
  openWorkspace(root: string): Promise<Workspace>;
  /**
   * A work tree in a temporary directory, with HEAD detached at the commit, in a repository of its own that reads the objects of
   * this one: no command there can move anything here by its git. `remove` leaves nothing of it; what a killed process leaves is
   * known by the name of its process, `holder`.
   */
  openScratch(commit: Oid, holder: string): Promise<ScratchTree>;
  readonly cache: Cache;
  readonly blame: Blame;
  readonly hooks: Hooks;
  readonly remotes: Remotes;
  /** Sets a key of git's configuration, for this repository or for all of the user's; null takes it away. False: it was not set. */
  changeSetting(scope: 'local' | 'global', key: string, value: string | null): Promise<boolean>;
  /** A process that lives long asks git's configuration anew: somebody may have changed it. */
  reloadSettings(): void;
  /** Writes teddy's marked block in `info/attributes`, once. */
  installAttributes(): Promise<void>;
  /** The secret that git's credential helpers keep for a URL and the user name `teddy`; null without one. Nobody is asked. */
  credential(url: string): Promise<string | null>;
  close(): Promise<void>;
}

export const hookNames = ['prepare-commit-msg', 'commit-msg', 'post-rewrite', 'pre-push', 'post-checkout'] as const;
export type HookName = (typeof hookNames)[number];

/** A hook finds teddy by this where it is not on PATH. Absolute. */
export interface HookProgram {
  node: string;
  main: string;
}

/** The hooks as they come with teddy, and who installs them. */
export interface HookSource {
  program: HookProgram;
  /** `teddy` is on PATH, where the hooks look first. */
  isOnPath(): Promise<boolean>;
  /** Throws FILE_NOT_FOUND. */
  readScript(name: HookName): Promise<string>;
}

/** The message of a commit that is being made. A character for each byte, whatever the encoding. */
export interface MessageFile {
  /** Throws FILE_NOT_FOUND. */
  read(): Promise<string>;
  write(text: string): Promise<void>;
}

/** Where git looks for the hooks of this repository. */
export interface HookTarget {
  /** Absolute; empty where `core.hooksPath` is, so that git runs no hook. */
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
  /** Where git looks while `core.hooksPath` is not set. Absolute. */
  readonly ownDir: string;
  locate(): Promise<HookTarget>;
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
  /** True: brings everything, whatever is here already. Only for a fetch. */
  isWhole?: boolean;
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

/** The pattern that `searchTrees` looks for. */
export interface TreeQuery {
  /** Each of one line, without NUL. */
  texts: readonly string[];
  /** For letters of ASCII. */
  ignoresCase: boolean;
  /** Where a file may lie in its tree: patterns in which `*` stands for a name, or a part of one. */
  paths: readonly string[];
  signal: AbortSignal;
}

/** The numbers (from 1) of the first lines of one file that match. */
export interface TextHits {
  path: RepoPath;
  lines: number[];
}

/** How a change of a file is shown. `text`: its lines are compared; the others are only said to differ. */
export type DiffKind = 'text' | 'binary' | 'large' | 'submodule' | 'missing';

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
  /** git's quoted form, where the name is not UTF-8: `path` then shows it, and git would not find the file by it. */
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
  /** Whether HEAD is on the branch at this moment. */
  isOn(ref: RefName): Promise<boolean>;
  /** `rebase`, `merge`, ... while git is in the middle of one, also when `ref` is being rebased in any work tree. */
  operationInProgress(ref: RefName | null): Promise<string | null>;
  /** With `path` of it alone: no other file is looked at. */
  status(options: { untracked: boolean; path?: RepoPath }): Promise<WorkspaceStatus>;
  /** The status, and where HEAD was then. */
  headAndStatus(options: { untracked: boolean }): Promise<{ head: Head; status: WorkspaceStatus }>;
  /** How what is staged differs from HEAD. `index`: another file in its place, as git names one to the hooks of a commit; absolute. */
  stagedChanges(index: string | null): Promise<CommitChange[]>;
  /** The tree of what is staged plus tracked edits, without those in `except`; the user's index is not touched. Durable. */
  snapshotTree(except: RepoPath[]): Promise<Oid>;
  /** The tree of `base` with exactly these paths as they are on disk (through git's filters). Durable. */
  treeOfPaths(base: Oid, paths: RepoPath[]): Promise<Oid>;
  scan(): Promise<Scan>;
  /** The scan, and where HEAD was then. */
  headAndScan(): Promise<{ head: Head; scan: Scan }>;
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
  /** When a file came to be on this disk; where the disk does not say, when it last changed. Null when there is none. */
  bornOnDisk(path: RepoPath): Promise<Date | null>;
  /** Writes a file of `.teddy/` again that the line has and the disk has lost. Null: removes one. */
  writeSessionFile(path: RepoPath, bytes: Uint8Array | null): Promise<void>;
  /** Sets the index entries of these paths to those of HEAD, as `git restore --staged` does. */
  unstage(paths: RepoPath[]): Promise<void>;
  /** Switches HEAD to a branch with git's own checkout and its safety rules. A file that is as git would write it is not in the way. */
  switchTo(ref: RefName): Promise<void>;
  /**
   * Moves the branch that HEAD is on, index and files with it, to a descendant, as `git merge --ff-only --no-autostash` does.
   * A file that is there as git would write it is not in the way. Throws FILES_IN_THE_WAY where somebody's changes would be lost,
   * REF_MOVED where it is none; nothing has changed then.
   */
  fastForward(commit: Oid): Promise<void>;
  /** Throws FILES_IN_THE_WAY where a fast-forward to a commit with this tree would. Nothing changes. */
  rehearse(tree: Oid): Promise<void>;
}
