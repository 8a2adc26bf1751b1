/** Performs a tool call; the user has approved anything that needs approval. */
import type { ParsedCall, ListFilesCall, ReadFileCall, SearchTextCall } from '../../conversation/prompts/chat-tools.ts';
import { TeddyError } from '../../errors.ts';
import { maskString } from '../line/mask-text.ts';
import { type CallContext, openChatFiles, reachPath, type ChatFiles, toFileText, listAll } from './files.ts';
import { type ToolOutcome, refuseAborted, toFailure } from './chat.ts';
import { runCommand } from './run-command-tool.ts';
import type { RepoPath } from '../../names.ts';
import type { TextHits } from '../../ports/git.ts';
import { renderTreeListing } from '../../session/paths/tree-listing.ts';
import { parseRepoPath, renderPathWord } from '../../session/paths/paths.ts';
import { isSecretName } from '../../session/masks/secret-names.ts';
import { findVetoes } from './find-vetoes.ts';

/**
 * Performs the call; a failure is an outcome. Throws INTERRUPTED when the signal is aborted, but a running command then
 * has an outcome with the reason `aborted`. Does not write files: the caller, which receives their content, does.
 */
export async function performCall(
  place: CallContext,
  call: Exclude<ParsedCall, { name: 'WritePlanTool_begin' | 'edit_file' }>,
): Promise<ToolOutcome> {
  refuseAborted(place.signal);
  try {
    const outcome = await perform(place, call);
    // A failure may quote paths, and lines from the user's lists.
    return outcome.isError ? { ...outcome, output: await maskString(place.project.masker, outcome.output) } : outcome;
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
    return toFailure(await describe(place, error));
  }
}

function perform(place: CallContext, call: Parameters<typeof performCall>[1]): Promise<ToolOutcome> {
  switch (call.name) {
    case 'read_file':
      return readFile(place, call);
    case 'list_files':
      return listFiles(place, call);
    case 'search_text':
      return searchText(place, call);
    case 'run_command':
      return runCommand(place, call);
  }
}

/** Describes an error; if masking itself has failed, the error quotes nothing. */
async function describe({ project: { masker } }: CallContext, error: TeddyError): Promise<string> {
  const text = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return error.code === 'MASKING_FAILED' ? text : maskString(masker, text);
}

/** `list_files`: the project's files that git does not ignore, folded like a request's tree. */
async function listFiles(place: CallContext, { path, pattern }: ListFilesCall): Promise<ToolOutcome> {
  const files = await openChatFiles(place);
  const reached = path === null ? null : await reachPath(place, files, path);
  if (reached !== null && 'problem' in reached) return toFailure(`list_files ${path}: ${reached.problem}.`);
  if (reached?.target.kind === 'file') return toFailure(`list_files ${path}: it is a file; read_file reads it.`);
  const below = reached === null ? '' : `${reached.path}/`;
  const matches = await compile(pattern);
  if (typeof matches !== 'function') return toFailure(`list_files: the pattern ${pattern}: ${matches.problem}.`);
  const all = await listAll(place.project.repository.store, files);
  const listed = all.filter((file) => file.path.startsWith(below) && matches(file.path.slice(below.length)));
  const listing = (await place.project.masker.mask(renderTreeListing(listed))).text;
  return { output: listing === '' ? toNothing(path, pattern) : listing, isError: false };
}

async function compile(pattern: string | null): Promise<((path: string) => boolean) | { problem: string }> {
  if (pattern === null) return () => true;
  const { compileGlob } = await import('../../session/paths/context-glob.ts');
  return compileGlob(pattern);
}

function toNothing(path: string | null, pattern: string | null): string {
  const where = path === null ? 'the project' : path;
  return pattern === null ? `There is no file in ${where}.` : `No file in ${where} matches ${pattern}.`;
}

const maxLines = 2_000;

const maxBytes = 256 * 1024;

/** `read_file`: the lines of a text file, masked. */
async function readFile(place: CallContext, call: ReadFileCall): Promise<ToolOutcome> {
  const reached = await reachPath(place, await openChatFiles(place), call.path);
  if ('problem' in reached) return toFailure(`read_file ${call.path}: ${reached.problem}.`);
  const { path, target } = reached;
  if (target.kind === 'directory')
    return toFailure(`read_file ${path}: it is a directory; list_files shows what is in it.`);
  const text = toFileText(target.bytes);
  if (text === null) return toFailure(`read_file ${path}: it is a binary file of ${target.bytes.length} bytes.`);
  const masked = (await place.project.masker.mask(text, path)).text;
  return takeLines(masked, { ...call, path });
}

function takeLines(text: string, { path, fromLine, toLine }: ReadFileCall): ToolOutcome {
  if (text === '') return { output: `(${path} is empty)`, isError: false };
  const lines = text.split(/(?<=\n)/);
  const from = fromLine ?? 1;
  if (from > lines.length) return toFailure(`read_file ${path}: it has ${lines.length} lines.`);
  const wanted = lines.slice(from - 1, Math.min(toLine ?? lines.length, from - 1 + maxLines));
  const kept = takeBytes(wanted);
  const last = from - 1 + kept.length;
  const note = toNote(kept.isCut, { from, last, wanted: toLine ?? lines.length, count: lines.length });
  const shown = kept.text;
  return { output: note === '' || shown.endsWith('\n') ? `${shown}${note}` : `${shown}\n${note}`, isError: false };
}

