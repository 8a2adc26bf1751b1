/** Finds the file and the lines that a person names: `src/app.ts`, `src/app.ts:42`, `src/app.ts:42-50`. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { parseRepoPath } from '../../session/paths.ts';
import { toShellWord } from '../../session/shell-word.ts';

export interface PlaceRequest {
  /** A path of the repository, with lines or without. */
  place: string;
  /** A revision; without it the file as it is in the work tree, or at HEAD where there is none. */
  revision?: string | undefined;
}

export interface Place {
  path: RepoPath;
  /** Null: the file as it is on disk. */
  commit: Oid | null;
  ranges: readonly (readonly [first: number, last: number])[];
}

/** Throws FILE_NOT_FOUND, UNKNOWN_COMMIT, USAGE. */
export async function findPlace(project: Project, { place, revision }: PlaceRequest): Promise<Place> {
  const commit = await findCommit(project, revision);
  const whole = await findFile(project, commit, place);
  if (whole !== null) return { path: whole, commit, ranges: [] };
  const [, file = '', first, last] = /^(.+?):(\d+)(?:[-,](\d+))?$/s.exec(place) ?? [];
  const path = file === '' ? null : await findFile(project, commit, file);
  if (path === null) throw await toMissing(project, commit, file === '' ? place : file);
  const range = [Number(first), Number(last ?? first)] as const;
  if (range[0] < 1 || range[1] < range[0])
    throw new TeddyError('USAGE', `${place.slice(file.length + 1)} names no lines.`, 'Say FILE:42, or FILE:42-50.');
  return { path, commit, ranges: [range] };
}

async function findCommit({ repository }: Project, revision: string | undefined): Promise<Oid | null> {
  if (revision === undefined && repository.workspace !== null) return null;
  const name = revision ?? 'HEAD';
  const found = await repository.store.resolve(name);
  if (found !== null) return found;
  throw new TeddyError('UNKNOWN_COMMIT', `There is no commit ${name}.`, '`git log --oneline` lists the commits.');
}

/** Null: it is no file there, or git does not track it. */
async function findFile(project: Project, commit: Oid | null, text: string): Promise<RepoPath | null> {
  const { store, workspace } = project.repository;
  const path = toPath(text, workspace?.root);
  if (path === null) return null;
  if (commit !== null) return (await store.readFile(commit, path)) === null ? null : path;
  const head = await store.resolve('HEAD');
  if ((await workspace?.sizeOnDisk(path)) == null) return null;
  if (head !== null && (await store.hasPath(head, path))) return path;
  // What is staged, git blames as well.
  const edits = (await workspace?.status({ untracked: false, path }))?.edits ?? [];
  return head !== null && edits.length > 0 ? path : null;
}

function toPath(text: string, root: string | undefined): RepoPath | null {
  const parsed = parseRepoPath(text.replace(/^\.\//, ''), root);
  return 'path' in parsed ? parsed.path : null;
}

async function toMissing(project: Project, commit: Oid | null, text: string): Promise<TeddyError> {
  const { store, workspace } = project.repository;
  const path = toPath(text, workspace?.root);
  const head = await store.resolve('HEAD');
  const name = path ?? text;
  if (head === null)
    return new TeddyError(
      'UNKNOWN_COMMIT',
      'There is no commit yet, so no line has a story.',
      'Commit something first.',
    );
  if (path !== null && (await store.readDir(commit ?? head, path)) !== null)
    return new TeddyError(
      'FILE_NOT_FOUND',
      `${name} is a directory.`,
      `Name a file: \`git ls-files ${toShellWord(`:/${path}`)}\` lists them.`,
    );
  if (commit === null && path !== null && (await workspace?.sizeOnDisk(path)) != null)
    return new TeddyError('FILE_NOT_FOUND', `git does not track ${name}.`, 'A line has a story once it is committed.');
  if (commit === null && path !== null && (await store.hasPath(head, path)))
    return new TeddyError('FILE_NOT_FOUND', `${name} is not in the work tree.`, 'It is at HEAD: add `--rev HEAD`.');
  return new TeddyError('FILE_NOT_FOUND', `There is no file ${name}.`, '`git ls-files :/` lists the files.');
}
