/** Decides how each context file appears: with its whole text, with only its size, or as missing. */
import type { LeftOut } from './context.ts';
import type { SettledFile } from './context-outside.ts';
import type { Oid, RepoPath } from '../../names.ts';

/** Why a file is only listed. `budget`: the request has no room for its text. */
export type NotShownReason = 'binary' | 'large' | 'budget';

/** The storage for the shown bytes: a blob in the repository, or only the log. */
export type FileSource = { kind: 'blob'; oid: Oid } | { kind: 'stored' };

export type ShownFile =
  /**
   * `path` is a project path or a URL. `lossy`: the bytes are not UTF-8, and invalid ones appear as U+FFFD. `masked`:
   * the number of masked secrets in the text.
   */
  | { kind: 'shown'; path: string; source: FileSource; text: string; lossy: boolean; masked: number }
  | { kind: 'not-shown'; path: RepoPath; bytes: number; reason: NotShownReason }
  /** The model asked for this file and does not get it. `path` is spelled as the model wrote it. */
  | { kind: 'refused'; path: string; reason: string }
  | { kind: 'missing'; path: RepoPath };

export const maxShownBytes = 256 * 1024;
/** git applies the same rule: a NUL byte near the start means binary. */
const binaryProbeBytes = 8 * 1024;
const maxRefused = 50;
const maxRefusedLength = 200;

/** A repository's blobs; null when an object does not exist, so that its file counts as missing. */
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
    // Check the size first, to avoid reading a huge file from a listed directory for nothing.
    const bytes = await blobs.size(source.oid);
    if (bytes !== null && bytes > maxShownBytes) return { kind: 'not-shown', path, bytes, reason: 'large' };
  }
  return toShownFile(file, await blobs.read(source.oid));
}

/** Lists the files that the model asked for but does not get, with reasons. Omits entries from the user's own lists. */
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
 * Returns the paths for `turn.context`. Omits files that are listed but not shown: in the next turn, each of their
 * literal paths would count as an explicit request and the file would be shown.
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

/**
 * Decides whether a file is only listed. An image's bytes do not help a model that asks for its path. Bytes stored only
 * in the log must fit into the log.
 */
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
