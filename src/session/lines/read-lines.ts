/** Splits a text that arrives in pieces into lines. Keeps short lines whole; `clip-line.ts` shortens long ones. */
import { openLineClip, type LineClip, type LineLimits } from '../text/clip-line.ts';

export interface ReadLine {
  text: string;
  /** The whole line's length. */
  length: number;
  cut: number;
}

export interface LineReader {
  push(piece: string): void;
  end(): void;
  /** Returns the number of characters of the unfinished line in the buffer. */
  heldLength(): number;
}

/** Opens a reader; `take` receives each line without its newline. */
export function openLineReader(limits: LineLimits, take: (line: ReadLine) => void): LineReader {
  let held: string[] = [];
  let clip: LineClip | null = null;
  let length = 0;

  function add(piece: string): void {
    length += piece.length;
    held.push(piece);
    if (clip === null && length <= limits.text) return;
    clip ??= openLineClip(limits, held.join('').slice(0, 200));
    for (const one of held) clip.push(one);
    held = [];
  }

  function finish(): void {
    take({ length, ...(clip?.end() ?? { text: held.join(''), cut: 0 }) });
    [held, clip, length] = [[], null, 0];
  }

  return {
    push(piece) {
      let from = 0;
      for (let at = piece.indexOf('\n'); at !== -1; at = piece.indexOf('\n', from)) {
        add(piece.slice(from, at));
        finish();
        from = at + 1;
      }
      if (from < piece.length) add(piece.slice(from));
    },
    end() {
      if (length > 0) finish();
    },
    heldLength: () => clip?.heldLength() ?? length,
  };
}
