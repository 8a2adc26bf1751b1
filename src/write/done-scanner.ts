/** Finds where a content ends that comes as plain text: at the first line that is exactly its end marker. */
import { openByteBuffer } from './byte-buffer.ts';
import { isPadding } from './end-marker.ts';
import { trackFences } from './fence-tracker.ts';

const newline = 10;
const nothing = new Uint8Array(0);

export interface ScannerOptions {
  marker: string;
  /** The target is Markdown: inside a code fence a marker is text. */
  isMarkdown: boolean;
  /** The content so far, of a session that is gone on with: a fence may be open at its end. */
  before?: Uint8Array;
}

/** The result of a piece. Each array may share memory with the piece. */
export interface Scanned {
  /** Bytes that are known to be content now; they follow those of the calls before. */
  content: Uint8Array;
  /** How many line feeds are in `content`. */
  lines: number;
  isDone: boolean;
  /** Bytes after the line of the marker, white space included. */
  trailing: Uint8Array;
}

export interface Scanner {
  next(bytes: Uint8Array): Scanned;
  /**
   * The source is over, and what was held back is decided. `isAnswerEnd`: the writer has ended here, so that a marker in the
   * last line counts, without a newline and in a fence as well; false: it was cut. A further answer may follow: what comes
   * first in it begins a line.
   */
  end(options: { isAnswerEnd: boolean }): Scanned;
  /** How many bytes wait for a decision: they may be the marker's line. */
  heldBytes(): number;
}

/**
 * `line`: at the beginning of one. `mark`: after a part of the marker. `pad`: after all of it. `last`: after the line of a
 * marker in a fence, which counts if only white space follows. `text`: in a line that is no marker's. `over`: it was found.
 */
type ScanState = 'line' | 'mark' | 'pad' | 'last' | 'text' | 'over';

/**
 * Linear, and independent of how the bytes are cut. A marker's line may end with spaces, tabs and carriage returns; a lone
 * carriage return ends no line.
 */
export function openScanner({ marker, isMarkdown, before = nothing }: ScannerOptions): Scanner {
  const mark = new TextEncoder().encode(marker);
  const fences = isMarkdown ? trackFences() : null;
  if (fences !== null) for (const byte of before) fences.take(byte);
  let place: ScanState = 'line';
  let matched = 0;
  /** Bytes that were held back of earlier pieces. */
  const held = openByteBuffer();
  let heldLines = 0;
  /** Where in this piece begins what is held back; 0: or in an earlier one. */
  let holdStart = 0;
  let isHolding = false;
  /** Where in what is held back the line of the marker ends. */
  let markerEnd = 0;
  let isLineStart = false;
  /** This piece has shown that what earlier ones held back is content. */
  let isReleased = false;
  let lines = 0;

  function advance(bytes: Uint8Array, at: number): number {
    if (place === 'text') return skipText(bytes, at);
    const byte = bytes[at] ?? 0;
    if (!goesOn(byte, at)) return at;
    if (place === 'over') return at + 1;
    fences?.take(byte);
    if (byte === newline) heldLines += 1;
    return at + 1;
  }

  /** Whether the byte is held back with those before it; if not, it is looked at again in another place. */
  function goesOn(byte: number, at: number): boolean {
    if (place === 'line') return begins(byte, at);
    if (place === 'mark') return byte === mark[matched] ? match() : release('text');
    if (place === 'pad' && byte === newline) return endMarkerLine(at);
    if (byte === newline || isPadding(byte)) {
      isLineStart = byte === newline;
      return true;
    }
    return release(place === 'last' && isLineStart ? 'line' : 'text');
  }

  function begins(byte: number, at: number): boolean {
    if (byte !== mark[0]) {
      place = 'text';
      return false;
    }
    isHolding = true;
    holdStart = at;
    matched = 0;
    return match();
  }

  function match(): true {
    matched += 1;
    place = matched === mark.length ? 'pad' : 'mark';
    return true;
  }

  function endMarkerLine(at: number): true {
    place = fences?.isOpen() === true ? 'last' : 'over';
    markerEnd = (isReleased ? 0 : held.length()) + at + 1 - holdStart;
    isLineStart = true;
    return true;
  }

  /** It was text after all. */
  function release(next: ScanState): false {
    isReleased ||= held.length() > 0;
    lines += heldLines;
    heldLines = 0;
    isHolding = false;
    place = next;
    return false;
  }

  function skipText(bytes: Uint8Array, from: number): number {
    let at = from;
    if (fences !== null) while (at < bytes.length && bytes[at] !== newline && fences.take(bytes[at] ?? 0)) at += 1;
    while (at < bytes.length && bytes[at] !== newline) at += 1;
    if (at === bytes.length) return at;
    fences?.take(newline);
    lines += 1;
    place = 'line';
    return at + 1;
  }

  function report(bytes: Uint8Array, at: number): Scanned {
    const isDone = place === 'over';
    const fresh = cut(bytes, 0, isHolding ? holdStart : at);
    const content = isReleased ? held.take(fresh) : fresh;
    if (isDone) held.take();
    else if (isHolding) held.append(cut(bytes, holdStart, at));
    return { content, lines, isDone, trailing: cut(bytes, at, bytes.length) };
  }

  return {
    next(bytes) {
      if (place === 'over') return { content: nothing, lines: 0, isDone: true, trailing: bytes };
      isReleased = false;
      lines = 0;
      holdStart = 0;
      let at = 0;
      while (at < bytes.length && !isOver()) at = advance(bytes, at);
      return report(bytes, at);
    },
    end({ isAnswerEnd }) {
      const bytes = held.take();
      const isMarker = isAnswerEnd && (place === 'pad' || place === 'last');
      const trailing = place === 'last' ? bytes.subarray(markerEnd) : nothing;
      if (isMarker) place = 'over';
      if (isOver()) return { content: nothing, lines: 0, isDone: true, trailing };
      const scanned = { content: bytes, lines: heldLines, isDone: false, trailing: nothing };
      [isHolding, heldLines, place] = [false, 0, 'line'];
      return scanned;
    },
    heldBytes: held.length,
  };

  // A function, since the compiler does not see that the others change it.
  function isOver(): boolean {
    return place === 'over';
  }
}

/** Without a new array where there is nothing to cut: there may be millions of small pieces. */
function cut(bytes: Uint8Array, start: number, end: number): Uint8Array {
  if (start === end) return nothing;
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}
