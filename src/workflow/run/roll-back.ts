/**
 * Restores files that a run changed: content, mode, links, deletions, and the directories that it made. First moves
 * aside anything that is not provably the run's own, so that nobody's work is lost. Does not change commits or files
 * ignored by git.
 */
import { TeddyError } from '../../errors.ts';
import type { JournaledRun } from '../../plan/report/journal.ts';
import type { ProjectFiles, RunJournal } from '../../ports/disk.ts';
import type { FileState, NewFile } from '../../ports/files.ts';
import type { Scan, Workspace, Store, TreeEntry } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath, Oid } from '../../names.ts';
import { isInState, withExecutable } from '../line/edited-code.ts';
import { findTouched, type KnownOrigin, type TouchedFile } from './find-touched.ts';
import { parentOf } from './keep-before.ts';
import { isRepository, anotherRepository } from '../line/new-files.ts';
import { readCheckouts, slice, type Checkouts } from './read-checkouts.ts';
import { toText } from '../../view/view.ts';

export interface RolledBack {
  restored: RepoPath[];
  /** Paths that differ from their state before the run, with the reasons. */
  left: LeftPath[];
  /** The paths among them for which another attempt may restore more. */
  failed: LeftPath[];
  /** Files at these paths that may be somebody's own, with their new absolute paths. */
  aside: { path: RepoPath; to: string }[];
  /** Files that commands had left and that nobody else seems to have edited, with their new paths. */
  kept: { path: RepoPath; to: string }[];
}

interface LeftPath {
  path: RepoPath;
  reason: string;
}

export interface RollbackContext {
  project: Project;
  workspace: Workspace;
  journal: RunJournal;
}

/** Rolls the run back. Repeatable after a crash: skips anything that is already in its state before the run. */
export async function rollBack(place: RollbackContext, run: JournaledRun): Promise<RolledBack> {
  const { project, workspace } = place;
  const files = project.filesOf(workspace.root);
  const since = new Date(run.begun[0]?.startedAt ?? run.run.startedAt);
  const ranCommand = run.begun.some(({ before }) => before.kind === 'command');
  const now: Scan = ranCommand ? await workspace.scan() : new Map();
  const [contents, written] = [new Set<string>(), new Map<RepoPath, string>()];
  const outcome: RolledBack = { restored: [], left: [], failed: [], aside: [], kept: [] };
  const touched = await findTouched(place, run, now);
  const origins = await readOrigins(project, touched);
  const put = async (wanted: TouchedFile[], isLastTry = false) => {
    for await (const some of slice(project, wanted, origins)) {
      const checkouts = await readCheckouts(workspace, some, origins);
      const putting = { ...place, files, now, since, contents, written, origins, checkouts, isLastTry };
      for (const file of some) await putBack(putting, file, outcome);
    }
  };

  const directories = await findMadeDirectories(place, touched, since);
  for (const path of onePerDirectory(touched)) await files.removeLeftovers(path);
  // Unstages files before asking git which ones it ignores, because git does not ignore files in the index.
  if (ranCommand) await workspace.unstage(touched.map(({ path }) => path).filter((path) => !isRepository(path)));
  // Restores attributes files first, because they affect how git reads the other files.
  for (const level of byDepth(touched.filter(isNamed('.gitattributes')))) await put(level);
  await put(touched.filter(isNamed('.gitignore')));
  // Files that did not exist before.
  const made = new Set(touched.filter((file) => origins.get(file)?.kind === 'absent'));
  await put(touched.filter((file) => !made.has(file)));
  // With its .gitignore restored, git ignores the same files as before: a file among them already existed, or does not
  // matter.
  const ignored = new Set(await workspace.ignored([...made].map(({ path }) => path)));
  await put([...made].filter(({ path, byCommand }) => !byCommand || !ignored.has(path)));
  await files.removeEmptyDirectories(directories);
  // A directory or a link that a command had put in the way is now gone.
  const left = new Set([...outcome.left.splice(0), ...outcome.failed.splice(0)].map(({ path }) => path));
  const again = touched.filter(({ path }) => left.has(path));
  await put(
    again.filter((file) => !made.has(file)),
    true,
  );
  await put(
    again.filter((file) => made.has(file)),
    true,
  );
  await files.removeEmptyDirectories(directories);
  // Attributes files that apply to themselves are restored twice: the first time, the run's version still applied.
  return { ...outcome, restored: [...new Set(outcome.restored)] };
}

