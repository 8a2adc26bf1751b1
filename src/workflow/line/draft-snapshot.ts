/** Drafts a snapshot: the user's own edits, except for edits that must not or cannot be in it. */
import { equalBytes } from '../../session/text/bytes.ts';
import { TeddyError } from '../../errors.ts';
import type { Edit, Store, Workspace, WorkspaceStatus } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { shortRef, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { labelEdits } from './entry-labels.ts';
import { editableFiles } from './guard-session-files.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { findUntracked, type LeftOutFile } from './new-files.ts';
import type { ReadyLine } from './prepare.ts';
import { readLineAt, readRecords, type LineState } from '../../view/view.ts';
import { addNewFiles } from './snapshot-new-files.ts';
import type { Draft, FileEdit } from './append.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

/** A line whose files are checked out. */
export type CheckedOutLine = ReadyLine & { workspace: Workspace };

/** The user's edits as an entry that can be appended. */
export interface DraftedSnapshot {
  draft: Draft;
  /** The session's files that the user has edited; the draft includes them. */
  files: FileEdit[];
  count: number;
  staged: number;
  added: number;
}

/**
 * Drafts the snapshot; `drafted` is null when there is nothing to commit. Throws the errors of `takeSnapshot`; in that
 * case nothing changes.
 */
export async function draftSnapshot(...line: Parameters<typeof draftOnce>): ReturnType<typeof draftOnce> {
  try {
    return await draftOnce(...line);
  } catch (error) {
    // A file looks changed while another command is publishing it. The second attempt waits until nobody writes the
    // index.
    if (!(error instanceof TeddyError && ['PLAN_MODIFIED', 'FILE_MODIFIED'].includes(error.code))) throw error;
    return draftOnce(...line);
  }
}

async function draftOnce(
  project: Project,
  line: CheckedOutLine,
  turn: TurnName | null,
): Promise<{ state: LineState; drafted: DraftedSnapshot | null; leftOut: LeftOutFile[] }> {
  const { store } = project.repository;
  const { ref, session, workspace } = line;
  const wanted = await project.settings.get('snapshot');
  const takesTracked = wanted === undefined || wanted === 'tracked';
  // Before a message, teddy tells the user what the snapshot omits.
  const names = takesTracked && turn === null;
  const { head, status } = await workspace.headAndStatus({ untracked: wanted === 'all' || names });
  // Edits on another branch do not belong to this line.
  if (head.ref !== ref || head.oid === null)
    throw new TeddyError(
      'NOT_ON_LINE',
      `HEAD is no longer on ${shortRef(ref)}.`,
      `Switch back: \`git switch ${toShellWord(shortRef(ref))}\`.`,
    );
  const tip = head.oid;
  const state = await readLineAt(store, line, tip);
  await refuseUnfit(workspace, status);
  const { edits, untracked: all } = status;
  const untracked = takesTracked ? await findMade(project, workspace, state) : all;
  const unknown = names
    ? await findUntracked(
        workspace,
        state,
        all.filter((path) => !untracked.includes(path)),
      )
    : [];
  if (edits.length + untracked.length === 0) return { state, drafted: null, leftOut: unknown };
  const files = await readSessionEdits(project, { session, workspace, tip }, edits);
  const code = edits.filter(({ path }) => !isSessionPath(path));
  const submodules = code.filter(({ submodule }) => submodule).map(({ path }) => path);
  const edited = code.filter(({ submodule }) => !submodule);
  if (submodules.length > 0) project.notices.warn(`Changes to submodules are left out: ${submodules.join(', ')}.`);
  const count = edited.length + files.length;
  if (wanted === 'none' && count > 0)
    throw new TeddyError(
      'UNCOMMITTED_EDITS',
      `${count} ${count === 1 ? 'file has' : 'files have'} edits, and teddy.snapshot is \`none\`.`,
      'Commit them, or run `git config teddy.snapshot tracked`.',
    );

  const tracked = edited.length > 0 ? await workspace.snapshotTree(submodules) : null;
  const { tree: codeTree, added, ...left } = await addUntracked(project, workspace, tip, tracked, untracked);
  const leftOut = [...left.leftOut, ...unknown];
  if (files.length === 0 && (codeTree === null || !(await changesCode(store, tip, codeTree)))) {
    return { state, drafted: null, leftOut };
  }
  const paths = [...edited.map(({ path }) => path), ...added, ...files.map(({ path }) => path)];
  const draft: Draft = { kind: 'snapshot', turn, label: labelEdits(paths), code: { tree: codeTree, files } };
  const staged = edited.filter((edit) => edit.staged !== '.').length;
  return { state, drafted: { draft, files, count: paths.length, staged, added: added.length }, leftOut };
}

interface SnapshotCode {
  /** Null when the code is the same as the tip's. */
  tree: Oid | null;
  added: RepoPath[];
  leftOut: LeftOutFile[];
}

async function addUntracked(
  project: Project,
  workspace: Workspace,
  tip: Oid,
  tracked: Oid | null,
  untracked: RepoPath[],
): Promise<SnapshotCode> {
  if (untracked.length === 0) return { tree: tracked, added: [], leftOut: [] };
  const base = tracked ?? (await project.repository.store.readCommit(tip)).tree;
  const { tree, added, leftOut } = await addNewFiles(project, workspace, base, untracked);
  return { tree: added.length === 0 ? tracked : tree, added, leftOut };
}

/** An edit may turn out to change nothing, such as `git add -N` of a file that no longer exists. */
async function changesCode(store: Store, tip: Oid, codeTree: Oid): Promise<boolean> {
  return (await store.diffTrees(tip, codeTree)).some(({ path }) => !isSessionPath(path));
}

/** Throws OPERATION_IN_PROGRESS, SNAPSHOT_FAILED, PARTIALLY_STAGED. */
export async function refuseUnfit(workspace: Workspace, status: WorkspaceStatus): Promise<void> {
  if (status.unmerged.length > 0)
    throw new TeddyError(
      'OPERATION_IN_PROGRESS',
      `These files have merge conflicts: ${status.unmerged.slice(0, 5).join(', ')}.`,
      'Resolve the conflicts and commit, then run the command again.',
    );
  // A snapshot rewrites its paths in the index.
  const names = status.edits.flatMap(({ quotedName }) => quotedName ?? []);
  if (names.length > 0)
    throw new TeddyError(
      'SNAPSHOT_FAILED',
      `A snapshot cannot include edited files whose names are not UTF-8: ${nameSome(names)}.`,
      'Commit them with git first; teddy then leaves them alone.',
    );
  await refusePartlyStaged(workspace, status);
}

/** Throws PARTIALLY_STAGED, because one commit would contain both the staged and the unstaged edits. */
export async function refusePartlyStaged(workspace: Workspace, status: WorkspaceStatus): Promise<void> {
  const own = status.edits.filter(({ path, submodule }) => !submodule && !isSessionPath(path));
  const code: Edit[] = [];
  for (const edit of own) if (await isPartlyStaged(workspace, edit)) code.push(edit);
  if (code.length > 0) {
    throw new TeddyError(
      'PARTIALLY_STAGED',
      `Some files are only partly staged: ${nameSome(code.map(({ path }) => path))}. A snapshot would mix what you staged with what you did not.`,
      'Commit, stage the rest (`git add`), or unstage (`git restore --staged <file>`, `git reset`), then run the command again.',
    );
  }
}

/** A file that is staged as deleted may still exist: after `git rm --cached`, or when the index is gone. */
async function isPartlyStaged(workspace: Workspace, { path, staged, unstaged }: Edit): Promise<boolean> {
  if ((staged !== '.' && unstaged !== '.') || unstaged === 'A') return true;
  return staged === 'D' && (await workspace.readDisk(path)) !== null;
}

/**
 * Returns the user's edits to session files. The user may edit three of the files in `.teddy/`. Rewrites any that are
 * missing; refuses any other difference, because a published file never changes.
 */
async function readSessionEdits(
  { repository: { store } }: Project,
  { session, workspace, tip }: { session: SessionId; workspace: Workspace; tip: Oid },
  edits: Edit[],
): Promise<FileEdit[]> {
  const editable = editableFiles(session);
  const changed: FileEdit[] = [];
  for (const { path, unstaged } of edits.filter((edit) => isSessionPath(edit.path))) {
    const published = await store.readFile(tip, path);
    // A file that git reports as deleted is gone, even when a parent directory has become a link.
    const disk = unstaged === 'D' ? null : await workspace.readDisk(path);
    if (published === null || (disk !== null && equalBytes(disk, published.bytes))) continue;
    if (disk === null) await workspace.writeSessionFile(path, published.bytes);
    else if (editable.includes(path)) changed.push({ path, bytes: disk });
    else throw modifiedError(path);
  }
  return changed;
}

function modifiedError(path: RepoPath): TeddyError {
  const isPlan = path.endsWith('/plan.md');
  return new TeddyError(
    isPlan ? 'PLAN_MODIFIED' : 'FILE_MODIFIED',
    `${path} differs from the published version${isPlan ? ', and a published plan never changes' : ''}.`,
    `Undo the change: \`git restore --source=HEAD --staged --worktree ${toShellWord(path)}\`.`,
  );
}

/** A message in between opens its own turn, so the turn before that counts too. */
const turnsBack = 2;

/** Finds new files that commands in the line's last turns made and that are still on disk, neither tracked nor ignored. */
async function findMade(project: Project, workspace: Workspace, state: LineState): Promise<RepoPath[]> {
  const { tip, turns, latest } = state;
  const earlier = turns.slice(-turnsBack, -1).map((turn) => readRecords(project.repository.store, state, turn));
  const records = [...(await Promise.all(earlier)).flat(), ...(latest?.records ?? [])];
  const named = records.flatMap((record) => (record.type === 'tool_result' ? (record.changed_files ?? []) : []));
  const paths = [...new Set(named)].flatMap(toOwnPath);
  const isNew = await Promise.all(paths.map((path) => isUnknown(project, workspace, tip, path)));
  const unknown = paths.filter((_, at) => isNew[at]);
  if (unknown.length === 0) return [];
  const ignored = new Set(await workspace.ignored(unknown));
  return unknown.filter((path) => !ignored.has(path));
}

/** A transcript may come from elsewhere, so teddy trusts its paths no more than a plan's. */
function toOwnPath(text: string): RepoPath[] {
  const parsed = parseRepoPath(text);
  return 'path' in parsed && !isSessionPath(parsed.path) ? [parsed.path] : [];
}

async function isUnknown(
  { repository: { store } }: Project,
  workspace: Workspace,
  tip: Oid,
  path: RepoPath,
): Promise<boolean> {
  if ((await store.readFile(tip, path)) !== null || (await workspace.readDisk(path)) === null) return false;
  const { edits, untracked } = await workspace.status({ untracked: true, path });
  return edits.length === 0 && untracked.includes(path);
}
