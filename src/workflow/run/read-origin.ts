/** How a file was before a run: as the journal kept it, or as the commit has it that the run began on. */
import type { RunJournal } from '../../ports/disk.ts';
import type { FileState, NewFile } from '../../ports/files.ts';
import type { Store, TreeEntry } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import type { Checkouts } from './read-checkouts.ts';
import type { KnownOrigin, TouchedFile } from './find-touched.ts';
import { withExecutable } from '../line/edited-code.ts';
import { parentOf } from './keep-before.ts';
import { anotherRepository } from '../line/new-files.ts';
import { toText } from '../../view/view.ts';

interface OriginContext {
  project: Project;
  journal: RunJournal;
  /** The content that git would write to the paths whose origin is a blob. */
  checkouts: Checkouts;
}

/** Each directory of a commit is read once: thousands of files may lie in it. */
export async function readOrigins(
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

/** git keeps no more of a file's mode than whether it can be executed: the rest is as it is `found`. */
export async function readWanted(
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
