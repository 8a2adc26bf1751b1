/** The user's own edits become a commit of theirs before a turn builds on them. Their index and files stay as they are. */
import { TeddyError } from '../errors.ts';
import type { Edit, Project, Store, Workspace, WorkspaceStatus } from '../ports.ts';
import type { Entry } from '../session/entry.ts';
import { globalContextPath, isSessionPath, memosPath } from '../session/global-files.ts';
import { parseMemos } from '../session/memos.ts';
import {
  joinPath,
  sessionDir,
  shortRef,
  type Oid,
  type RefName,
  type RepoPath,
  type SessionId,
  type TurnName,
} from '../session/names.ts';
import { publishDraft, retryWhileMoved, type FileEdit } from './append-entry.ts';
import { trustTexts } from './foreign-texts.ts';
import { findEntry, toText } from './read-line.ts';
import { saveGlobalFile } from './save-global.ts';

export interface SnapshotTarget {
  ref: RefName;
  session: SessionId;
  workspace: Workspace;
}

/**
 * Appends a `snapshot` entry if there are edits. `turn` is null before a message. Returns how many files it holds.
 * Throws PARTIALLY_STAGED, UNCOMMITTED_EDITS, PLAN_MODIFIED, FILE_MODIFIED, SNAPSHOT_FAILED; then nothing has changed.
 */
export async function takeSnapshot(project: Project, target: SnapshotTarget, turn: TurnName | null): Promise<number> {
  return retryWhileMoved(target.ref, () => trySnapshot(project, target, turn));
}

/** Null after a lost race: what is an edit has to be found out anew on the new tip. */
async function trySnapshot(project: Project, target: SnapshotTarget, turn: TurnName | null): Promise<number | null> {
  const { store } = project.repository;
  const { workspace } = target;
  const head = await workspace.head();
  if (head.ref !== target.ref || head.oid === null) throw toLeft(target.ref);
  const tip = head.oid;
  const wanted = await project.settings.get('snapshot');
  const status = await readEdits(workspace);
  if (status.length === 0) return 0;
  const files = await readSessionEdits(project, target, tip, status);
  const code = status.filter(({ path }) => !isSessionPath(path));
  const submodules = code.filter(({ submodule }) => submodule).map(({ path }) => path);
  const edited = code.filter(({ submodule }) => !submodule);
  if (submodules.length > 0) project.notices.warn(`Submodules are left as they are: ${submodules.join(', ')}.`);
  const count = edited.length + files.length;
  if (count === 0) return 0;
  if (wanted === 'none') throw toUncommitted(count);

  const { entry: last } = await findEntry(store, tip);
  const codeTree = edited.length > 0 ? await workspace.snapshotTree(submodules) : null;
  if (files.length === 0 && (codeTree === null || !(await changesCode(store, tip, codeTree)))) return 0;
  await trustOwnList(project, files);
  await mergeIntoGlobal(project, tip, files);
  const paths = [...edited.map(({ path }) => path), ...files.map(({ path }) => path)];
  const entry = toSnapshotEntry(project, last, turn, paths);
  const draft = { entry, files, ...(codeTree === null ? {} : { codeTree }) };
  if ((await publishDraft(project, target, tip, draft)) === null) return null;
  const staged = edited.filter((edit) => edit.staged !== '.').length;
  const also = staged === 0 ? '' : ` (${staged} of them staged)`;
  project.notices.info(`${count} ${count === 1 ? 'file' : 'files'} of your own edits committed as a snapshot${also}.`);
  return count;
}

/** Edits on another branch are not this line's. */
function toLeft(ref: RefName): TeddyError {
  return new TeddyError(
    'NOT_ON_LINE',
    `HEAD has left ${shortRef(ref)} meanwhile.`,
    `Switch back: \`git switch ${shortRef(ref)}\`.`,
  );
}

/** An edit may come to nothing: a file that was only going to be added, and is gone. */
async function changesCode(store: Store, tip: Oid, codeTree: Oid): Promise<boolean> {
  return (await store.diffTrees(tip, codeTree)).some(({ path }) => !isSessionPath(path));
}

function nameSome(paths: string[]): string {
  return paths.length <= 5 ? paths.join(', ') : `${paths.slice(0, 5).join(', ')} and ${paths.length - 5} more`;
}

