/** The lines of a context list: `global.context`, `session.context`, `turn.context` and a plan's Context Vault. */
import { formatCount } from '../text/format-count.ts';
import { quotePath, unquotePath } from '../paths/paths.ts';

export interface ContextLine {
  /** `!`: takes away what stands above. */
  removes: boolean;
  /** A path or pattern as written, without comment, `!` and quotes. */
  text: string;
  /** Written as a JSON string: names exactly one file, whatever characters it has. */
  literal: boolean;
}

/** Null for an empty line or a comment. `#` starts a comment at the start of a line and after white space. */
export function parseContextLine(line: string): ContextLine | null {
  const trimmed = line.trim();
  const removes = trimmed.startsWith('!');
  const rest = removes ? trimmed.slice(1).trim() : trimmed;
  const quoted = rest.startsWith('"') ? unquotePath(rest) : null;
  if (quoted !== null) return { removes, text: quoted, literal: true };
  const text = rest.replace(/(?:^|\s)#.*$/s, '').trimEnd();
  return text === '' ? null : { removes, text, literal: false };
}

/** `turn.context`: literal paths, one a line. A path that would read as something else is written as a JSON string. */
export function renderTurnContext(paths: readonly string[]): string {
  return paths.map((path) => `${renderLiteral(path)}\n`).join('');
}

/** Appends a line to a list; `text` is a path or a pattern as a user writes it. A line that takes it away goes. */
export function addContextLine(list: string, text: string, { removes = false }: { removes?: boolean } = {}): string {
  const kept = dropContextLine(list, text, { removes: !removes });
  const line = `${removes ? '!' : ''}${renderLiteral(text)}\n`;
  return `${kept}${kept === '' || kept.endsWith('\n') ? '' : '\n'}${line}`;
}

/** Takes every line with just this text out of a list; the rest stays byte for byte. */
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

/** More than any list has: each line is a path, a pattern or an address, and each path a file of the project. */
const listLimits = { lines: 1_000_000, lineLength: 65_536 };

/** Why a list is longer than any, in a sentence; null: it is not. */
export function checkListSize(text: string): string | null {
  let lines = 0;
  for (let start = 0; start < text.length; lines += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    if (end - start > listLimits.lineLength)
      return `Line ${lines + 1} of the list has ${formatCount(end - start)} characters, and a line has at most ${formatCount(listLimits.lineLength)}.`;
    start = end + 1;
  }
  if (lines <= listLimits.lines) return null;
  return `The list has ${formatCount(lines)} lines, and a list has at most ${formatCount(listLimits.lines)}.`;
}

/** The paths of a `turn.context`, as text that is not trusted yet. */
export function parseTurnContext(text: string): string[] {
  return text
    .split('\n')
    .map(parseContextLine)
    .filter((line) => line !== null)
    .map((line) => line.text);
}

/** A line of a turn's own list, and what put it there: the Context Vault, an action, or the list of the turn before. */
export interface TurnLine {
  text: string;
  origin: 'vault' | 'list' | (string & {});
}

/** A path or URL of an action that succeeded. */
export interface TouchedPath {
  path: string;
  /** The type of the action. */
  by: string;
  /** The action takes it out of the context. */
  isDropped?: true;
}

/**
 * The next turn's own list, for `resolveContext`: the Context Vault if the plan has one, else the paths and URLs that
 * this turn had (`list`); plus what its actions read, created and edited, minus what they pruned, which goes last.
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

/** The first of equal lines. After a `!` they are not equal: a later line wins. */
function onceEach(lines: TurnLine[]): TurnLine[] {
  const seen = new Set<string>();
  return lines.filter(({ text }) => {
    if (text.startsWith('!')) seen.clear();
    return !seen.has(text) && seen.add(text);
  });
}

/** A file that is gone by then must not read as a pattern. */
function renderExactly(path: string): string {
  return /[*?[{`]/.test(path) && !path.includes('://') ? quotePath(path) : renderLiteral(path);
}

function renderLiteral(path: string): string {
  const misleading = path === '' || /^[!#"]|^\s|\s$|\s#|[\p{C}\p{Zl}\p{Zp}]/u.test(path);
  return misleading ? quotePath(path) : path;
}
