/** With `teddy.snapshot=all`, adds untracked files to the user's snapshot, unless there is a reason not to. */
import { equalBytes } from '../../session/text/bytes.ts';
import { GitKilledError, TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { editTree } from '../../session/paths/edit-tree.ts';
import {
  anotherRepository,
  findContentReason,
  findPathReason,
  isRepository,
  maxNewFileBytes,
  notTeddys,
  notUtf8,
  readNewFile,
  type LeftOutFile,
} from './new-files.ts';

export interface NewFiles {
  /** The tree with the new files. */
  tree: Oid;
  added: RepoPath[];
  leftOut: LeftOutFile[];
}

/**
 * Adds to `base` the files in `untracked` that may be committed. Stores exactly the checked bytes: omits a file that
 * another program is writing meanwhile. Throws SNAPSHOT_FAILED.
 */
export async function addNewFiles(
  project: Project,
  workspace: Workspace,
  base: Oid,
  untracked: RepoPath[],
): Promise<NewFiles> {
  const seen = new Map<RepoPath, Uint8Array>();
  const leftOut: LeftOutFile[] = [];
  for (const path of untracked) {
    const looked = await lookThrough(project, workspace, path);
    if (typeof looked === 'string') leftOut.push({ path, reason: looked });
    else if (looked !== null) seen.set(path, looked);
  }
  if (seen.size === 0) return { tree: base, added: [], leftOut };
  const tree = await workspace.treeOfPaths(base, [...seen.keys()]).catch(refuse);
  return dropWritten(project, workspace, { base, tree, seen, leftOut });
}

/** Returns the file's bytes, the reason to omit it, or null when it is gone. */
async function lookThrough(
  project: Project,
  workspace: Workspace,
  path: RepoPath,
): Promise<Uint8Array | string | null> {
  if (isSessionPath(path)) return notTeddys;
  if (isRepository(path)) return anotherRepository;
  if (path.includes('\uFFFD')) return notUtf8;
  const named = await findPathReason(project, path);
  if (named !== null) return named;
  if (((await workspace.sizeOnDisk(path)) ?? 0) >= maxNewFileBytes) return '1 MiB or more';
  const bytes = await readNewFile(workspace, path);
  if (bytes === null) return null;
  if (bytes === 'unreadable') return 'it cannot be read';
  return (await findContentReason(project, path, bytes)) ?? bytes;
}

function refuse(error: unknown): never {
  if (!(error instanceof TeddyError) || error.code !== 'GIT_FAILED' || error instanceof GitKilledError) throw error;
  throw new TeddyError(
    'SNAPSHOT_FAILED',
    `git could not record your new files: ${error.message}`,
    'Nothing was changed. Fix that, have git ignore the file, or run `git config teddy.snapshot tracked`.',
    { cause: error },
  );
}

interface Stored {
  base: Oid;
  tree: Oid;
  seen: Map<RepoPath, Uint8Array>;
  leftOut: LeftOutFile[];
}

async function dropWritten(
  project: Project,
  workspace: Workspace,
  { base, tree, seen, leftOut }: Stored,
): Promise<NewFiles> {
  const { store } = project.repository;
  const batch = store.batch();
  const stored = new Map((await store.diffTrees(base, tree)).map(({ path, after }) => [path, after]));
  const written: RepoPath[] = [];
  for (const [path, bytes] of seen) {
    const oid = stored.get(path);
    if (oid === undefined || oid === (await nameOf(project, bytes))) continue;
    // A git filter may have changed the stored bytes; then the file on disk still has the checked bytes.
    if (!(await isAsSeen(workspace, path, bytes))) written.push(path);
  }
  const added = [...seen.keys()].filter((path) => stored.has(path) && !written.includes(path));
  if (written.length === 0) return { tree, added, leftOut };
  const edits = written.map((path) => ({ path, entry: null }));
  const without = await editTree(store, batch, tree, edits);
  await batch.flush();
  const changing = written.map((path) => ({ path, reason: 'it is being written' }));
  return { tree: without, added, leftOut: [...leftOut, ...changing] };
}

/** Returns the object ID and writes nothing. */
function nameOf({ repository }: Project, bytes: Uint8Array): Promise<Oid> {
  return repository.store.batch().blob(bytes);
}

async function isAsSeen(workspace: Workspace, path: RepoPath, bytes: Uint8Array): Promise<boolean> {
  const now = await readNewFile(workspace, path);
  return now instanceof Uint8Array && equalBytes(now, bytes);
}
