/** A fence round the whole content: a writer's habit in a chat, and no part of the file. */
import type { FileKind } from './file-kind.ts';
import { findFences } from './fences.ts';
import { countNewlines } from './positions.ts';

export interface Unwrapped {
  text: string;
  /** How many lines were taken away at the beginning. */
  lines: number;
}

const opening = /^(?:\s*\n)?(`{3,}|~{3,})([^\n`]*)\n/;
const closing = /\n(`{3,}|~{3,})[ \t]*\r?\n?\s*$/;

/** Null: there is none, or it may belong to the file. */
export function stripWrapper(text: string, kind: FileKind): Unwrapped | null {
  if (kind !== 'code' && kind !== 'markdown') return null;
  const first = opening.exec(text.slice(0, 4096));
  const tail = text.slice(-4096);
  const last = closing.exec(tail);
  if (first === null || last === null || !matches(first[1] ?? '', last[1] ?? '')) return null;
  const [start, end] = [first[0].length, text.length - tail.length + last.index + 1];
  if (end < start || (kind === 'markdown' && !isMarkdownWrapper(text, first[2] ?? '', start, end))) return null;
  return { text: text.slice(start, end), lines: countNewlines(first[0]) };
}

function matches(first: string, last: string): boolean {
  return last.startsWith(first);
}

/** A file may also begin with one example and end with another: then the first fence is closed before the end. */
function isMarkdownWrapper(text: string, info: string, start: number, end: number): boolean {
  if (!/^\s*(?:md|markdown)\s*$/i.test(info)) return false;
  const [outer] = findFences(text);
  if (outer !== undefined && outer.end >= end) return true;
  const isOpenAtEnd = findFences(text).at(-1)?.isClosed === false;
  return isOpenAtEnd && findFences(text, start, end).every(({ isClosed }) => isClosed);
}
