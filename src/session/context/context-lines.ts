/** The lines in a context list: `global.context`, `session.context`, `turn.context` and a plan's Context Vault. */
import { formatCount } from '../text/format-count.ts';
import { quotePath, unquotePath } from '../paths/paths.ts';

export interface ContextLine {
  /** True for `!`, which removes what earlier lines added. */
  removes: boolean;
  /** The path or pattern as written, without its comment, `!` or quotes. */
  text: string;
  /** True when the line is a JSON string, which names exactly one file, whatever characters it contains. */
  literal: boolean;
}

/** Parses a line; null for an empty line or a comment. `#` starts a comment at the start of a line and after white space. */
export function parseContextLine(line: string): ContextLine | null {
  const trimmed = line.trim();
  const removes = trimmed.startsWith('!');
  const rest = removes ? trimmed.slice(1).trim() : trimmed;
  const quoted = rest.startsWith('"') ? unquotePath(rest) : null;
  if (quoted !== null) return { removes, text: quoted, literal: true };
  const text = rest.replace(/(?:^|\s)#.*$/s, '').trimEnd();
  return text === '' ? null : { removes, text, literal: false };
}

/** Renders `turn.context`: literal paths, one per line. Writes a path that could be misread as a JSON string. */
export function renderTurnContext(paths: readonly string[]): string {
  return paths.map((path) => `${renderLiteral(path)}\n`).join('');
}

/** Appends a line to a list; `text` is a path or a pattern as typed by a user. Drops any lines that do the opposite. */
export function addContextLine(list: string, text: string, { removes = false }: { removes?: boolean } = {}): string {
  const kept = dropContextLine(list, text, { removes: !removes });
  const line = `${removes ? '!' : ''}${renderLiteral(text)}\n`;
  return `${kept}${kept === '' || kept.endsWith('\n') ? '' : '\n'}${line}`;
}

/** Drops every line with exactly this text from a list; the rest stays byte for byte unchanged. */
export function dropContextLine(list: string, text: string, { removes = false }: { removes?: boolean } = {}): string {
  const wanted = trimSlashes(text);
  const isWanted = (line: string) => {
    const parsed = parseContextLine(line);
    return parsed !== null && parsed.removes === removes && trimSlashes(parsed.text) === wanted;
  };
  return list
    .split(/(?<=\n)/)
    .filter((line) => !isWanted(line))
    .join('');
}

function trimSlashes(text: string): string {
  return text.replace(/^\.\//, '').replace(/\/+$/, '');
}

/** Limits that no real list reaches: each line is a path, a pattern or a URL. */
const listLimits = { lines: 1_000_000, lineLength: 65_536 };

/** Explains in a sentence why a list is too long; null when its size is fine. */
export function checkListSize(text: string): string | null {
  let lines = 0;
  for (let start = 0; start < text.length; lines += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    if (end - start > listLimits.lineLength)
      return `Line ${lines + 1} of the list has ${formatCount(end - start)} characters, but a line can have at most ${formatCount(listLimits.lineLength)}.`;
    start = end + 1;
  }
  if (lines <= listLimits.lines) return null;
  return `The list has ${formatCount(lines)} lines, but a list can have at most ${formatCount(listLimits.lines)}.`;
}

/** Returns the paths of a `turn.context`, as untrusted text. */
export function parseTurnContext(text: string): string[] {
  return text
    .split('\n')
    .map(parseContextLine)
    .filter((line) => line !== null)
    .map((line) => line.text);
}

/** A line of a turn's own list, and its origin: the Context Vault, an action, or the previous turn's list. */
export interface TurnLine {
  text: string;
  origin: 'vault' | 'list' | (string & {});
}

/** The path or URL of a successful action. */
export interface TouchedPath {
  path: string;
  /** The action's type. */
  by: string;
  /** True when the action removes the path from the context. */
  isDropped?: true;
}

/**
 * Makes the next turn's own list, for `resolveContext`. The list begins with the Context Vault if the plan has one,
 * otherwise with this turn's paths and URLs (`list`). Then it adds the paths that the actions read, created and edited.
 * Final lines remove the paths that the actions pruned.
 */
export function nextTurnList(previous: {
  list: readonly string[];
  vault: readonly string[] | null;
  touched: readonly TouchedPath[];
}): TurnLine[] {
  const kept: TurnLine[] =
    previous.vault?.map((text) => ({ text, origin: 'vault' })) ??
    previous.list.map((path) => ({ text: renderExactly(path), origin: 'list' }));
  const toLines = (touched: readonly TouchedPath[], mark: string) =>
    touched.map(({ path, by }): TurnLine => ({ text: `${mark}${renderExactly(path)}`, origin: by }));
  const added = toLines(
    previous.touched.filter(({ isDropped }) => !isDropped),
    '',
  );
  const pruned = toLines(
    previous.touched.filter(({ isDropped }) => isDropped),
    '!',
  );
  return [...onceEach([...kept, ...added]), ...pruned];
}

/** Keeps the first of equal lines. After a `!`, an equal line stays too, because later lines win. */
function onceEach(lines: TurnLine[]): TurnLine[] {
  const seen = new Set<string>();
  return lines.filter(({ text }) => {
    if (text.startsWith('!')) seen.clear();
    return !seen.has(text) && seen.add(text);
  });
}

/** Quotes names with special characters, so that a file's name does not parse as a pattern once the file is deleted. */
function renderExactly(path: string): string {
  return /[*?[{`]/.test(path) && !path.includes('://') ? quotePath(path) : renderLiteral(path);
}

function renderLiteral(path: string): string {
  const misleading = path === '' || /^[!#"]|^\s|\s$|\s#|[\p{C}\p{Zl}\p{Zp}]/u.test(path);
  return misleading ? quotePath(path) : path;
}
