/** Finds the file and the lines for a place such as `src/app.ts`, `src/app.ts:42` or `src/app.ts:42-50`. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { requireCommit } from '../line/find-recorded.ts';
import { openTracing } from './attribute-lines.ts';
import { findSnapshot } from './attribute-work-tree.ts';

export interface FileRangeRequest {
  /** A path in the repository, with or without line numbers. */
  place: string;
  /** A revision; by default the file in the work tree, or at HEAD when there is no work tree. */
  revision?: string | undefined;
}

export interface FileRange {
  path: RepoPath;
  /** Null for the file as it is on disk. */
  commit: Oid | null;
  ranges: readonly (readonly [first: number, last: number])[];
  /** False when git does not track the file on disk and only a snapshot on an agent's line contains it. */
  isTracked: boolean;
}

/** Throws FILE_NOT_FOUND, UNKNOWN_COMMIT or USAGE. */
export async function findFileRange(project: Project, { place, revision }: FileRangeRequest): Promise<FileRange> {
  const commit = await findCommit(project, revision);
  const whole = await findFile(project, commit, place);
  if (whole !== null) return { ...whole, commit, ranges: [] };
  const [, file = '', lines = ''] = /^(.+):([^:/]*)$/s.exec(place) ?? [];
  const found = file === '' ? null : await findFile(project, commit, file);
  if (found === null) throw await toMissing(project, { place: place.replace(/:[\d,-]*$/, ''), revision, commit });
  const [, first, last = first] = /^(\d+)(?:[-,](\d+))?$/.exec(lines) ?? [];
  const range = [Number(first), Number(last)] as const;
  // Also rejects NaN.
  if (!(range[0] >= 1 && range[1] >= range[0]))
    throw new TeddyError(
      'USAGE',
      lines === '' ? 'There is nothing after the colon.' : `${lines} does not name any lines.`,
      'Use FILE:42 or FILE:42-50.',
    );
  return { ...found, commit, ranges: [range] };
}

async function findCommit({ repository }: Project, revision: string | undefined): Promise<Oid | null> {
  if (revision === undefined && repository.workspace !== null) return null;
  return requireCommit(repository.store, revision ?? 'HEAD', '`git log --oneline` lists the commits.');
}

/** Returns null when there is no such file, or when neither git nor a snapshot tracks it. */
async function findFile(
  project: Project,
  commit: Oid | null,
  text: string,
): Promise<Pick<FileRange, 'path' | 'isTracked'> | null> {
  const { repository } = project;
  const { store, workspace } = repository;
  const path = toPath(text, workspace?.root);
  if (path === null) return null;
  const tracked = { path, isTracked: true };
  if (commit !== null) return (await store.readFile(commit, path)) === null ? null : tracked;
  const head = await store.resolve('HEAD');
  if ((await workspace?.sizeOnDisk(path)) == null) return null;
  if (head !== null && (await store.hasPath(head, path))) return tracked;
  // git blames staged lines as well.
  const edits = (await workspace?.status({ untracked: false, path }))?.edits ?? [];
  if (head !== null && edits.length > 0) return tracked;
  const snapshot = await findSnapshot({ repository }, await openTracing({ repository }, null), path);
  return snapshot === null ? null : { path, isTracked: false };
}

function toPath(text: string, root: string | undefined): RepoPath | null {
  const parsed = parsePath(text, root);
  return 'path' in parsed ? parsed.path : null;
}

function parsePath(text: string, root: string | undefined): ReturnType<typeof parseRepoPath> {
  return parseRepoPath(text.replace(/^\.\//, ''), root);
}

async function toMissing(
  project: Project,
  { place, revision = 'HEAD', commit }: FileRangeRequest & { commit: Oid | null },
): Promise<TeddyError> {
  const { store, workspace } = project.repository;
  const missing = (message: string, hint: string) => new TeddyError('FILE_NOT_FOUND', message, hint);
  const head = await store.resolve('HEAD');
  const at = commit ?? head;
  if (at === null)
    return new TeddyError(
      'UNKNOWN_COMMIT',
      'There are no commits yet, so no line has a story.',
      'Commit something first.',
    );
  const list = (dir: string) =>
    commit === null
      ? `\`git ls-files ${toShellWord(`:/${dir}`)}\``
      : `\`${['git ls-tree -r --full-tree --name-only', ...[revision, dir].filter(Boolean).map(toShellWord)].join(' ')}\``;
  if (place === '') return missing('The project root is a directory.', `Name a file: ${list('')} lists them.`);
  const parsed = parsePath(place, workspace?.root);
  if (!('path' in parsed))
    return missing(`${place} is not a file in the project: ${parsed.problem}.`, `${list('')} lists the files.`);
  const { path } = parsed;
  if ((await store.readDir(at, path)) !== null)
    return missing(`${path} is a directory.`, `Name a file: ${list(path)} lists them.`);
  const module = await findSubmodule(project, at, path);
  if (module !== null)
    return missing(
      `${module} is a submodule.`,
      workspace === null
        ? 'Run the command in its own repository.'
        : `Run the command there: \`cd ${toShellWord(`${workspace.root}/${module}`)}\`.`,
    );
  if (commit === null && (await workspace?.sizeOnDisk(path)) != null)
    return missing(`git does not track ${path}.`, 'A line has a story once it is committed.');
  if (commit === null && (await store.hasPath(at, path)))
    return missing(`${path} is not in the work tree.`, 'It exists at HEAD: add `--rev HEAD`.');
  const where = commit === null ? '' : ` in ${JSON.stringify(revision)}`;
  return missing(`There is no file ${path}${where}.`, `${list('')} lists the files.`);
}

/** Returns the submodule that a path names or is in. */
async function findSubmodule(
  { repository: { store } }: Project,
  commit: Oid,
  path: RepoPath,
): Promise<RepoPath | null> {
  const parts = path.split('/');
  for (const at of parts.keys()) {
    const dir = await store.readDir(commit, parts.slice(0, at).join('/') as RepoPath);
    const entry = dir?.entries.find(({ name }) => name === parts[at]);
    if (entry?.mode === '160000') return parts.slice(0, at + 1).join('/') as RepoPath;
    if (entry === undefined) break;
  }
  return null;
}
