/** Finds the changed words within the changed lines of a diff. Added or removed lines do not count as changed. */
import { diffWordsWithSpace } from 'diff';

/** A longer line is minified code or data, where words mean little and comparisons are slow. */
const maxLineLength = 400;

export interface Piece {
  text: string;
  isChanged: boolean;
}

/**
 * Maps the index of a unified diff's line to its pieces, without the sign. Includes only lines with a counterpart: as
 * many `+` lines as there are `-` lines before them.
 */
export function pairWords(lines: readonly string[]): Map<number, Piece[]> {
  const words = new Map<number, Piece[]>();
  const hunks = Math.max(
    lines.findIndex((line) => line.startsWith('@@')),
    0,
  );
  for (let at = hunks; at < lines.length;) {
    const removed = countSigned(lines, at, '-');
    const added = countSigned(lines, at + removed, '+');
    if (removed === added) for (let i = 0; i < removed; i++) comparePair(lines, words, at + i, at + removed + i);
    at += removed + added || 1;
  }
  return words;
}

function countSigned(lines: readonly string[], from: number, sign: string): number {
  let count = 0;
  while (lines[from + count]?.startsWith(sign)) count++;
  return count;
}

function comparePair(lines: readonly string[], words: Map<number, Piece[]>, oldAt: number, newAt: number): void {
  const [before, after] = [(lines[oldAt] ?? '').slice(1), (lines[newAt] ?? '').slice(1)];
  if (Math.max(before.length, after.length) > maxLineLength) return;
  const parts = diffWordsWithSpace(before, after);
  // Two lines without a word in common count as replaced, not changed.
  if (!parts.some(({ added, removed, value }) => !added && !removed && value.trim() !== '')) return;
  const toPiece = (part: (typeof parts)[number]) => ({ text: part.value, isChanged: part.added || part.removed });
  words.set(oldAt, parts.filter(({ added }) => !added).map(toPiece));
  words.set(newAt, parts.filter(({ removed }) => !removed).map(toPiece));
}
