/** Which files of a turn can be taken back: those that are as the turn left them. */
import type { ProjectFiles } from '../../ports/disk.ts';
import type { FileState } from '../../ports/files.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { readCodeFiles, type CodeFile } from '../line/edited-code.ts';
import type { UndoChange } from './read-code.ts';

export interface LeftFile {
  path: RepoPath;
  reason: string;
}

export interface SeenChange extends UndoChange {
  /** The file on disk when it was found to be as the turn left it. */
  seen: FileState;
}

interface UndoContext {
  /** Whichever has left the files in the state that they have to be in. */
  since: 'turn' | 'undo';
  workspace: Workspace;
  files: ProjectFiles;
  tip: Oid;
}

/** Compared as git sees the files, through filters; read before that, so that an edit meanwhile is noticed. */
export async function checkUndo(
  project: Project,
  { since, workspace, files, tip }: UndoContext,
  changes: UndoChange[],
): Promise<{ ready: SeenChange[]; left: LeftFile[] }> {
  const { store } = project.repository;
  const seen = await Promise.all(
    changes.map(async (change) => ({ ...change, seen: await files.readState(change.path) })),
  );
  const paths = changes.map(({ path }) => path);
  const { tree: line } = await store.readCommit(tip);
  const disk = await workspace.treeOfPaths(line, paths);
  const [onDisk, onLine] = await Promise.all([disk, line].map((tree) => readCodeFiles(store, tree, paths)));
  const { edits, unmerged } = await workspace.status({ untracked: false });
  const staged = new Set([...edits.filter((edit) => edit.staged !== '.').map(({ path }) => path), ...unmerged]);
  const found = seen.map((change, at) => ({
    change,
    reason: findReason(change, onDisk?.[at] ?? null, onLine?.[at] ?? null, { staged, since }),
  }));
  return {
    ready: found.flatMap(({ change, reason }) => (reason === null ? [change] : [])),
    left: found.flatMap(({ change, reason }) =>
      reason === null || reason === 'undone' ? [] : [{ path: change.path, reason }],
    ),
  };
}

/**
 * Null when the file can be taken back; `undone` when it is as before the turn. What is so on disk alone, because an undo
 * was killed, still has to get into an entry.
 */
function findReason(
  { path, before, after }: UndoChange,
  onDisk: CodeFile | null,
  onLine: CodeFile | null,
  { staged, since }: Pick<UndoContext, 'since'> & { staged: Set<RepoPath> },
): string | null {
  if (staged.has(path)) return 'it has staged changes';
  // Nobody looks into a submodule: only the line says where it is.
  const isSubmodule = [before, after].some((file) => file?.mode === '160000');
  const isBefore = isSame(isSubmodule ? onLine : onDisk, before);
  if (isBefore && !isSame(onLine, after)) return 'undone';
  if (isSubmodule) return 'it is a submodule';
  return isBefore || isSame(onDisk, after) ? null : `it has changed since the ${since}`;
}

function isSame(file: CodeFile | null, other: CodeFile | null): boolean {
  return file?.oid === other?.oid && file?.mode === other?.mode;
}
