/** The first look at a source: what it is, what is in it, and whether a session has it already. Nothing is written. */
import { detectFormat } from '../conversation/detect-format.ts';
import {
  importFormats,
  type ImportFormat,
  type Importer,
  type ImportReport,
  type ImportUnit,
} from '../conversation/importer.ts';
import { openImporter } from '../conversation/open-importer.ts';
import { TeddyError } from '../errors.ts';
import type { Project, SourceFile } from '../ports.ts';
import { toSessionName } from '../session/names.ts';
import { maskRecord } from './mask-record.ts';
import { openEntries } from './imported-entries.ts';

export interface ImportRequest {
  source: SourceFile;
  /** Without it, it is told by the beginning of the source. */
  format?: ImportFormat | undefined;
  /** Of the session; without it, it is what the source says, or what its file is called. */
  name?: string | undefined;
  signal: AbortSignal;
  onProgress?: ((progress: ImportProgress) => void) | undefined;
}

export interface ImportProgress {
  phase: 'reading' | 'writing';
  bytes: number;
  sizeBytes: number;
}

export interface ImportPlan {
  sha256: string;
  format: ImportFormat;
  report: ImportReport;
  entries: number;
  turns: number;
  /** Null: nobody has looked. */
  maskedSecrets: number | null;
  /** Of the session that it would make. */
  name: string;
  /** ISO 8601, for records without a time. */
  importedAt: string;
}

/** So much of a source is looked at to tell its format. */
const headCharacters = 64 * 1024;

/** Throws NOTHING_TO_IMPORT, UNKNOWN_FORMAT, FILE_NOT_FOUND, BAD_NAME, INTERRUPTED. */
export async function planImport(
  project: Project,
  request: ImportRequest,
  { countsSecrets }: { countsSecrets: boolean },
): Promise<ImportPlan> {
  const { source, name } = request;
  // A name that is none is found before a large file is read.
  const wished = name === undefined ? null : toSessionName(name);
  const importedAt = project.clock.now().toISOString();
  const { pieces, sha256 } = source.read();
  const reader = openReader(project, request, importedAt);
  const entries = openEntries();
  let entryCount = 0;
  let maskedSecrets = 0;
  let opening: string | null = null;
  const count = async (units: ImportUnit[]): Promise<void> => {
    for (const unit of units) {
      entryCount += entries.push(unit).length;
      opening ??= findMessage(unit);
      if (countsSecrets) maskedSecrets += (await maskUnit(project, unit)).count;
    }
  };
  for await (const { text } of watched(pieces, request, 'reading')) await count(reader.push(text));
  await count(reader.end());
  entryCount += entries.end().length;
  const { importer, format } = reader.open();
  const report = importer.report();
  if (report.records === 0) throw toNothing(request, format, report);
  return {
    sha256: sha256(),
    format,
    report,
    entries: entryCount,
    turns: entries.turns(),
    maskedSecrets: countsSecrets ? maskedSecrets : null,
    name: wished ?? (await chooseName(project, importer.title(), opening, source.path)),
    importedAt,
  };
}

/** Says how far it has come, and ends where it was interrupted. */
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

export async function maskUnit(project: Project, unit: ImportUnit): Promise<ImportUnit & { count: number }> {
  const masked = await Promise.all(unit.records.map((record) => maskRecord(project.masker, record)));
  const count = masked.reduce((sum, one) => sum + one.count, 0);
  return { ...unit, records: masked.map(({ record }) => record), count };
}

/** The importer is opened when enough has come to tell the format, or all. */
function openReader(project: Project, { source, format }: ImportRequest, importedAt: string) {
  let head = '';
  let opened: { importer: Importer; format: ImportFormat } | null = null;
  const open = () => {
    if (opened !== null) return opened;
    const found = format ?? detectFormat(head);
    if (found === null) throw toUnknownFormat(source.path, head);
    opened = { importer: openImporter(found, { hash: project.hash, importedAt }), format: found };
    return opened;
  };
  const pushHead = () => {
    const units = open().importer.push(head);
    head = '';
    return units;
  };
  return {
    open,
    push(text: string): ImportUnit[] {
      if (opened !== null) return opened.importer.push(text);
      head += text;
      return head.length < headCharacters ? [] : pushHead();
    },
    end(): ImportUnit[] {
      const units = opened === null ? pushHead() : [];
      return [...units, ...open().importer.end()];
    },
  };
}

function findMessage({ records }: ImportUnit): string | null {
  const said = records.find((record) => record.type === 'user');
  return said?.type === 'user' && 'content' in said.message ? said.message.content : null;
}

/** What the source calls it, its first message, its file: the first that a name can be made of. */
async function chooseName(
  project: Project,
  title: string | null,
  opening: string | null,
  path: string,
): Promise<string> {
  const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '');
  for (const text of [title ?? '', opening ?? '', file]) {
    // A name ends up in refs and paths, where no mask would look for a secret; where there is one, there may be more.
    const { count } = await project.masker.mask(text);
    const slug = count > 0 ? null : tryName(firstLine(text));
    if (slug !== null) return slug;
  }
  return 'import';
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

function tryName(text: string): string | null {
  try {
    return toSessionName(text);
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'BAD_NAME') return null;
    throw error;
  }
}

function toUnknownFormat(path: string, head: string): TeddyError {
  if (head.trim() === '') return new TeddyError('NOTHING_TO_IMPORT', `${path} is empty.`, 'Name another file.');
  if (/^# v[23] git bundle\n/.test(head))
    return new TeddyError(
      'UNKNOWN_FORMAT',
      `${path} is a bundle of git, and no log.`,
      `\`git fetch ${path} <branch>:<branch>\` takes a session out of it; \`git bundle list-heads ${path}\` names the branches.`,
    );
  return new TeddyError(
    'UNKNOWN_FORMAT',
    `${path} does not begin like any log that can be imported.`,
    `If you know what it is, say so: --format ${importFormats.join('|')}.`,
  );
}

function toNothing(
  { source: { path }, format: said }: ImportRequest,
  format: ImportFormat,
  report: ImportReport,
): TeddyError {
  const { lines, skipped } = report;
  const [first] = skipped.issues;
  const why = first === undefined ? '' : ` Line ${first.line}: ${first.text}.`;
  return new TeddyError(
    'NOTHING_TO_IMPORT',
    `In ${path} is nothing that was said (${lines === 1 ? '1 line' : `${lines} lines`} read).${why}`,
    said === undefined
      ? `It was read as ${format}. If the format is another one, say so: --format ${importFormats.join('|')}.`
      : `It was read as ${format}. Without --format, its beginning tells what it is.`,
  );
}
