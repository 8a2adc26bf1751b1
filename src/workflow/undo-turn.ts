/** Takes back the code of a turn where the files are as the turn left them; an edit of the user's is never lost. */
import { TeddyError } from '../errors.ts';
import type { Project, ProjectFiles, TreeFile, TreeMode, Workspace } from '../ports.ts';
import type { Entry } from '../session/entry.ts';
import { parseTurnName, shortRef, type Oid, type RepoPath, type TurnName } from '../session/names.ts';
import { appendEntry } from './append-entry.ts';
import { editTree } from './edit-tree.ts';
import { nameSome } from './name-some.ts';
import { prepareLine, type ReadyLine } from './prepare-line.ts';
import { findTurn, readLine, type LineState } from './read-line.ts';
import { findUndoable, type TurnCode, type UndoChange } from './read-turn-code.ts';

export interface UndoRequest {
  /** Without it: the newest turn that changed code and is not undone. */
  turn?: string | undefined;
  selector?: string | undefined;
  /** Takes back what can be taken back, where some files are not as the turn left them. */
  isPartial?: boolean;
}

interface LeftFile {
  path: RepoPath;
  reason: string;
}

export interface Undone {
  line: ReadyLine;
  turn: TurnName;
  commit: Oid;
  restored: RepoPath[];
  /** Not as the turn left them; nothing has been done to them. */
  left: LeftFile[];
}

/**
 * Throws NOT_ON_LINE, UNKNOWN_TURN, NOTHING_TO_UNDO; FILE_MODIFIED, before anything was changed, when files are not as the
 * turn left them; UNDO_INCOMPLETE when files were taken back and the entry could not be added.
 */
export async function undoTurn(project: Project, request: UndoRequest): Promise<Undone> {
  if (request.turn !== undefined) parseTurnName(request.turn);
  const line = await prepareLine(project, request.selector);
  const workspace = requireWorkspace(line);
  const state = await readLine(project.repository.store, line.tip);
  const wanted = request.turn === undefined ? null : findTurn(state, request.turn);
  const code = await findUndoable(project.repository.store, state, wanted);
  const checked = await checkFiles(project, workspace, line.tip, code);
  requireSome(code.turn, checked.ready, checked.left);
  if (!request.isPartial) requireAll(code.turn, checked.left);
  const ready = await readBytes(workspace, checked.ready);
  const { restored, left } = await restoreFiles(project.filesOf(workspace.root), workspace, ready);
  const allLeft = [...checked.left, ...left];
  requireSome(code.turn, restored, allLeft);
  const commit = await publishUndo(project, line, state, code.turn, restored);
  return { line, turn: code.turn, commit, restored: restored.map(({ path }) => path), left: allLeft };
}

function requireWorkspace(line: ReadyLine): Workspace {
  if (line.workspace) return line.workspace;
  throw new TeddyError(
    'NOT_ON_LINE',
    `${shortRef(line.ref)} is checked out nowhere, and a turn is taken back in files.`,
    `Switch to it: \`git switch ${shortRef(line.ref)}\`.`,
  );
}

interface SeenChange extends UndoChange {
  /** What was on disk when it was found to be as the turn left it. */
  seen: Uint8Array | null;
}

interface ReadyChange extends SeenChange {
  /** What is to be put back; null: nothing was there. */
  bytes: Uint8Array | null;
}

