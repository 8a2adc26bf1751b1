/** Finds fenced code in Markdown. */

export interface Fence {
  /** The offset of the opening line. */
  start: number;
  /** The offset after the closing line, or the end of the text. */
  end: number;
  isClosed: boolean;
  /** The text after the opening marks: `ts`. */
  info: string;
}

interface Mark {
  start: number;
  end: number;
  prefix: string;
  marks: string;
  info: string;
}

/** A line that can open or close a fence, including one in a quotation or a list item. */
const markLine = /^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,8})(`{3,}|~{3,})([^\n]*)$/gm;

/** Returns the fences from `start` to `end`, in order. A fence in a quotation or a list item ends with its container. */
export function findFences(text: string, start = 0, end = text.length): Fence[] {
  const fences: Fence[] = [];
  let open: Mark | null = null;
  let seen = start;
  for (const mark of findMarks(text, start, end)) {
    if (open !== null && (hasLeft(open, text.slice(seen, mark.start)) || isBeyond(open, mark))) {
      fences.push(toFence(open, mark.start, true));
      open = null;
    }
    if (open === null) {
      if (canOpen(mark)) open = mark;
    } else if (closes(mark, open)) {
      fences.push(toFence(open, mark.end, true));
      open = null;
    }
    seen = Math.min(mark.end + 1, end);
  }
  if (open !== null) fences.push(toFence(open, end, hasLeft(open, text.slice(seen, end))));
  return fences;
}

function* findMarks(text: string, start: number, end: number): Generator<Mark> {
  const part = start === 0 && end === text.length ? text : text.slice(start, end);
  for (const { 0: line, 1: prefix = '', 2: marks = '', 3: info = '', index } of part.matchAll(markLine)) {
    yield { start: start + index, end: start + index + line.length, prefix, marks, info: info.trim() };
  }
}

function toFence({ start, info }: Mark, end: number, isClosed: boolean): Fence {
  return { start, end, isClosed, info };
}

/**
 * Returns true if the line can open a fence. After four spaces the line is indented code, unless it continues a list; a
 * code span's marks are not a fence.
 */
function canOpen({ prefix, marks, info }: Mark): boolean {
  return !(marks.startsWith('`') && info.includes('`')) && !/^(?: {8}|\t\t)/.test(prefix);
}

function closes({ prefix, marks, info }: Mark, open: Mark): boolean {
  return info === '' && marks.startsWith(open.marks) && !/[^ \t>]/.test(prefix);
}

/** Returns true if the lines end the quotation or list item that contains the fence. */
function hasLeft({ prefix }: Mark, lines: string): boolean {
  if (prefix.includes('>')) return /^[ \t]*[^\s>]/m.test(lines);
  const isNested = prefix.trim() !== '' || /^(?: {4}|\t)/.test(prefix);
  return isNested && /^\S/m.test(lines);
}

function isBeyond(open: Mark, { prefix }: Mark): boolean {
  return open.prefix.includes('>') && !prefix.includes('>');
}
