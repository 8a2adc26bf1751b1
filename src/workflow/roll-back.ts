/**
 * Puts back what a run changed: content, mode, links, deletions, and the directories that it made. What is not provably the
 * run's own is moved aside first, so that nobody's work is lost. Commits, and what git ignores, stay as they are.
 */
import { TeddyError } from '../errors.ts';
import type { JournaledRun } from '../plan/journal.ts';
import type { FileState, NewFile, Project, RunJournal, Scan, Workspace } from '../ports.ts';
import type { Oid, RepoPath } from '../session/names.ts';
import { findTouched, type Origin, type TouchedFile } from './find-touched.ts';
import { equalBytes } from './guard-session-files.ts';
import { parentOf } from './keep-before.ts';
import { toText } from './read-line.ts';

export interface RolledBack {
  restored: RepoPath[];
  /** They are not as they were before the run, and why. */
  left: LeftPath[];
  /** The same, where another try may come further. */
  failed: LeftPath[];
  /** What was found there and may be somebody's own: where it is now, absolute. */
  aside: { path: RepoPath; to: string }[];
}

interface LeftPath {
  path: RepoPath;
  reason: string;
}

export interface RollbackPlace {
  project: Project;
  workspace: Workspace;
  journal: RunJournal;
}

/** May be done again after a crash: what is as it was before the run already is passed over. */
export async function rollBack(place: RollbackPlace, run: JournaledRun): Promise<RolledBack> {
  const { project, workspace } = place;
  const files = project.filesOf(workspace.root);
  const ranCommand = run.begun.some(({ before }) => before.kind === 'command');
  const now: Scan = ranCommand ? await workspace.scan() : new Map();
  const outcome: RolledBack = { restored: [], left: [], failed: [], aside: [] };
  const put = async (touched: TouchedFile[]) => {
    for (const file of touched) await putBack(place, file, now, outcome);
  };

  const touched = await findTouched(place, run, now);
  for (const { path } of touched) await files.removeLeftovers(path);
  const made = await findMade(place, touched);
  await put(touched.filter((file) => !made.has(file)));
  // With its .gitignore back, git ignores again what it ignored before: such a file was there, or is nobody's concern.
  const ignored = new Set(await workspace.ignored([...made].map(({ path }) => path)));
  await put([...made].filter(({ path, byCommand }) => !byCommand || !ignored.has(path)));
  await files.removeEmptyDirectories(touched.flatMap(({ directories }) => directories).toSorted(deepestFirst));
  // A directory that a command had put in a file's place is gone now.
  const again = new Set([...outcome.left.splice(0), ...outcome.failed.splice(0)].map(({ path }) => path));
  await put(touched.filter(({ path }) => again.has(path)));
  if (ranCommand) await workspace.unstage(outcome.restored);
  return outcome;
}

function deepestFirst(a: RepoPath, b: RepoPath): number {
  return b.split('/').length - a.split('/').length;
}

/** Files that were not there before. */
async function findMade(place: RollbackPlace, touched: TouchedFile[]): Promise<Set<TouchedFile>> {
  const made = new Set<TouchedFile>();
  for (const file of touched) {
    const isAbsent =
      file.before.kind === 'absent' ||
      (file.before.kind === 'commit' && (await readCommitted(place, file.path, file.before)) === null);
    if (isAbsent) made.add(file);
  }
  return made;
}

async function putBack(place: RollbackPlace, file: TouchedFile, now: Scan, outcome: RolledBack): Promise<void> {
  const { project, workspace, journal } = place;
  const { path, before } = file;
  const files = project.filesOf(workspace.root);
  if (before.kind === 'not-kept') return void outcome.left.push({ path, reason: before.reason });
  try {
    const found = await files.readState(path);
    const wanted = await toState(place, path, before, found);
    if (isSame(found, wanted)) return;
    if (found.kind === 'other') return void outcome.left.push({ path, reason: 'there is no file at its path now' });
    if (found.kind !== 'absent' && !isOwn(project, file, found, now)) {
      outcome.aside.push({ path, to: await journal.moveAside(workspace.root, path) });
    }
    await files.putState(path, wanted);
    outcome.restored.push(path);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    outcome.failed.push({ path, reason: error.message.replace(/\.$/, '') });
  }
}

/** The run left exactly this: nobody has touched it since. */
function isOwn({ hash }: Project, { path, left }: TouchedFile, found: FileState, now: Scan): boolean {
  if (left === undefined) return false;
  if (left?.startsWith('sha256:')) return found.kind === 'file' && left === `sha256:${hash(found.bytes)}`;
  return left === (now.get(path) ?? null);
}

async function toState(
  place: RollbackPlace,
  path: RepoPath,
  before: Exclude<Origin, { kind: 'not-kept' }>,
  found: FileState,
): Promise<FileState | NewFile> {
  if (before.kind === 'file') return { kind: 'file', bytes: await place.journal.read(before.key), mode: before.mode };
  if (before.kind !== 'commit') return before;
  const committed = await readCommitted(place, path, before);
  if (committed === null) return { kind: 'absent' };
  const { oid } = committed;
  if (committed.mode === '120000')
    return { kind: 'link', target: toText(await place.project.repository.store.readBlob(oid)) };
  const bytes = await place.workspace.readCheckout(path, oid);
  const executable = committed.mode === '100755';
  if (found.kind !== 'file') return { kind: 'new-file', bytes, executable };
  return { kind: 'file', bytes, mode: withExecutable(found.mode, executable) };
}

/** Whoever may read it may execute it, as git does it. */
function withExecutable(mode: number, executable: boolean): number {
  if (executable === ((mode & 0o100) !== 0)) return mode;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

/** Null: the commit does not have it. */
async function readCommitted(
  { project }: RollbackPlace,
  path: RepoPath,
  { oid }: Extract<Origin, { kind: 'commit' }>,
): Promise<{ mode: string; oid: Oid } | null> {
  if (oid === null) return null;
  const directory = await project.repository.store.readDir(oid, parentOf(path) ?? ('' as RepoPath));
  const name = path.slice(path.lastIndexOf('/') + 1);
  return directory?.entries.find((entry) => entry.name === name) ?? null;
}

/** Of a new file, git knows the execute bit alone. */
function isSame(found: FileState, wanted: FileState | NewFile): boolean {
  if (found.kind === 'file' && wanted.kind === 'file')
    return found.mode === wanted.mode && equalBytes(found.bytes, wanted.bytes);
  if (found.kind === 'link' && wanted.kind === 'link') return found.target === wanted.target;
  return found.kind === 'absent' && wanted.kind === 'absent';
}
