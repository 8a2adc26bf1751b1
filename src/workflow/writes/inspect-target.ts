/** The target of a write session: that its path may be written, and what stands there. */
import { TeddyError } from '../../errors.ts';
import { parseRepoPath } from '../../session/paths.ts';
import type { FileTarget } from '../../ports/disk.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';
import { beginsWithBom, endsInNewline, lineEndingsOf } from '../../write/line-endings.ts';
import type { Base } from '../../write/write.ts';
import { whyNotAFile } from '../../session/out-of-reach.ts';
import { operations, type Operation } from '../../session/write-limits.ts';

export interface Target {
  /** Where the file really is, or will be: links inside the project are followed. */
  path: RepoPath;
  /** Null: there is none. */
  bytes: Uint8Array | null;
}

/** Throws BAD_TARGET. */
export function parseTarget(text: string, root: string): RepoPath {
  if (text.trim() === '') {
    throw new TeddyError('BAD_TARGET', 'Target file path is required.', 'Name a file of the project: `docs/guide.md`.');
  }
  const parsed = parseRepoPath(text, root);
  if ('path' in parsed) return parsed.path;
  throw toBadTarget(text, parsed.problem);
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

/** Throws BAD_TARGET for what cannot be written, or cannot be committed. */
export async function inspectTarget(project: Project, workspace: Workspace, path: RepoPath): Promise<Target> {
  const found = await project.filesOf(workspace.root).inspect(path);
  const unusable = whyNotAFile(path, found);
  if (unusable !== null) throw toBadTarget(path, unusable);
  const target = toTarget(path, found);
  if ((await workspace.ignored([target.path])).length > 0) {
    throw toBadTarget(path, 'git ignores it, and a write session ends with a commit');
  }
  return target;
}

function toTarget(path: RepoPath, found: FileTarget): Target {
  const real = 'real' in found && found.real !== undefined ? found.real : path;
  return { path: real, bytes: found.kind === 'file' ? found.bytes : null };
}

/** The user has staged one state and edited on: one of the two would be lost. Throws PARTIALLY_STAGED. */
export async function refusePartlyStaged(workspace: Workspace, path: RepoPath): Promise<void> {
  const { edits, unmerged } = await workspace.status({ untracked: false, path });
  const edit = edits.find((found) => found.path === path);
  const isPartly = edit !== undefined && edit.staged !== '.' && edit.unstaged !== '.';
  if (!isPartly && !unmerged.includes(path)) return;
  throw new TeddyError(
    'PARTIALLY_STAGED',
    `${path} is staged and edited further.`,
    `Commit it, stage all of it (\`git add ${path}\`), or unstage it (\`git restore --staged ${path}\`).`,
  );
}

/** Throws FILES_IN_THE_WAY for a `create` of what exists, FILE_NOT_FOUND for an `append` to nothing. */
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

export async function describeBase(project: Project, root: string, target: Target): Promise<Base | null> {
  const { path, bytes } = target;
  if (bytes === null) return null;
  const state = await project.filesOf(root).readState(path);
  return {
    sha256: project.hash(bytes),
    size: bytes.length,
    mode: state.kind === 'file' ? state.mode : 0o644,
    lineEndings: lineEndingsOf(bytes),
    finalNewline: endsInNewline(bytes),
    bom: beginsWithBom(bytes),
  };
}

function toBadTarget(path: string, reason: string): TeddyError {
  return new TeddyError(
    'BAD_TARGET',
    `${path.trim()} cannot be written: ${reason}.`,
    'Name a file of the project, relative to its root.',
  );
}
