/** The lines of a context list: `global.context`, `session.context`, `turn.context` and a plan's Context Vault. */
import type { RepoPath } from './names.ts';
import { quotePath, unquotePath } from './quoted-path.ts';

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

/** The paths of a `turn.context`, as text that is not trusted yet. */
export function parseTurnContext(text: string): string[] {
  return text
    .split('\n')
    .map(parseContextLine)
    .filter((line) => line !== null)
    .map((line) => line.text);
}

/**
 * The next turn's own list, as lines for `resolveContext`: the Context Vault if the plan has one, else the paths that
 * this turn had (`list`); plus what its actions read, created and edited (`touched`).
 */
export function nextTurnList(previous: {
  list: readonly string[];
  vault: readonly string[] | null;
  touched: readonly RepoPath[];
}): string[] {
  const kept = previous.vault ?? previous.list.map(renderLiteral);
  return [...new Set([...kept, ...previous.touched.map(renderLiteral)])];
}

function renderLiteral(path: string): string {
  const misleading = path === '' || /^[!#"]|^\s|\s$|\s#|[\p{C}\p{Zl}\p{Zp}]/u.test(path);
  return misleading ? quotePath(path) : path;
}
