/** Undoes a turn's code, or restores it again, if the files are as the turn left them; never loses a user's edit. */
import { TeddyError, toMessage } from '../../errors.ts';
import type { Store, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { undoneExtent, partlyRedone, partlyUndone, redone } from '../../session/lines/line-paths.ts';
import { parentsOf, parseTurnName, shortRef, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { labelUndo } from '../line/entry-labels.ts';
import { append, type Draft } from '../line/append.ts';
import { isInState, withExecutable, type CodeFile, readCodeFiles } from '../line/edited-code.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { prepareLineOf, type ReadyLine } from '../line/prepare.ts';
import { findWayTo } from '../line/way-to-line.ts';
import { findTurn } from '../../view/view.ts';
import { findTaken, listUndoable, type TurnCode, type UndoChange } from './read-code.ts';
import { decodeText } from '../../session/text/bytes.ts';
import type { ProjectFiles } from '../../ports/disk.ts';
import type { FileState, NewFile } from '../../ports/files.ts';

export interface UndoRequest {
  /** Defaults to the newest turn that changed code and is not, or only partly, undone. */
  turn?: string | undefined;
  selector?: string | undefined;
  /** True to undo as much as possible when some files are not as the turn left them. */
  isPartial?: boolean;
}

export interface Undone {
  line: ReadyLine;
  turn: TurnName;
  /** True when the turn had been undone and this call restored its code. */
  isRedo: boolean;
  commit: Oid;
  restored: RepoPath[];
  /** Files that are not as the turn left them and that teddy did not touch. */
  left: LeftFile[];
}

/**
 * Undoes a turn's code, or restores the code when the turn is undone; for a partly undone turn, continues with the
 * rest. Throws NOT_ON_LINE, UNKNOWN_TURN, NOTHING_TO_UNDO; FILE_MODIFIED, before changing anything, when files are not
 * as the turn left them, or are submodules; UNDO_INCOMPLETE when it changed files but could not add the entry.
 */
export async function undoTurn(project: Project, request: UndoRequest): Promise<Undone> {
  if (request.turn !== undefined) parseTurnName(request.turn);
  const line = await prepareLineOf(project, request, { needsFiles: true });
  const workspace = line.workspace ?? (await throwNotCheckedOut(line, project));
  const { state } = line;
  const wanted = request.turn === undefined ? null : findTurn(state, request.turn);
  const { store } = project.repository;
  const files = project.filesOf(workspace.root);
  const check: Check = (changes, since) => checkUndo(project, { since, workspace, files, tip: state.tip }, changes);
  const { turn, lastUndo, undoing } = await findRest(listUndoable(store, state, wanted), check);
  const isOver =
    undoing.ready.length === 0 &&
    (undoing.left.length === 0 || request.isPartial !== true || undoneExtent(lastUndo) === 'whole');
  const mayTurn = wanted !== null && (isOver || lastUndo?.status === partlyRedone);
  const taken = mayTurn ? await findTaken(store, state, turn) : [];
  const redoing = taken.length === 0 ? null : await check(taken, 'undo');
  const isRedo = redoing !== null && (isOver || redoing.ready.length > 0);
  const checked = isRedo ? redoing : undoing;
  const undo = { turn, isRedo };
  requireSome(undo, checked.ready, checked.left);
  if (!request.isPartial) requireAll(undo, checked.left);
  const ready = await readContents(store, workspace, checked.ready);
  const { restored, left } = await restoreFiles(files, ready);
  const allLeft = [...checked.left, ...left];
  requireSome(undo, restored, allLeft);
  const commit = await publishUndo(project, line, { ...undo, left: allLeft }, restored);
  return { line, ...undo, commit, restored: restored.map(({ path }) => path), left: allLeft };
}

type Check = (changes: UndoChange[], since: 'turn' | 'undo') => ReturnType<typeof checkUndo>;

/** Finds a turn with something left to undo; the user may have reverted the rest of a partly undone turn by hand. */
async function findRest(
  turns: AsyncGenerator<TurnCode, never>,
  check: Check,
): Promise<TurnCode & { undoing: Awaited<ReturnType<Check>> }> {
  for (;;) {
    const { value: code } = await turns.next();
    const undoing = await check(code.changes, 'turn');
    const hasRest = undoing.ready.length + undoing.left.length > 0;
    if (hasRest || undoneExtent(code.lastUndo) !== 'part') return { ...code, undoing };
  }
}

/**
 * Names the commands that lead to the line's files: git does not switch over untracked files, which another agent may
 * have left.
 */
async function throwNotCheckedOut(line: ReadyLine, project: Project): Promise<never> {
  const { workspace } = project.repository;
  const branch = shortRef(line.ref);
  const status = await workspace?.status({ untracked: true });
  const isClean = status !== undefined && status.edits.length + status.untracked.length === 0;
  throw new TeddyError(
    'NOT_ON_LINE',
    `Undo changes files, but ${branch} is not checked out in any work tree.`,
    isClean
      ? `Switch to it: \`${await findWayTo(project, line)}\`.`
      : `Give it a work tree: \`git worktree add <directory> ${toShellWord(branch)}\`.`,
  );
}

type Direction = Pick<Undone, 'turn' | 'isRedo'>;

function requireSome({ turn, isRedo }: Direction, changes: UndoChange[], left: LeftFile[]): void {
  if (changes.length > 0) return;
  if (left.length === 0) {
    throw new TeddyError(
      'NOTHING_TO_UNDO',
      `The files of turn ${turn} are already as they were ${isRedo ? 'after' : 'before'} it.`,
      '`teddy log` shows the turns.',
    );
  }
  throw new TeddyError(
    'FILE_MODIFIED',
    `No file of turn ${turn} can be ${isRedo ? 'put' : 'taken'} back: ${nameSome(left.map(({ path, reason }) => `${path} (${reason})`))}.`,
    `\`teddy show ${turn}\` shows what the turn changed; ${isRedo ? 'put' : 'take'} it back by hand.`,
  );
}

function requireAll({ turn, isRedo }: Direction, left: LeftFile[]): void {
  if (left.length === 0) return;
  throw new TeddyError(
    'FILE_MODIFIED',
    `Turn ${turn} cannot be ${isRedo ? 'put' : 'taken'} back completely: ${nameSome(left.map(({ path, reason }) => `${path} (${reason})`))}. Nothing was changed.`,
    `\`teddy undo ${turn} --partial\` ${isRedo ? 'puts' : 'takes'} back the others.`,
  );
}

async function publishUndo(
  project: Project,
  line: ReadyLine,
  undo: Pick<Undone, 'turn' | 'isRedo' | 'left'>,
  restored: UndoChange[],
): Promise<Oid> {
  const { turn, isRedo } = undo;
  try {
    const { commit } = await append(project, line, () => [toDraft(undo, restored)]);
    return commit;
  } catch (error) {
    throw new TeddyError(
      'UNDO_INCOMPLETE',
      `The files of turn ${turn} were ${isRedo ? 'put back' : 'taken back'} on disk, but the entry could not be added: ${toMessage(error)}`,
      `Running \`teddy undo ${turn}\` again adds it; until then, the changes are your own edits, and \`git diff\` shows them.`,
      { cause: error },
    );
  }
}

function toDraft({ turn, isRedo, left }: Pick<Undone, 'turn' | 'isRedo' | 'left'>, restored: UndoChange[]): Draft {
  const status = left.length > 0 ? (isRedo ? partlyRedone : partlyUndone) : isRedo ? redone : undefined;
  return {
    kind: 'undo',
    turn,
    label: labelUndo(
      turn,
      isRedo,
      restored.map(({ path }) => path),
    ),
    trailers: status === undefined ? {} : { status },
    // Exactly these paths, in their state before the turn.
    code: {
      edits: restored.map(({ path, before }) => ({ path, entry: before && { mode: before.mode, oid: before.oid } })),
    },
  };
}

/** A change ready to be reverted, with links as links. */
interface ReadyChange extends SeenChange {
  /** The content to restore: a file's, through the user's filters, or a link's target; null when nothing existed. */
  bytes: Uint8Array | null;
}

/** Reads all contents before the first file changes, so that a failing filter is only an error. */
async function readContents(store: Store, workspace: Workspace, changes: SeenChange[]): Promise<ReadyChange[]> {
  const blobs = changes.flatMap(({ path, before }) => (before && !isLink(before) ? [{ path, oid: before.oid }] : []));
  const checkouts = blobs.length === 0 ? null : await workspace.readCheckouts(blobs);
  const read = async ({ path, before }: SeenChange): Promise<Uint8Array | null> =>
    before === null ? null : (checkouts?.get(path) ?? store.readBlob(before.oid));
  return Promise.all(changes.map(async (change) => ({ ...change, bytes: await read(change) })));
}

/** Restores the files, removals first: one of the turn's files may be where a directory was. */
async function restoreFiles(
  files: ProjectFiles,
  changes: ReadyChange[],
): Promise<{ restored: ReadyChange[]; left: LeftFile[] }> {
  const restored: ReadyChange[] = [];
  const left: LeftFile[] = [];
  for (const change of [...changes].sort((a, b) => Number(a.bytes !== null) - Number(b.bytes !== null))) {
    const reason = await restoreFile(files, change);
    if (reason === null) restored.push(change);
    else left.push({ path: change.path, reason });
  }
  return { restored, left };
}

async function restoreFile(files: ProjectFiles, change: ReadyChange): Promise<string | null> {
  const { path, seen } = change;
  const wanted = toWanted(change);
  if (wanted === null) return "the link's target is not UTF-8";
  try {
    const found = await files.readState(path);
    if (!isAsSeen(found, seen)) return 'it has changed just now';
    if (found.kind === 'other') return 'it is no longer a file';
    // An undo that was killed in the middle may have left some temporary files.
    await files.removeLeftovers(path);
    await files.putState(path, wanted);
    if (wanted.kind === 'absent') await files.removeEmptyDirectories(parentsOf(path));
    return null;
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    // teddy may have restored the file anyway, if the disk refused only a later step.
    const found = await files.readState(path).catch(() => null);
    return found !== null && isInState(found, wanted) ? null : error.message.replace(/\.$/, '');
  }
}

/** Returns null for a link that teddy cannot make. An existing file keeps its mode, except for the execute bit. */
function toWanted({ before, seen, bytes }: ReadyChange): FileState | NewFile | null {
  if (before === null || bytes === null) return { kind: 'absent' };
  if (isLink(before)) return toLink(bytes);
  const executable = before.mode === '100755';
  if (seen.kind !== 'file') return { kind: 'new-file', bytes, executable };
  return { kind: 'file', bytes, mode: withExecutable(seen.mode, executable) };
}

function toLink(bytes: Uint8Array): FileState | null {
  const target = decodeText(bytes);
  return target === null ? null : { kind: 'link', target };
}

function isLink({ mode }: CodeFile): boolean {
  return mode === '120000';
}

/** Returns true if the file is still as teddy saw it; one of the turn's directories may be gone with its last file. */
function isAsSeen(found: FileState, seen: FileState): boolean {
  return isInState(found, seen) || (seen.kind === 'other' && (found.kind === 'other' || found.kind === 'absent'));
}

/** One of a turn's files that teddy cannot undo, with the reason. */
interface LeftFile {
  path: RepoPath;
  reason: string;
}

interface SeenChange extends UndoChange {
  /** The file on disk when teddy found it as the turn left it. */
  seen: FileState;
}

interface UndoContext {
  /** The operation that left the files in the required state. */
  since: 'turn' | 'undo';
  workspace: Workspace;
  files: ProjectFiles;
  tip: Oid;
}

/** Compares the files as git sees them, through filters. Reads them first, to notice an edit meanwhile. */
async function checkUndo(
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
 * Returns null when teddy can undo the file; `undone` when the file is as it was before the turn. A file in that state
 * only on disk, because an undo was killed, still needs an entry.
 */
function findReason(
  { path, before, after }: UndoChange,
  onDisk: CodeFile | null,
  onLine: CodeFile | null,
  { staged, since }: Pick<UndoContext, 'since'> & { staged: Set<RepoPath> },
): string | null {
  if (staged.has(path)) return 'it has staged changes';
  // teddy does not look into submodules, so only the line shows their commits.
  const isSubmodule = [before, after].some((file) => file?.mode === '160000');
  const isBefore = isSame(isSubmodule ? onLine : onDisk, before);
  if (isBefore && !isSame(onLine, after)) return 'undone';
  if (isSubmodule) return 'it is a submodule';
  return isBefore || isSame(onDisk, after) ? null : `it has changed since the ${since}`;
}

function isSame(file: CodeFile | null, other: CodeFile | null): boolean {
  return file?.oid === other?.oid && file?.mode === other?.mode;
}
