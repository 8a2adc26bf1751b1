/** `search_text`: lines of the files that a model may read. */
import type { SearchTextCall } from '../../conversation/chat-tools.ts';
import { parseRepoPath } from '../../session/paths.ts';
import type { TextHits } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import { renderPathWord } from '../../session/quoted-path.ts';
import { isSecretName } from '../../session/secret-names.ts';
import { maskString } from '../line/mask-text.ts';
import { openChatFiles, reachPath, toFileText, type ChatFiles, type CallPlace } from './files.ts';
import type { ToolOutcome } from './chat.ts';
import { findVetoes } from './find-vetoes.ts';
import { toFailure } from './tool-failure.ts';

const maxMatches = 200;
const maxLineLength = 300;
/** What keeps files from the model is asked for so many at once, and for no more than are shown. */
const filesAtOnce = 500;

export async function searchText(place: CallPlace, call: SearchTextCall): Promise<ToolOutcome> {
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
  // A name of a file may hold a secret as well.
  return { output: await maskString(place.project.masker, output), isError: false };
}

/** Of files that may not be read it is not even said that something was found: a query could spell a secret out. */
function isNameable({ path }: TextHits): boolean {
  return 'path' in parseRepoPath(path) && !isSecretName(path);
}

/** No more than may be shown, and nothing of what lies beyond: how many more there are would spell a secret out, query by query. */
async function showFirst(
  place: CallPlace,
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

function findVetoesOf({ project, line }: CallPlace, files: ChatFiles, found: TextHits[]): Promise<Map<string, string>> {
  const paths = found.map(({ path }) => path);
  return findVetoes(project, { ...line, ...files }, paths);
}

/** Nothing of a file that cannot be read after all: one that lies beyond a link, or is too large to find its secrets. */
async function showFile(
  { project: { masker } }: CallPlace,
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
 * A line as it may be shown, or null. Where something in it is masked, the match has to be in the rest of it: what a query
 * finds inside a secret says what the secret is. For an expression nobody can tell, so such lines are left out.
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
  // Not inside the mask: that names the kind of the secret.
  const rest = text.replace(/\[masked: [^\]]*\]/g, '\0');
  return ignoresCase ? rest.toLowerCase().includes(query.toLowerCase()) : rest.includes(query);
}

function toRow(path: RepoPath, line: number, text: string): string {
  const characters = [...text.replace(/\r$/, '')];
  const isLong = characters.length > maxLineLength;
  const shown = isLong ? `${characters.slice(0, maxLineLength).join('')} [...]` : characters.join('');
  return `${renderPathWord(path)}:${line}: ${shown}`;
}
