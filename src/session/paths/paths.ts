/** Parses paths from a plan or a context list. Later code, which has access to the files, checks symbolic links. */
import type { RepoPath } from '../../names.ts';
import { newestGrammar, type Grammar } from '../text/grammar.ts';
import { describeLink, readWrittenPath } from './path-marks.ts';
import { parseJson } from '../text/parse-object.ts';

const maxPathLength = 4096;

type ParsedPath = { path: RepoPath } | { problem: string };
/** `note` describes the text removed from around the path, and `hint` explains how to write the path. */
type ParsedPlanPath = { path: RepoPath; note?: string } | { problem: string; hint?: string };

/**
 * Parses a path in a plan: `[shown](/path/from/root)`, `` `code` `` or plain text. `projectRoot`, absolute, is stripped
 * from the front. `problem` is only the reason, without the path.
 */
export function parsePlanPath(text: string, projectRoot?: string, grammar: Grammar = newestGrammar): ParsedPlanPath {
  const written = readWrittenPath(text, grammar);
  if ('problem' in written) return written;
  const [isTold, { text: named }] = [grammar >= 3, written];
  if (isTold && named !== named.trim())
    return { problem: 'its name would begin or end with a blank', hint: 'Give it another name, or use EXECUTE.' };
  const parsed = parseRepoPath(named, projectRoot);
  if ('problem' in parsed) return parsed;
  // Windows users write backslashes out of habit.
  const isOdd = named.includes('\\') && projectRoot?.includes('\\') !== true;
  const slashes = isTold && isOdd ? 'its backslashes are read as slashes' : undefined;
  const elsewhere = isTold ? describeLink(text, parsed.path) : undefined;
  const notes = [written.note, slashes, elsewhere].filter((note) => note !== undefined);
  return notes.length === 0 ? parsed : { ...parsed, note: notes.join('; ') };
}

/** Parses a path without Markdown around it. The result is relative to the root and within the project. */
export function parseRepoPath(text: string, projectRoot?: string): ParsedPath {
  const path = withoutRoot(text.trim().replaceAll('\\', '/'), projectRoot);
  const unusable = whyUnusable(path);
  if (unusable) return { problem: unusable };
  const parts = resolveParts(path);
  if (!parts) return { problem: 'it leaves the project with `..`' };
  if (parts.length === 0) return { problem: "it names the project's root, not a file in it" };
  const reserved = whyReserved(parts);
  return reserved ? { problem: reserved } : { path: parts.join('/') as RepoPath };
}

function withoutRoot(path: string, projectRoot: string | undefined): string {
  const root = projectRoot?.replaceAll('\\', '/').replace(/\/$/, '');
  if (!root) return path;
  if (path === root) return '.';
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

function whyUnusable(path: string): string | null {
  if (path === '') return 'it is empty';
  if (path.length > maxPathLength) return `it is longer than ${maxPathLength} characters`;
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return 'it has a control character';
  if (/\p{Surrogate}/u.test(path)) return 'it is not valid Unicode';
  if (path.startsWith('//')) return 'it names a network share';
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) return 'it is a URL, not a path';
  if (/^[a-z]:/i.test(path)) return 'it names a drive';
  return null;
}

/** Resolves `.` and `..`; null if `..` ever leaves the root. */
function resolveParts(path: string): string[] | null {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && parts.pop() === undefined) return null;
    if (part !== '' && part !== '.' && part !== '..') parts.push(part);
  }
  return parts;
}

function whyReserved(parts: string[]): string | null {
  if (/^[a-z]:/i.test(parts[0] ?? '')) return 'it names a drive';
  const folded = parts.map(foldPart);
  if (folded.includes('')) return 'a part of it has only dots and spaces';
  if (folded.some((part) => part === '.git' || /^git~\d+$/.test(part))) return 'it is inside `.git`';
  if (folded[0] === '.teddy' || /^teddy~\d+$/.test(folded[0] ?? ''))
    return 'it is inside `.teddy`, which teddy keeps itself';
  const device = parts.find((part) =>
    /^(?:con|prn|aux|nul|conin\$|conout\$|com[1-9\u00b9\u00b2\u00b3]|lpt[1-9\u00b9\u00b2\u00b3])$/i.test(stem(part)),
  );
  return device === undefined ? null : `\`${device}\` is a device on Windows`;
}

/** Returns the name as seen by a file system that ignores case, streams, trailing dots and invisible characters. */
export function foldPart(part: string): string {
  const visible = part.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '').toLowerCase();
  return trimTrailing(visible.split(':', 1)[0] ?? '');
}

function trimTrailing(name: string): string {
  let end = name.length;
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end -= 1;
  return name.slice(0, end);
}

function stem(part: string): string {
  return (part.split(/[.:]/, 1)[0] ?? '').trim();
}

/**
 * Matches control, format and surrogate characters, line and paragraph separators, and anything that could close an
 * HTML comment.
 */
const unsafe = /[\p{C}\p{Zl}\p{Zp}<>]/gu;

/** Quotes a path as a JSON string without any character that could end a line or a comment. */
export function quotePath(path: string): string {
  return JSON.stringify(path).replace(unsafe, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** Renders a path for a line of words separated by spaces; quotes a path with white space, quotes or unsafe characters. */
export function renderPathWord(path: string): string {
  return path === '' || /[\s"\p{C}\p{Z}<>]/u.test(path) ? quotePath(path) : path;
}

/** Parses the path at the beginning of a line, and returns the rest too; null when a quoted path is malformed. */
export function parsePathWord(line: string): { path: string; rest: string } | null {
  const word = /^(?:"(?:[^"\\]|\\.)*"|[^\s"]+)(?= |$)/.exec(line)?.[0];
  if (word === undefined) return null;
  const path = word.startsWith('"') ? unquotePath(word) : word;
  return path === null ? null : { path, rest: line.slice(word.length + 1) };
}

/** Returns the path in a JSON string; null when `text` is not a JSON string. */
export function unquotePath(text: string): string | null {
  const value = parseJson(text);
  return typeof value === 'string' ? value : null;
}
