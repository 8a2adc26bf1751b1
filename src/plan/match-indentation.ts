/** Whole lines that stand in the file under one constant indentation offset. */
import { type Line, splitLines } from './match-lines.ts';
import { findSequence } from './match-sequence.ts';

/** `added`: the file's lines have `prefix` in front of those of FIND; otherwise FIND's have it in front of the file's. */
export interface Offset {
  added: boolean;
  prefix: string;
}

export const noOffset: Offset = { added: true, prefix: '' };

/** The first line of each place, and its offset. Tabs and spaces are compared as they are: neither is ever worth the other. */
export function findIndented(lines: Line[], find: Line[]): { first: number; offset: Offset }[] {
  const lead = find.findIndex((line) => line.body !== '');
  const head = find[lead];
  if (head === undefined) return [];
  const keys = toSteps(lines);
  const tail = toSteps(find).slice(lead + 1);
  const heads = tail.length > 0 ? findSequence(keys, tail).map((at) => at - 1) : [...lines.keys()];
  return heads.flatMap((at) => {
    const first = at - lead;
    const line = lines[at];
    const offset = line?.body === head.body ? toOffset(line.indent, head.indent) : null;
    if (offset === null || first < 0 || !isBlank(lines, first, at)) return [];
    return [{ first, offset }];
  });
}

/**
 * Each line as its text and the step of its indentation from the line before that is not blank, both without what they
 * have in common in front. Lines with equal steps, from a first line with some offset, all have the same offset.
 */
function toSteps(lines: Line[]): string[] {
  let before = '';
  return lines.map(({ indent, body }) => {
    if (body === '') return '';
    if (indent === before) return `>>${body}`;
    const common = commonPrefix(before, indent).length;
    const step = `${before.slice(common)}>${indent.slice(common)}>${body}`;
    before = indent;
    return step;
  });
}

function toOffset(inFile: string, inFind: string): Offset | null {
  if (inFile.endsWith(inFind)) return { added: true, prefix: inFile.slice(0, inFile.length - inFind.length) };
  if (inFind.endsWith(inFile)) return { added: false, prefix: inFind.slice(0, inFind.length - inFile.length) };
  return null;
}

function isBlank(lines: Line[], from: number, to: number): boolean {
  for (let at = to - 1; at >= from; at -= 1) if (lines[at]?.body !== '') return false;
  return true;
}

/**
 * Whether `offset` can be taken to all lines of REPLACE. One that lacks a prefix to be removed would have to be guessed
 * at, so that the place is none.
 */
export function acceptsOffset(replace: string): (offset: Offset) => boolean {
  const indents = splitLines(replace)
    .filter((line) => line.body !== '')
    .map((line) => line.indent);
  const shared = indents.length === 0 ? null : indents.reduce(commonPrefix);
  return ({ added, prefix }) => added || shared === null || shared.startsWith(prefix);
}

/** Blank lines are never indented; they lose the prefix only if they have it. */
export function applyOffset({ content, body }: Line, { added, prefix }: Offset): string {
  if (added) return body === '' ? content : prefix + content;
  return content.startsWith(prefix) ? content.slice(prefix.length) : content;
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, length);
}