async function readEdits(workspace: Workspace): Promise<Edit[]> {
  const status = await workspace.status({ untracked: false });
  refuseUnmerged(status);
  const own = status.edits.filter(({ path, submodule }) => !submodule && !isSessionPath(path));
  const code: Edit[] = [];
  for (const edit of own) if (await isPartlyStaged(workspace, edit)) code.push(edit);
  if (code.length > 0) {
    throw new TeddyError(
      'PARTIALLY_STAGED',
      `Partly staged: ${nameSome(code.map(({ path }) => path))}. A snapshot would mix what you staged with what you did not.`,
      'Commit, stage the rest (`git add`), or unstage (`git restore --staged <file>`, `git reset`), then run the command again.',
    );
  }
  return status.edits;
}

/** Also a file that is staged as deleted and stands there all the same: after `git rm --cached`, or when the index is gone. */
async function isPartlyStaged(workspace: Workspace, { path, staged, unstaged }: Edit): Promise<boolean> {
  if ((staged !== '.' && unstaged !== '.') || unstaged === 'A') return true;
  return staged === 'D' && (await workspace.readDisk(path)) !== null;
}

function refuseUnmerged(status: WorkspaceStatus): void {
  if (status.unmerged.length === 0) return;
  throw new TeddyError(
    'OPERATION_IN_PROGRESS',
    `Unmerged: ${status.unmerged.slice(0, 5).join(', ')}.`,
    'Resolve the conflicts and commit, then run the command again.',
  );
}

function toUncommitted(count: number): TeddyError {
  return new TeddyError(
    'UNCOMMITTED_EDITS',
    `${count} ${count === 1 ? 'file has' : 'files have'} edits, and teddy.snapshot is \`none\`.`,
    'Commit them, or run `git config teddy.snapshot tracked`.',
  );
}

/**
 * Of the session's files in `.teddy/`, three are the user's to edit. A missing one of the others is written again; any
 * other difference is refused: what was published stays as it was.
 */
async function readSessionEdits(
  project: Project,
  target: SnapshotTarget,
  tip: Oid,
  edits: Edit[],
): Promise<FileEdit[]> {
  const { store } = project.repository;
  const editable = [joinPath(sessionDir(target.session), 'session.context'), memosPath, globalContextPath];
  const changed: FileEdit[] = [];
  for (const { path } of edits.filter((edit) => isSessionPath(edit.path))) {
    const [disk, published] = await Promise.all([target.workspace.readDisk(path), store.readFile(tip, path)]);
    if (published === null || (disk !== null && equal(disk, published.bytes))) continue;
    if (disk === null) await target.workspace.writeSessionFile(path, published.bytes);
    else if (editable.includes(path)) changed.push({ path, bytes: disk });
    else throw toModified(path);
  }
  return changed;
}

function toModified(path: RepoPath): TeddyError {
  const isPlan = path.endsWith('/plan.md');
  return new TeddyError(
    isPlan ? 'PLAN_MODIFIED' : 'FILE_MODIFIED',
    `${path} differs from what was published${isPlan ? ', and a published plan never changes' : ''}.`,
    `Take it back: \`git restore --source=HEAD --staged --worktree ${path}\`.`,
  );
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** What the user has edited, they have read. */
async function trustOwnList(project: Project, files: FileEdit[]): Promise<void> {
  const lists = files.filter(({ path }) => path.endsWith('/session.context'));
  await trustTexts(
    project,
    lists.map(({ bytes }) => ({ text: typeof bytes === 'string' ? bytes : toText(bytes) })),
  );
}

/** Memos and the global context are everybody's: an edit of a line's copy goes to `teddy/global`, entry by entry. */
async function mergeIntoGlobal(project: Project, tip: Oid, files: FileEdit[]): Promise<void> {
  const { store } = project.repository;
  for (const { path, bytes } of files) {
    if (path !== memosPath && path !== globalContextPath) continue;
    const base = toText((await store.readFile(tip, path))?.bytes ?? null);
    const mine = typeof bytes === 'string' ? bytes : toText(bytes);
    const name = path.slice('.teddy/'.length);
    // Before anything is written: a list that cannot be read would stop every later turn.
    if (path === memosPath) parseMemos(mine);
    await saveGlobalFile(project, name, { base, mine });
  }
}

function toSnapshotEntry(project: Project, last: Entry, turn: TurnName | null, paths: RepoPath[]): Entry {
  return {
    kind: 'snapshot',
    session: last.session,
    turn,
    id: project.ids.entryId(),
    created: last.created,
    title: `${paths.length} ${paths.length === 1 ? 'file' : 'files'} of the user's own edits`,
    details: paths.length <= 10 ? paths : [...paths.slice(0, 9), `and ${paths.length - 9} more`],
  };
}
