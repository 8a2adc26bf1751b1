/** Rereads a foreign log in the same way as the first time. */
import { loadImportFormats, type ImportFormat } from '../../agents/import-formats.ts';
import { type ImportUnit, type LogPath } from '../../conversation/logs/importer.ts';
import { followPath } from '../../conversation/logs/rewinds.ts';
import { TeddyError } from '../../errors.ts';
import type { SourceFile } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';

export interface ImportRequest {
  source: SourceFile;
  /** Detected from the beginning of the source by default. */
  format?: ImportFormat | undefined;
  /** The session's name; defaults to the source's name or its file name. */
  name?: string | undefined;
  signal: AbortSignal;
  onProgress?: ((progress: ImportProgress) => void) | undefined;
}

export interface ImportProgress {
  phase: 'reading' | 'writing';
  bytes: number;
  sizeBytes: number;
}

/** The way in which a log was read. */
export interface ReadLog {
  sha256: string;
  format: ImportFormat;
  /** The time for records without one, in ISO 8601. */
  importedAt: string;
}

/**
 * Yields the units on the path, or all units when the caller passes no path. Throws FILE_MODIFIED at the end if the
 * bytes differ from those of the first reading.
 */
export async function* readLogAgain(
  project: Project,
  request: ImportRequest,
  { format, importedAt, sha256 }: ReadLog,
  path: LogPath | null,
  phase: ImportProgress['phase'],
): AsyncIterable<ImportUnit> {
  const importer = (await loadImportFormats()).open(format, { hash: project.hash, importedAt });
  const isTaken = path === null ? () => true : followPath(path);
  const reading = request.source.read();
  for await (const { text } of watched(reading.pieces, request, phase)) yield* importer.push(text).filter(isTaken);
  yield* importer.end().filter(isTaken);
  if (reading.sha256() === sha256) return;
  throw new TeddyError(
    'FILE_MODIFIED',
    `${request.source.path} changed while teddy was reading it; nothing was imported.`,
    'Wait until no program is writing to it, or import a copy.',
  );
}

/** Reports progress, and throws INTERRUPTED when the user has interrupted the command. */
export async function* watched<Piece extends { bytes: number }>(
  pieces: AsyncIterable<Piece>,
  { signal, onProgress, source: { sizeBytes } }: ImportRequest,
  phase: ImportProgress['phase'],
): AsyncIterable<Piece> {
  let bytes = 0;
  for await (const piece of pieces) {
    if (signal.aborted)
      throw new TeddyError('INTERRUPTED', 'Interrupted; nothing was imported.', 'Run the command again.');
    bytes += piece.bytes;
    onProgress?.({ phase, bytes, sizeBytes });
    yield piece;
  }
}
