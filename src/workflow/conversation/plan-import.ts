/** Examines a source before its import: its format, its content, and whether a session already contains it. Writes nothing. */
import {
  importFormats,
  loadImportFormats,
  type ImportFormat,
  type ImportFormats,
} from '../../agents/import-formats.ts';
import type { Importer, ImportReport, ImportUnit, LogPath } from '../../conversation/logs/importer.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { toSessionName } from '../../names.ts';
import { openCount, planRewinds, type PlannedAttempt } from './imported-attempts.ts';
import { watched, type ImportRequest, type ReadLog } from './read-log.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

export interface ImportPlan extends ReadLog {
  report: ImportReport;
  entries: number;
  turns: number;
  /** Null when teddy did not count secrets. */
  maskedSecrets: number | null;
  /** The name of the session to create. */
  name: string;
  /** The main line's path; null when it uses the whole source. */
  path: LogPath | null;
  /** The attempts that the user abandoned. */
  attempts: PlannedAttempt[];
}

/** The number of characters to read to detect the format. */
const headCharacters = 64 * 1024;

/** Throws NOTHING_TO_IMPORT, UNKNOWN_FORMAT, FILE_NOT_FOUND, BAD_NAME, INTERRUPTED. */
export async function planImport(
  project: Project,
  request: ImportRequest,
  { countsSecrets }: { countsSecrets: boolean },
): Promise<ImportPlan> {
  const { source, name } = request;
  // Rejects an invalid name before reading a large file.
  const wished = name === undefined ? null : toSessionName(name);
  const importedAt = project.clock.now().toISOString();
  const { pieces, sha256 } = source.read();
  const reader = openReader(project, request, await loadImportFormats(), importedAt);
  const all = openCount(project, countsSecrets);
  for await (const { text } of watched(pieces, request, 'reading')) await all.add(reader.push(text));
  await all.add(reader.end());
  const { importer, format } = reader.open();
  if (importer.report().records === 0) throw toNothing(request, format, importer.report());
  const log: ReadLog = { sha256: sha256(), format, importedAt };
  const rewinds = importer.rewinds?.() ?? null;
  const { attempts, opening, maskedSecrets, entries, turns, records, summaries } =
    rewinds === null
      ? { ...(await all.end()), attempts: [] }
      : await planRewinds(project, request, log, rewinds, countsSecrets);
  return {
    ...log,
    report: { ...importer.report(), records, summaries },
    entries,
    turns,
    path: rewinds?.main ?? null,
    attempts,
    maskedSecrets: countsSecrets ? maskedSecrets : null,
    name: wished ?? (await chooseName(project, importer.title(), opening, source.path)),
  };
}

/** Opens the importer after reading enough of the source to detect the format, or all of it. */
function openReader(project: Project, { source, format }: ImportRequest, formats: ImportFormats, importedAt: string) {
  let head = '';
  let opened: { importer: Importer; format: ImportFormat } | null = null;
  const open = () => {
    if (opened !== null) return opened;
    const found = format ?? formats.detect(head);
    if (found === null) throw toUnknownFormat(source.path, head);
    opened = { importer: formats.open(found, { hash: project.hash, importedAt }), format: found };
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

/** Makes the name from the first of these sources that yields one: the log's title, its first message, its file name. */
async function chooseName(
  project: Project,
  title: string | null,
  opening: string | null,
  path: string,
): Promise<string> {
  const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '');
  for (const text of [title ?? '', opening ?? '', file]) {
    // A name is used in refs and paths, which teddy never masks. A text that contains a secret is not used at all,
    // because it may contain more of them.
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
      `${path} is a git bundle, not a log.`,
      `\`git fetch ${toShellWord(path)} <branch>:<branch>\` fetches a session from it; \`git bundle list-heads ${toShellWord(path)}\` lists the branches.`,
    );
  return new TeddyError(
    'UNKNOWN_FORMAT',
    `${path} does not begin like any log that teddy can import.`,
    `If you know its format, name it: --format ${importFormats.join('|')}.`,
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
    `${path} contains no conversation (${lines === 1 ? '1 line' : `${lines} lines`} read).${why}`,
    said === undefined
      ? `It was read as ${format}. If that is not its format, name the right one: --format ${importFormats.join('|')}.`
      : `It was read as ${format}. Without --format, teddy detects the format from the beginning of the file.`,
  );
}
