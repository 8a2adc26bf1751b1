/** What of each file of the context is shown: its whole text, its size only, or that it is missing. */
import type { ResolvedContext, ContextFile } from './context.ts';
import type { Oid, RepoPath } from './names.ts';

/** Where shown bytes are kept: a blob of the repository, or nowhere else than in the log. */
export type FileSource = { kind: 'blob'; oid: Oid } | { kind: 'stored' };

export type ShownFile =
  /** `lossy`: the bytes are not UTF-8, and what is not stands as U+FFFD. */
  | { kind: 'shown'; path: RepoPath; source: FileSource; text: string; lossy: boolean }
  | { kind: 'not-shown'; path: RepoPath; bytes: number; reason: 'binary' | 'large' }
  | { kind: 'missing'; path: RepoPath };

export const maxShownBytes = 256 * 1024;
/** As git does: a NUL byte near the start means binary. */
const binaryProbeBytes = 8 * 1024;

/** `read` gives a blob's bytes, or null when there is no such object; then the file counts as missing. */
export async function readContextFiles(
  context: Pick<ResolvedContext, 'files' | 'missing'>,
  read: (oid: Oid) => Promise<Uint8Array | null>,
): Promise<ShownFile[]> {
  const shown: ShownFile[] = [];
  for (const file of context.files) shown.push(toShownFile(file, await read(file.oid)));
  return [...shown, ...context.missing.map((path): ShownFile => ({ kind: 'missing', path }))];
}

/**
 * The paths that belong in `turn.context`. A file that is listed but not shown is not among them: carried on to the
 * next turn as a literal path, it would count as named alone and be shown.
 */
export function turnContextPaths(files: readonly ShownFile[]): RepoPath[] {
  return files.filter((file) => file.kind !== 'not-shown').map((file) => file.path);
}

function toShownFile(file: ContextFile, bytes: Uint8Array | null): ShownFile {
  const { path, oid } = file;
  if (bytes === null) return { kind: 'missing', path };
  const reason = bytes.subarray(0, binaryProbeBytes).includes(0)
    ? 'binary'
    : bytes.length > maxShownBytes
      ? 'large'
      : null;
  if (reason && !file.alone) return { kind: 'not-shown', path, bytes: bytes.length, reason };
  return { kind: 'shown', path, source: { kind: 'blob', oid }, ...decodeText(bytes) };
}

function decodeText(bytes: Uint8Array): { text: string; lossy: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), lossy: false };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), lossy: true };
  }
}