/** Takes whole lines, except for a first line that is too long by itself. */
function takeBytes(lines: string[]): { text: string; length: number; isCut: boolean } {
  let bytes = 0;
  let length = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(line);
    if (bytes > maxBytes) break;
    length += 1;
  }
  const [first = ''] = lines;
  if (length > 0) return { text: lines.slice(0, length).join(''), length, isCut: false };
  return { text: new TextDecoder().decode(Buffer.from(first).subarray(0, maxBytes)), length: 1, isCut: true };
}

/** Returns a note about missing lines; empty when none of the requested lines is missing. */
function toNote(
  isCut: boolean,
  { from, last, wanted, count }: { from: number; last: number; wanted: number; count: number },
): string {
  const cut = isCut ? `[line ${from} is cut: it has more than ${maxBytes / 1024} KiB]\n` : '';
  if (last >= Math.min(wanted, count)) return cut;
  return `${cut}[lines ${from} to ${last} of ${count}; read on with from_line ${last + 1}]\n`;
}

/** `search_text`: lines in the files that a model may read. */
const maxMatches = 200;
const maxLineLength = 300;
/** The number of files to look up vetoes for at a time, and the maximum number that the result shows. */
const filesAtOnce = 500;

async function searchText(place: CallContext, call: SearchTextCall): Promise<ToolOutcome> {
  const files = await openChatFiles(place);
  const reached = call.path === null ? null : await reachPath(place, files, call.path);
  if (reached !== null && 'problem' in reached) return toFailure(`search_text in ${call.path}: ${reached.problem}.`);
  const { query: text, isRegex, ignoresCase } = call;
  const found = await files.search({ text, isRegex, ignoresCase, path: reached?.path ?? null, signal: place.signal });
  const rows = await showFirst(place, files, call, found.filter(isNameable));
  const lines = rows.length === 0 ? ['No line was found.'] : rows;
  const isFull = rows.length === maxMatches;
  const note = isFull ? ['[no more are shown; search in a directory, or for a longer query]'] : [];
  const output = [...lines, ...note].map((line) => `${line}\n`).join('');
  // A file name may contain a secret as well.
  return { output: await maskString(place.project.masker, output), isError: false };
}

/** Hides even the existence of matches in files that the model may not read, because queries could spell out a secret. */
function isNameable({ path }: TextHits): boolean {
  return 'path' in parseRepoPath(path) && !isSecretName(path);
}

/**
 * Shows as many matches as allowed, and nothing about the rest, because their number would spell out a secret, query by
 * query.
 */
async function showFirst(
  place: CallContext,
  files: ChatFiles,
  call: SearchTextCall,
  found: TextHits[],
): Promise<string[]> {
  const rows: string[] = [];
  for (let at = 0; at < found.length && rows.length < maxMatches; at += filesAtOnce) {
    const batch = found.slice(at, at + filesAtOnce);
    const vetoes = await findVetoesOf(place, files, batch);
    for (const hits of batch) {
      if (rows.length < maxMatches && !vetoes.has(hits.path)) rows.push(...(await showFile(place, files, call, hits)));
    }
  }
  return rows.slice(0, maxMatches);
}

function findVetoesOf(
  { project, line }: CallContext,
  files: ChatFiles,
  found: TextHits[],
): Promise<Map<string, string>> {
  const paths = found.map(({ path }) => path);
  return findVetoes(project, { ...line, ...files }, paths);
}

/** Shows nothing from an unreadable file, such as a file beyond a link, or a file too large to search for secrets. */
async function showFile(
  { project: { masker } }: CallContext,
  files: ChatFiles,
  call: SearchTextCall,
  { path, lines }: TextHits,
): Promise<string[]> {
  const target = await files.inspect(path);
  const text = target.kind === 'file' && target.real === undefined ? toFileText(target.bytes) : null;
  if (text === null) return [];
  const masked = (await masker.mask(text, path)).text;
  const lineAt = lineReader(text, masked, call);
  return lines.flatMap((line) => {
    const found = lineAt(line);
    return found === null ? [] : [toRow(path, line, found)];
  });
}

/**
 * Returns a line as the model may see it, or null. When part of a line is masked, the match has to be in the rest of
 * the line, because a query that matches inside a secret reveals the secret. teddy cannot check this for a regular
 * expression, so it omits lines with masks.
 */
function lineReader(text: string, masked: string, call: SearchTextCall): (line: number) => string | null {
  const [before, after] = [text.split('\n'), masked.split('\n')];
  const unchanged = new Set(text === masked ? [] : after);
  const isAligned = before.length === after.length;
  return (line) => {
    const original = before[line - 1];
    if (original === undefined) return null;
    if (text === masked || unchanged.has(original)) return original;
    const shown = isAligned && !call.isRegex ? after[line - 1] : undefined;
    return shown !== undefined && contains(shown, call) ? shown : null;
  };
}

function contains(text: string, { query, ignoresCase }: SearchTextCall): boolean {
  // The match must not be inside the mask, which names the secret's kind.
  const rest = text.replace(/\[masked: [^\]]*\]/g, '\0');
  return ignoresCase ? rest.toLowerCase().includes(query.toLowerCase()) : rest.includes(query);
}

function toRow(path: RepoPath, line: number, text: string): string {
  const characters = [...text.replace(/\r$/, '')];
  const isLong = characters.length > maxLineLength;
  const shown = isLong ? `${characters.slice(0, maxLineLength).join('')} [...]` : characters.join('');
  return `${renderPathWord(path)}:${line}: ${shown}`;
}