function isNamed(name: string): (touched: TouchedFile) => boolean {
  return ({ path }) => path === name || path.endsWith(`/${name}`);
}

/**
 * Groups attributes files by depth, the outermost first: they apply to everything below them, including other
 * attributes files.
 */
function byDepth(touched: TouchedFile[]): TouchedFile[][] {
  const levels: TouchedFile[][] = [];
  for (const file of touched) (levels[file.path.split('/').length - 1] ??= []).push(file);
  return levels.filter((level) => level !== undefined);
}

function onePerDirectory(touched: TouchedFile[]): RepoPath[] {
  return [...new Map(touched.map(({ path }) => [parentOf(path), path])).values()];
}

/** Returns the directories, deepest first. Judges directories that may be the user's by their age. */
async function findMadeDirectories(
  { project, workspace }: RollbackContext,
  touched: TouchedFile[],
  since: Date,
): Promise<RepoPath[]> {
  const files = project.filesOf(workspace.root);
  const made = new Set(touched.flatMap(({ directories }) => directories));
  for (const directory of touched.flatMap(({ unsureDirectories }) => unsureDirectories)) {
    if ((await files.findAge(directory, since)) === 'since') made.add(directory);
  }
  return [...made].toSorted((a, b) => b.split('/').length - a.split('/').length);
}

interface Putting extends RollbackContext {
  files: ProjectFiles;
  origins: ReadonlyMap<TouchedFile, KnownOrigin>;
  checkouts: Checkouts;
  now: Scan;
  /** The time when the run began. */
  since: Date;
  /** The sha256 of each restored content. */
  contents: Set<string>;
  written: Map<RepoPath, string>;
  isLastTry: boolean;
}

async function putBack(place: Putting, file: TouchedFile, outcome: RolledBack): Promise<void> {
  const { path } = file;
  try {
    const reason = await tryPutBack(place, file, outcome);
    if (reason !== null) outcome.left.push({ path, reason });
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    outcome.failed.push({ path, reason: error.message.replace(/\.$/, '') });
  }
}

/** Returns the reason why it did not touch the file, or null. */
async function tryPutBack(place: Putting, file: TouchedFile, outcome: RolledBack): Promise<string | null> {
  const { project, files, contents, written, origins } = place;
  const { path } = file;
  const origin = origins.get(file);
  if (origin === undefined) throw new Error(`${path} has no origin`);
  if (origin.kind === 'out-of-reach') return origin.reason;
  const found = await files.readState(path);
  const wanted = await readWanted(place, path, origin, found);
  const reason = isInState(found, wanted) ? null : await exchange(place, file, { found, wanted }, outcome);
  // Record this only once the file is restored, because teddy then gives up a copy elsewhere.
  if (reason === null && 'bytes' in wanted) {
    const sha256 = project.hash(wanted.bytes);
    contents.add(sha256);
    written.set(path, sha256);
  }
  return reason;
}

async function exchange(
  place: Putting,
  file: TouchedFile,
  { found, wanted }: { found: FileState; wanted: FileState | NewFile },
  outcome: RolledBack,
): Promise<string | null> {
  const { files, workspace, journal } = place;
  const { path } = file;
  if (found.kind === 'other') return 'there is no file at its path now';
  let aside: string | null = null;
  if (found.kind !== 'absent') {
    const claim = wanted.kind === 'absent' && file.byCommand ? await findClaim(place, path, found) : 'none';
    if (typeof claim === 'object') return claim.reason;
    const owner = claim === 'none' ? findOwner(place, file, found) : claim === 'copy' ? 'plan' : null;
    if (owner !== 'plan') {
      aside = await journal.moveAside(workspace.root, path);
      (owner === null ? outcome.aside : outcome.kept).push({ path, to: aside });
    }
  }
  try {
    await files.putState(path, wanted);
  } catch (error) {
    if (aside !== null && (await journal.moveBack(workspace.root, path, aside))) {
      outcome.aside = outcome.aside.filter(({ to }) => to !== aside);
      outcome.kept = outcome.kept.filter(({ to }) => to !== aside);
    }
    throw error;
  }
  outcome.restored.push(path);
  return null;
}

/**
 * Judges a file that a command uncovered rather than made: git had ignored it because of a list outside the project.
 * `copy` means that its content is back at the place from which it was moved.
 */
