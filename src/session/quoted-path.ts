/** Paths inside lines of text: as they are when that is clear, otherwise as a JSON string. */

import { parseJson } from './parse-object.ts';
/** Control, format and surrogate characters, line and paragraph separators, and what could close an HTML comment. */
const unsafe = /[\p{C}\p{Zl}\p{Zp}<>]/gu;

/** A JSON string without any character that could end a line or a comment. */
export function quotePath(path: string): string {
  return JSON.stringify(path).replace(unsafe, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** For lines where words are parted by spaces: a path with white space, quotes or anything unsafe is quoted. */
export function renderPathWord(path: string): string {
  return path === '' || /[\s"\p{C}\p{Z}<>]/u.test(path) ? quotePath(path) : path;
}

/** Reads the path that a line begins with, and what follows it; null when a quoted path is damaged. */
export function parsePathWord(line: string): { path: string; rest: string } | null {
  const word = /^(?:"(?:[^"\\]|\\.)*"|[^\s"]+)(?= |$)/.exec(line)?.[0];
  if (word === undefined) return null;
  const path = word.startsWith('"') ? unquotePath(word) : word;
  return path === null ? null : { path, rest: line.slice(word.length + 1) };
}

/** The path in a JSON string, or null when `text` is not one. */
export function unquotePath(text: string): string | null {
  const value = parseJson(text);
  return typeof value === 'string' ? value : null;
}