/** Compared as git sees the files, through filters; read before that, so that an edit meanwhile is noticed. */
async function checkFiles(
  project: Project,
  workspace: Workspace,
  tip: Oid,
  { changes }: TurnCode,
): Promise<{ ready: SeenChange[]; left: LeftFile[] }> {
  const { store } = project.repository;
  const seen = await Promise.all(
    changes.map(async (change) => ({ ...change, seen: await workspace.readDisk(change.path) })),
  );
  const paths = changes.map(({ path }) => path);
  const tree = await workspace.treeOfPaths((await store.readCommit(tip)).tree, paths);
  const [onDisk, onLine] = (await Promise.all([store.listTree(tree), store.listTree(tip)])).map(toMap);
  const { edits, unmerged } = await workspace.status({ untracked: false });
  const staged = new Set([...edits.filter((edit) => edit.staged !== '.').map(({ path }) => path), ...unmerged]);
  const found = seen.map((change) => ({
    change,
    reason: findReason(change, onDisk?.get(change.path), onLine?.get(change.path), staged),
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
  onDisk: TreeFile | undefined,
  onLine: TreeFile | undefined,
  staged: Set<RepoPath>,
): string | null {
  if (staged.has(path)) return 'it has staged changes';
  const isBefore = isSame(onDisk, before);
  if (isBefore && !isSame(onLine, after)) return 'undone';
  if (!isBefore && !isSame(onDisk, after)) return 'it has changed since the turn';
  const special = [before, after].find((file) => file !== null && !isRegular(file.mode));
  if (special) return special.mode === '120000' ? 'it is a symbolic link' : 'it is a submodule';
  return null;
}

function isSame(file: TreeFile | undefined, other: TreeFile | null): boolean {
  return file?.oid === other?.oid && file?.mode === other?.mode;
}

function isRegular(mode: TreeMode): boolean {
  return mode === '100644' || mode === '100755';
}

function toMap(files: TreeFile[]): Map<RepoPath, TreeFile> {
  return new Map(files.map((file) => [file.path, file]));
}

function requireSome(turn: TurnName, changes: UndoChange[], left: LeftFile[]): void {
  if (changes.length > 0) return;
  if (left.length === 0) {
    throw new TeddyError(
      'NOTHING_TO_UNDO',
      `The files of turn ${turn} are as they were before it.`,
      '`teddy session log` shows the turns.',
    );
  }
  throw new TeddyError(
    'FILE_MODIFIED',
    `No file of turn ${turn} can be taken back: ${nameSome(left.map(({ path, reason }) => `${path} (${reason})`))}.`,
    `\`teddy session show ${turn}\` shows what the turn changed; take it back by hand.`,
  );
}

function requireAll(turn: TurnName, left: LeftFile[]): void {
  if (left.length === 0) return;
  throw new TeddyError(
    'FILE_MODIFIED',
    `Not as turn ${turn} left them: ${nameSome(left.map(({ path, reason }) => `${path} (${reason})`))}. Nothing was changed.`,
    `\`teddy session undo ${turn} --partial\` takes back the others.`,
  );
}

/** All of them before the first file changes: a filter that fails is then nothing but an error. */
async function readBytes(workspace: Workspace, changes: SeenChange[]): Promise<ReadyChange[]> {
  const ready: ReadyChange[] = [];
  for (const change of changes) {
    const { path, before } = change;
    ready.push({ ...change, bytes: before === null ? null : await workspace.readCheckout(path, before.oid) });
  }
  return ready;
}

/** Removals first: a file of the turn may stand where a directory was. */
async function restoreFiles(
  files: ProjectFiles,
  workspace: Workspace,
  changes: ReadyChange[],
): Promise<{ restored: ReadyChange[]; left: LeftFile[] }> {
  const restored: ReadyChange[] = [];
  const left: LeftFile[] = [];
  for (const change of [...changes].sort((a, b) => Number(a.bytes !== null) - Number(b.bytes !== null))) {
    const reason = await restoreFile(files, workspace, change);
    if (reason === null) restored.push(change);
    else left.push({ path: change.path, reason });
  }
  return { restored, left };
}

async function restoreFile(
  files: ProjectFiles,
  workspace: Workspace,
  { path, before, seen, bytes }: ReadyChange,
): Promise<string | null> {
  if (!isEqual(await workspace.readDisk(path), seen)) return 'it has changed just now';
  try {
    // Of an undo that was killed in the middle.
    await files.removeLeftovers(path);
    if (bytes === null) await files.remove(path);
    else await files.install(path, bytes, before?.mode === '100755');
    return null;
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    return error.message.replace(/\.$/, '');
  }
}

function isEqual(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : a.length === b.length && a.every((byte, at) => byte === b[at]);
}

async function publishUndo(
  project: Project,
  line: ReadyLine,
  state: LineState,
  turn: TurnName,
  restored: UndoChange[],
): Promise<Oid> {
  const entry = toEntry(project, state, turn, restored);
  try {
    const { commit } = await appendEntry(project, line, async (tip) => ({
      entry,
      files: [],
      codeTree: await writeCode(project, tip, restored),
    }));
    return commit;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TeddyError(
      'UNDO_INCOMPLETE',
      `The files of turn ${turn} are taken back on disk, but the entry could not be added: ${reason}`,
      `\`teddy session undo ${turn}\` again adds it; until then they are edits of yours, and \`git diff\` shows them.`,
      { cause: error },
    );
  }
}

/** The tip's code with exactly these paths as they were before the turn. */
async function writeCode(project: Project, tip: Oid, restored: UndoChange[]): Promise<Oid> {
  const { store } = project.repository;
  const batch = store.batch();
  const edits = restored.map(({ path, before }) => ({ path, entry: before && { mode: before.mode, oid: before.oid } }));
  const tree = await editTree(store, batch, (await store.readCommit(tip)).tree, edits);
  await batch.flush();
  return tree;
}

function toEntry(project: Project, state: LineState, turn: TurnName, restored: UndoChange[]): Entry {
  return {
    kind: 'undo',
    session: state.session,
    turn,
    id: project.ids.entryId(),
    created: state.entry.created,
    title: `${restored.length} ${restored.length === 1 ? 'file' : 'files'} of turn ${turn} taken back`,
    details: restored.map(({ path }) => path),
  };
}
