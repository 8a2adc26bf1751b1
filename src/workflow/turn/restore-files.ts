/** Puts the files of a turn back as they were before it, links as links. */
import { TeddyError } from '../../errors.ts';
import { decodeText } from '../../plan/decode-text.ts';
import type { FileState, NewFile, ProjectFiles } from '../../ports/disk.ts';
import type { Store, TreeFile, Workspace } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import type { LeftFile, SeenChange } from './check-undo.ts';

interface ReadyChange extends SeenChange {
  /** What is to be put back: a file through the user's filters, the target of a link; null: nothing was there. */
  bytes: Uint8Array | null;
}

/** All of them before the first file changes: a filter that fails is then nothing but an error. */
export async function readContents(store: Store, workspace: Workspace, changes: SeenChange[]): Promise<ReadyChange[]> {
  const blobs = changes.flatMap(({ path, before }) => (before && !isLink(before) ? [{ path, oid: before.oid }] : []));
  const checkouts = blobs.length === 0 ? null : await workspace.readCheckouts(blobs);
  const read = async ({ path, before }: SeenChange): Promise<Uint8Array | null> =>
    before === null ? null : (checkouts?.get(path) ?? store.readBlob(before.oid));
  return Promise.all(changes.map(async (change) => ({ ...change, bytes: await read(change) })));
}

/** Removals first: a file of the turn may stand where a directory was. */
export async function restoreFiles(
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
  try {
    const found = await files.readState(path);
    if (!isAsSeen(found, seen)) return 'it has changed just now';
    if (found.kind === 'other') return 'it is no file now';
    // Of an undo that was killed in the middle.
    await files.removeLeftovers(path);
    const wanted = toWanted(change);
    if (wanted === null) return 'the target of the link is not UTF-8';
    await files.putState(path, wanted);
    if (wanted.kind === 'absent') await files.removeEmptyDirectories(listParents(path));
    return null;
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    return error.message.replace(/\.$/, '');
  }
}

/** Null: a link that cannot be made. A file that is there keeps its mode, but for the execute bit. */
function toWanted({ before, seen, bytes }: ReadyChange): FileState | NewFile | null {
  if (before === null || bytes === null) return { kind: 'absent' };
  if (isLink(before)) return toLink(bytes);
  const executable = before.mode === '100755';
  if (seen.kind !== 'file') return { kind: 'new-file', bytes, executable };
  return { kind: 'file', bytes, mode: toMode(seen.mode, executable) };
}

function toLink(bytes: Uint8Array): FileState | null {
  const target = decodeText(bytes);
  return target === null ? null : { kind: 'link', target };
}

/** As git does it: whoever may read it may execute it. */
function toMode(mode: number, executable: boolean): number {
  if (executable === ((mode & 0o100) !== 0)) return mode;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

/** The deepest first. */
function listParents(path: RepoPath): RepoPath[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/') as RepoPath);
}

function isLink({ mode }: TreeFile): boolean {
  return mode === '120000';
}

/** A directory of the turn's may be gone, with the last file in it that was taken back. */
function isAsSeen(found: FileState, seen: FileState): boolean {
  if (found.kind === 'link') return seen.kind === 'link' && found.target === seen.target;
  if (found.kind === 'file')
    return seen.kind === 'file' && found.mode === seen.mode && isSameBytes(found.bytes, seen.bytes);
  return found.kind === seen.kind || (found.kind === 'absent' && seen.kind === 'other');
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
