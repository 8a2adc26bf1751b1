/** The seam between an answer that was cut and what the model sent when it was asked to go on. */
import { extend, toBorders } from '../plan/match-sequence.ts';
import { countBytes } from '../session/bytes.ts';

/** The model reads this after its own words so far. */
export const continueMessage =
  'Your answer was cut off. Continue exactly where it stops, in the middle of a line if need be. ' +
  'Do not repeat anything, do not comment, and do not open a new code fence.';

const minRepeatBytes = 40;

export interface Seam {
  /** The next piece of the continuation; returns what of it is to be added now. */
  next(piece: string): string;
  /** The continuation is over: returns what was held back. */
  end(): string;
  /** Bytes at the beginning of the continuation that were left out, because they repeat the end of the answer. */
  droppedBytes(): number;
}

/**
 * Takes a continuation in pieces, and drops the lines with which it repeats the end of `before`: exactly, from the
 * beginning of a line, at least 40 bytes. The pieces are held back only while they may still be such a repetition; how they
 * are cut makes no difference.
 */
export function openSeam(before: string): Seam {
  const lines = `\n${before}`;
  let held: string | null = '';
  // Before the first line of the answer that begins like what is held; a longer beginning is never found further up.
  let place = 0;
  let droppedBytes = 0;
  function decide(text: string): string {
    const length = repeatedLength(before, text);
    droppedBytes = countBytes(text.slice(0, length));
    held = null;
    return text.slice(length);
  }
  return {
    next(piece) {
      if (held === null) return piece;
      const goesOn = lines.startsWith(piece, place + 1 + held.length);
      held += piece;
      // Searched for only then: a model that begins its whole answer anew comes in very many pieces.
      if (!goesOn) place = lines.indexOf(`\n${held}`, place + 1);
      return place === -1 ? decide(held) : '';
    },
    end: () => (held === null ? '' : decide(held)),
    droppedBytes: () => droppedBytes,
  };
}

/** The length of the longest end of `before` that `continuation` begins with; 0 when it is not worth being called that. */
function repeatedLength(before: string, continuation: string): number {
  const end = before.slice(Math.max(0, before.length - continuation.length));
  // An answer may be a million times the same line.
  const borders = toBorders(continuation);
  let length = 0;
  for (let at = 0; at < end.length; at += 1) length = extend(continuation, borders, length, end[at]!);
  for (; length > 0; length = borders[length]!) {
    const start = before.length - length;
    const isWhole = start === 0 || before[start - 1] === '\n';
    if (isWhole) return countBytes(continuation.slice(0, length)) >= minRepeatBytes ? length : 0;
  }
  return 0;
}
