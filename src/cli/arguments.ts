/** Reads the words of a command line: long forms of commands, numbers, times and turns. */
import { TeddyError } from '../errors.ts';

/** Other names that people type for a command. */
const synonyms = new Map([
  ['ls', 'list'],
  ['run', 'execute'],
  ['st', 'status'],
]);

/** Commands that scripts and hooks call, and that teddy never lists. `src/README.md` describes them. */
export const internalCommands = ['hook', 'capture drain', 'capture gate'];

/** Returns a command's words in their short form: `session ls` becomes `list`, as in `teddy list`. */
export function toShortForm(words: readonly string[]): string[] {
  const at = words.findIndex((word) => !word.startsWith('-'));
  const next = words[at + 1] ?? '-';
  const hasLongForm = words[at] === 'session' && !next.startsWith('-');
  const typed = hasLongForm ? next : (words[at] ?? '');
  return at < 0
    ? [...words]
    : [...words.slice(0, at), synonyms.get(typed) ?? typed, ...words.slice(at + (hasLongForm ? 2 : 1))];
}

/** Reads a number of at least 1, as `--limit` takes it; `what` names the counted things. Throws USAGE. */
export function parseLimit(text: string, what: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  const message = `--limit: ${JSON.stringify(text)} is not a number of ${what}.`;
  throw new TeddyError('USAGE', message, 'Use a whole number of at least 1: --limit 10.');
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Returns the time that `--since` or another option names, in milliseconds since 1970. Throws USAGE. */
export function parseSince(text: string, nowMs: number, option = '--since'): number {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * unitMs[unit as keyof typeof unitMs];
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(date)) return date;
  throw new TeddyError(
    'USAGE',
    `${option} cannot be ${JSON.stringify(text)}.`,
    'Use 30m, 12h, 7d or 4w, or a date such as 2026-11-01.',
  );
}

/**
 * Reads a turn as a shell completes its path: `02/`, or a path into `.teddy/sessions`, which also names the session.
 * Returns any other text unchanged. Throws USAGE when -s names another session.
 */
export function readTurnPath(text: string, session: string | undefined): { turn: string; session: string | undefined } {
  const [, directory, id = '', turn] =
    /^((?:.*\/)?\.teddy\/sessions\/([^/]+))\/(\d{2,}(?:-branch-\d{2,})?)(?:\/.*)?$/s.exec(text) ?? [];
  if (turn === undefined) return { turn: text.replace(/^(?:\.\/)?(\d+(?:-branch-\d+)?)\/+$/, '$1'), session };
  if (session === undefined) return { turn, session: directory };
  if (!session.includes(id) && !id.includes(session.replace(/\/$/, '')))
    throw new TeddyError(
      'USAGE',
      `${text} is a turn of ${id}, not of ${session}.`,
      'Name only one session, with `-s` or in the path.',
    );
  return { turn, session };
}
