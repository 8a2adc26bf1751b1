/** Decides how each file of the context is shown: its whole text, its size only, or that it is missing. */
import type { LeftOut } from './context.ts';
import type { SettledFile } from './context-outside.ts';
import type { Oid, RepoPath } from '../../names.ts';

/** Why a file is only listed. `budget`: the request has no room for it. */
export type NotShownReason = 'binary' | 'large' | 'budget';

/** Where shown bytes are kept: a blob of the repository, or nowhere else than in the log. */
export type FileSource = { kind: 'blob'; oid: Oid } | { kind: 'stored' };

export type ShownFile =
  /**
   * `path` is a path of the project or a URL. `lossy`: the bytes are not UTF-8, and what is not stands as U+FFFD.
   * `masked`: how many secrets of the text are masked.
   */
  | { kind: 'shown'; path: string; source: FileSource; text: string; lossy: boolean; masked: number }
  | { kind: 'not-shown'; path: RepoPath; bytes: number; reason: NotShownReason }
  /** The model asked for it and does not get it. `path` as it was written. */
  | { kind: 'refused'; path: string; reason: string }
  | { kind: 'missing'; path: RepoPath };

export const maxShownBytes = 256 * 1024;
/** git uses the same rule: a NUL byte near the start means binary. */
const binaryProbeBytes = 8 * 1024;
const maxRefused = 50;
const maxRefusedLength = 200;

/** The blobs of a repository; null when there is no such object, and then the file counts as missing. */
export interface Blobs {
  read(oid: Oid): Promise<Uint8Array | null>;
  size(oid: Oid): Promise<number | null>;
}

export async function readContextFiles(files: readonly SettledFile[], blobs: Blobs): Promise<ShownFile[]> {
  return Promise.all(files.map((file) => readContextFile(file, blobs)));
}

async function readContextFile(file: SettledFile, blobs: Blobs): Promise<ShownFile> {
  const { source, aloneBy } = file;
  const path = file.path as RepoPath;
  if (source.kind === 'missing') return { kind: 'missing', path };
  if (source.kind === 'stored') return toShownFile(file, source.bytes);
  if (aloneBy === null) {
    // A video of a gigabyte in a directory that is listed is not read to learn that it is not shown.
    const bytes = await blobs.size(source.oid);
    if (bytes !== null && bytes > maxShownBytes) return { kind: 'not-shown', path, bytes, reason: 'large' };
  }
  return toShownFile(file, await blobs.read(source.oid));
}

/** So that a model reads why it does not get what it asked for. What the user's lists name is the user's concern. */
export function toRefused(leftOut: readonly LeftOut[]): ShownFile[] {
  const asked = leftOut.filter(({ place, isQuiet }) => place.level === 'turn' && !isQuiet);
  const refused = [...new Map(asked.map(({ path, reason }) => [path, reason]))].map(([path, reason]): ShownFile => ({
    kind: 'refused',
    path: shorten(path),
    reason,
  }));
  if (refused.length <= maxRefused) return refused;
  const rest = refused.length - maxRefused;
  return [
    ...refused.slice(0, maxRefused),
    { kind: 'refused', path: '...', reason: `${rest} more are not shown either` },
  ];
}

function shorten(path: string): string {
  return path.length <= maxRefusedLength ? path : `${path.slice(0, maxRefusedLength)}...`;
}

/**
 * The paths that belong in `turn.context`. A file that is listed but not shown is not among them: carried on to the
 * next turn as a literal path, it would count as named alone and be shown.
 */
export function turnContextPaths(files: readonly ShownFile[]): string[] {
  return files.filter((file) => file.kind === 'shown' || file.kind === 'missing').map((file) => file.path);
}

function toShownFile(file: SettledFile, bytes: Uint8Array | null): ShownFile {
  const path = file.path as RepoPath;
  if (bytes === null) return { kind: 'missing', path };
  const reason = whyNotShown(file, bytes);
  if (reason !== null) return { kind: 'not-shown', path, bytes: bytes.length, reason };
  const source: FileSource = file.source.kind === 'blob' ? file.source : { kind: 'stored' };
  return { kind: 'shown', path, source, ...decodeText(bytes), masked: 0 };
}

/** The bytes of an image help no model that asks for its path. What is kept nowhere else has to fit into the log. */
function whyNotShown({ aloneBy, source }: SettledFile, bytes: Uint8Array): 'binary' | 'large' | null {
  if (aloneBy === 'user') return null;
  if (bytes.subarray(0, binaryProbeBytes).includes(0)) return 'binary';
  const mayBeLarge = aloneBy === 'model' && source.kind === 'blob';
  return bytes.length > maxShownBytes && !mayBeLarge ? 'large' : null;
}

function decodeText(bytes: Uint8Array): { text: string; lossy: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), lossy: false };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), lossy: true };
  }
}