async function findClaim(
  { project, files, since, contents, isLastTry }: Putting,
  path: RepoPath,
  found: FileState,
): Promise<{ reason: string } | 'none' | 'possible' | 'copy'> {
  const age = await files.findAge(path, since);
  if (age === 'since') return 'none';
  if (age === 'before') return { reason: 'it was there before the run' };
  if (found.kind === 'file' && contents.has(project.hash(found.bytes))) return 'copy';
  return isLastTry ? 'possible' : { reason: 'it may have been there before the run' };
}

/**
 * Returns the content's owner: `plan` when the plan or this rollback wrote it, word for word; `command` when a command,
 * or somebody editing during it, left it; null when somebody has changed it since.
 */
function findOwner(
  { project, now, written }: Putting,
  { path, lefts }: TouchedFile,
  found: FileState,
): 'plan' | 'command' | null {
  const content = found.kind === 'file' ? `sha256:${project.hash(found.bytes)}` : null;
  if (content !== null && [...lefts, `sha256:${written.get(path)}`].includes(content)) return 'plan';
  const print = toFingerprint(now.get(path) ?? null);
  return lefts.some((left) => toFingerprint(left) === print) ? 'command' : null;
}

/** Drops git's status letters, because staging does not change the file. */
function toFingerprint(print: string | null): string | null {
  return print === null || print.startsWith('sha256:') ? print : print.slice(print.indexOf(' ') + 1);
}

/** Finds a file's state before a run: from the journal, or from the commit that the run began on. */
interface OriginContext {
  project: Project;
  journal: RunJournal;
  /** The content that git would check out at the paths that have a blob as origin. */
  checkouts: Checkouts;
}

/** Reads each directory of a commit only once, because a directory may contain thousands of files. */
async function readOrigins(
  { repository: { store } }: Project,
  touched: TouchedFile[],
): Promise<Map<TouchedFile, KnownOrigin>> {
  const read = new Map<string, Promise<FilesByName>>();
  const readDirectory = (commit: Oid, directory: RepoPath) => {
    const key = `${commit} ${directory}`;
    const files = read.get(key) ?? readFilesByName(store, commit, directory);
    read.set(key, files);
    return files;
  };
  const origins = new Map<TouchedFile, KnownOrigin>();
  for (const file of touched) origins.set(file, await findOrigin(file, readDirectory));
  return origins;
}

type FilesByName = Map<string, TreeEntry>;

async function readFilesByName(store: Store, commit: Oid, directory: RepoPath): Promise<FilesByName> {
  const entries = (await store.readDir(commit, directory))?.entries ?? [];
  return new Map(entries.filter(({ mode }) => mode !== '40000').map((entry) => [entry.name, entry]));
}

async function findOrigin(
  { path, before }: TouchedFile,
  readDirectory: (commit: Oid, directory: RepoPath) => Promise<FilesByName>,
): Promise<KnownOrigin> {
  if (before.kind === 'committed') return { kind: 'out-of-reach', reason: 'it was committed in the meantime' };
  if (before.kind === 'not-kept') return { kind: 'out-of-reach', reason: before.reason };
  if (before.kind !== 'commit') return before;
  if (before.oid === null) return { kind: 'absent' };
  const files = await readDirectory(before.oid, parentOf(path) ?? ('' as RepoPath));
  const entry = files.get(path.slice(path.lastIndexOf('/') + 1));
  if (entry?.mode === '160000') return { kind: 'out-of-reach', reason: anotherRepository };
  return entry === undefined ? { kind: 'absent' } : { kind: 'blob', mode: entry.mode, oid: entry.oid };
}

/** Returns the state to restore. git records only whether a file is executable; the rest of its mode comes from `found`. */
async function readWanted(
  { project, journal, checkouts }: OriginContext,
  path: RepoPath,
  origin: Exclude<KnownOrigin, { kind: 'out-of-reach' }>,
  found: FileState,
): Promise<FileState | NewFile> {
  if (origin.kind === 'file') return { kind: 'file', bytes: await journal.read(origin.key), mode: origin.mode };
  if (origin.kind !== 'blob') return origin;
  const { mode, oid } = origin;
  if (mode === '120000') return { kind: 'link', target: toText(await project.repository.store.readBlob(oid)) };
  const bytes = checkouts.get(path);
  if (!(bytes instanceof Uint8Array)) throw bytes ?? new Error(`${path} was not read`);
  const executable = mode === '100755';
  if (found.kind !== 'file') return { kind: 'new-file', bytes, executable };
  return { kind: 'file', bytes, mode: withExecutable(found.mode, executable) };
}
