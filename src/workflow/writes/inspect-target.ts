/** Inspects a write session's target: that its path is writable, and its present content. */
import { TeddyError } from '../../errors.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { findTwin, findTwinIn } from '../line/find-twin.ts';
import { inspectTree } from '../line/inspect-tree.ts';
import { beginsWithBom, endsInNewline, lineEndingsOf } from '../../write/check-bytes.ts';
import type { Base } from '../../write/write.ts';
import { realPathOf, whyNotAFile } from '../../session/paths/out-of-reach.ts';
import { operations, type Operation } from '../../session/settings/write-limits.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

/** A work tree, or the tip of a line that is not checked out anywhere. */
export type TargetBase = Workspace | Oid;

export interface Target {
  /** The real path of the file, with links inside the project resolved. */
  path: RepoPath;
  /** Null when there is no file. */
  bytes: Uint8Array | null;
  /** The permission bits of a file in a commit. */
  mode?: number;
}

/** Throws BAD_TARGET. */
export function parseTarget(text: string, root: string): RepoPath {
  if (text.trim() === '') {
    throw new TeddyError('BAD_TARGET', 'Target file path is required.', 'Name a file in the project: `docs/guide.md`.');
  }
  const parsed = parseRepoPath(text, root);
  if ('path' in parsed) return parsed.path;
  throw badTargetError(text, parsed.problem);
}

/** Accepts an absolute path only when it leads into the work tree. Throws BAD_TARGET. */
export async function parseTargetIn(project: Project, text: string, root: string | null): Promise<RepoPath> {
  const path = text.trim();
  if (!/^[\\/]/.test(path)) return parseTarget(path, root ?? '');
  if (root !== null && path.startsWith(`${root}/`)) return parseTarget(path, root);
  const own = root === null ? null : await project.filesOf(root).inside(path);
  if (own === null) throw badTargetError(path, 'it is outside the project');
  return parseTarget(own, root ?? '');
}

/** Throws BAD_OPERATION. */
export function parseOperation(text: string): Operation {
  const found = operations.find((operation) => operation === text);
  if (found !== undefined) return found;
  throw new TeddyError(
    'BAD_OPERATION',
    "Invalid operation type. Must be 'create', 'overwrite', or 'append'.",
    'create makes a new file, overwrite replaces one, append adds to the end of one.',
  );
}

/** Throws BAD_TARGET for a path that teddy cannot write or commit. */
export async function inspectTarget(project: Project, place: TargetBase, path: RepoPath): Promise<Target> {
  const isOnDisk = typeof place !== 'string';
  const inspect = isOnDisk ? project.filesOf(place.root).inspect : inspectTree(project.repository.store, place);
  const found = await inspect(path);
  const unusable = whyNotAFile(path, found);
  if (unusable !== null) throw badTargetError(path, unusable);
  const real = realPathOf(path, found);
  if (isOnDisk && (await place.ignored([real])).length > 0) {
    throw badTargetError(path, 'git ignores it, and a write session ends with a commit');
  }
  if (found.kind !== 'file') return { path: real, bytes: null };
  return { path: real, bytes: found.bytes, ...(isOnDisk ? {} : { mode: found.executable ? 0o755 : usualMode }) };
}

const usualMode = 0o644;

/** Returns the existing name that clashes with a new file on some file systems, or null. */
export function findTwinAt(project: Project, place: TargetBase, path: RepoPath): Promise<RepoPath | null> {
  return typeof place === 'string' ? findTwinIn(project.repository.store, place, path) : findTwin(project, place, path);
}

/** Throws PARTIALLY_STAGED when the file is staged and edited further, because one of the two states would be lost. */
export async function refusePartlyStaged(workspace: Workspace, path: RepoPath): Promise<void> {
  const { edits, unmerged } = await workspace.status({ untracked: false, path });
  const edit = edits.find((found) => found.path === path);
  const isPartly = edit !== undefined && edit.staged !== '.' && edit.unstaged !== '.';
  if (!isPartly && !unmerged.includes(path)) return;
  throw new TeddyError(
    'PARTIALLY_STAGED',
    `${path} is staged and has further edits.`,
    `Commit it, stage all of it (\`git add ${toShellWord(path)}\`), or unstage it (\`git restore --staged ${toShellWord(path)}\`).`,
  );
}

/** Throws FILES_IN_THE_WAY for a `create` when the file exists, and FILE_NOT_FOUND for an `append` when it does not. */
export function refuseMismatch(operation: Operation, { path, bytes }: Target): void {
  if (operation === 'create' && bytes !== null) {
    throw new TeddyError(
      'FILES_IN_THE_WAY',
      `${path} exists already.`,
      'Use the operation overwrite to replace it, or append to add to it.',
    );
  }
  if (operation === 'append' && bytes === null) {
    throw new TeddyError('FILE_NOT_FOUND', `There is no ${path} to append to.`, 'Use the operation create.');
  }
}

export async function describeBase(project: Project, place: TargetBase, target: Target): Promise<Base | null> {
  const { path, bytes } = target;
  if (bytes === null) return null;
  const state = typeof place === 'string' ? null : await project.filesOf(place.root).readState(path);
  return {
    sha256: project.hash(bytes),
    size: bytes.length,
    mode: state?.kind === 'file' ? state.mode : (target.mode ?? usualMode),
    lineEndings: lineEndingsOf(bytes),
    finalNewline: endsInNewline(bytes),
    bom: beginsWithBom(bytes),
  };
}

export function badTargetError(path: string, reason: string): TeddyError {
  return new TeddyError(
    'BAD_TARGET',
    `${path.trim()} cannot be written: ${reason}.`,
    'Name a file in the project, relative to its root.',
  );
}
