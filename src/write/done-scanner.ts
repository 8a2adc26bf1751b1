/** Finds the end of content that arrives as plain text: the first line that is exactly its end marker. */
import { openByteBuffer, type ByteBuffer } from './byte-buffer.ts';
import { isPadding } from './end-marker.ts';
import { trackFences, type FenceTracker } from './fence-tracker.ts';

const newline = 10;
const nothing = new Uint8Array(0);

export interface ScannerOptions {
  marker: string;
  /** True when the target is Markdown, where a marker inside a code fence is text. */
  isMarkdown: boolean;
  /** The earlier content of a resumed session; a fence may be open at its end. */
  before?: Uint8Array;
}

/** The result of a piece. Each array may share memory with the piece. */
export interface Scanned {
  /** Bytes that have proved to be content; they follow the bytes from earlier calls. */
  content: Uint8Array;
  /** The number of line feeds in `content`. */
  lines: number;
  isDone: boolean;
  /** The bytes after the marker's line, including white space. */
  trailing: Uint8Array;
}

export interface Scanner {
  next(bytes: Uint8Array): Scanned;
  /**
   * Ends the source and decides about the held bytes. With `isAnswerEnd`, the writer has finished here, so a marker in
   * the last line counts even without a newline and inside a fence; otherwise the source was cut off. Another answer
   * may follow, and begins a new line.
   */
  end(options: { isAnswerEnd: boolean }): Scanned;
  /** Returns the number of undecided bytes, which may be the marker's line. */
  heldBytes(): number;
}

/**
 * `line`: at the beginning of a line. `mark`: after part of the marker. `pad`: after the whole marker. `last`: after a
 * marker's line in a fence, which counts if only white space follows. `text`: in a line that is not the marker's.
 * `over`: after the marker.
 */
type ScanState = 'line' | 'mark' | 'pad' | 'last' | 'text' | 'over';

/** The part of a marker that may have arrived, and the bytes held back because of it. */
interface Scan {
  mark: Uint8Array;
  /** Null when the target is not Markdown. */
  fences: FenceTracker | null;
  place: ScanState;
  /** The number of the marker's bytes that have arrived. */
  matched: number;
  /** The held bytes from earlier pieces. */
  held: ByteBuffer;
  heldLines: number;
  /** The start of the held bytes in this piece; also 0 when they began in an earlier one. */
  holdStart: number;
  isHolding: boolean;
  /** The end of the marker's line within the held bytes. */
  markerEnd: number;
  isLineStart: boolean;
  /** True when this piece has shown that the held bytes of earlier pieces are content. */
  isReleased: boolean;
  /** The number of line feeds in this piece's content. */
  lines: number;
}

const atStart = { place: 'line', matched: 0, heldLines: 0, holdStart: 0, markerEnd: 0, lines: 0 } as const;

/**
 * Opens a scanner. It takes linear time, and the result does not depend on how the bytes are split. Spaces, tabs and
 * carriage returns may follow the marker in its line; a carriage return alone does not end a line.
 */
export function openScanner({ marker, isMarkdown, before = nothing }: ScannerOptions): Scanner {
  const fences = isMarkdown ? trackFences() : null;
  if (fences !== null) for (const byte of before) fences.take(byte);
  const [mark, held] = [new TextEncoder().encode(marker), openByteBuffer()];
  const scan: Scan = { ...atStart, mark, fences, held, isHolding: false, isLineStart: false, isReleased: false };
  return {
    next: (bytes) => scanPiece(scan, bytes),
    end: ({ isAnswerEnd }) => endScan(scan, isAnswerEnd),
    heldBytes: held.length,
  };
}

function scanPiece(scan: Scan, bytes: Uint8Array): Scanned {
  if (isOver(scan)) return { content: nothing, lines: 0, isDone: true, trailing: bytes };
  scan.isReleased = false;
  scan.lines = 0;
  scan.holdStart = 0;
  let at = 0;
  while (at < bytes.length && !isOver(scan)) at = advance(scan, bytes, at);
  return report(scan, bytes, at);
}

function endScan(scan: Scan, isAnswerEnd: boolean): Scanned {
  const { place, heldLines } = scan;
  const bytes = scan.held.take();
  const isMarker = isAnswerEnd && (place === 'pad' || place === 'last');
  const trailing = place === 'last' ? bytes.subarray(scan.markerEnd) : nothing;
  if (isMarker) scan.place = 'over';
  if (isOver(scan)) return { content: nothing, lines: 0, isDone: true, trailing };
  [scan.isHolding, scan.heldLines, scan.place] = [false, 0, 'line'];
  return { content: bytes, lines: heldLines, isDone: false, trailing: nothing };
}

function isOver({ place }: Scan): boolean {
  return place === 'over';
}

/** Returns the offset where scanning continues. */
function advance(scan: Scan, bytes: Uint8Array, at: number): number {
  if (scan.place === 'text') return skipText(scan, bytes, at);
  const byte = bytes[at] ?? 0;
  if (!goesOn(scan, byte, at)) return at;
  if (isOver(scan)) return at + 1;
  scan.fences?.take(byte);
  if (byte === newline) scan.heldLines += 1;
  return at + 1;
}

function skipText(scan: Scan, bytes: Uint8Array, from: number): number {
  const { fences } = scan;
  let at = from;
  if (fences !== null) while (at < bytes.length && bytes[at] !== newline && fences.take(bytes[at] ?? 0)) at += 1;
  while (at < bytes.length && bytes[at] !== newline) at += 1;
  if (at === bytes.length) return at;
  fences?.take(newline);
  scan.lines += 1;
  scan.place = 'line';
  return at + 1;
}

/** Returns true if the byte joins the held bytes; if not, it is examined again in the new place. */
function goesOn(scan: Scan, byte: number, at: number): boolean {
  const { place } = scan;
  if (place === 'line') return begins(scan, byte, at);
  if (place === 'mark') return byte === scan.mark[scan.matched] ? match(scan) : release(scan, 'text');
  if (place === 'pad' && byte === newline) return endMarkerLine(scan, at);
  if (byte === newline || isPadding(byte)) {
    scan.isLineStart = byte === newline;
    return true;
  }
  return release(scan, place === 'last' && scan.isLineStart ? 'line' : 'text');
}

function begins(scan: Scan, byte: number, at: number): boolean {
  if (byte !== scan.mark[0]) {
    scan.place = 'text';
    return false;
  }
  scan.isHolding = true;
  scan.holdStart = at;
  scan.matched = 0;
  return match(scan);
}

function match(scan: Scan): true {
  scan.matched += 1;
  scan.place = scan.matched === scan.mark.length ? 'pad' : 'mark';
  return true;
}

function endMarkerLine(scan: Scan, at: number): true {
  scan.place = scan.fences?.isOpen() === true ? 'last' : 'over';
  scan.markerEnd = (scan.isReleased ? 0 : scan.held.length()) + at + 1 - scan.holdStart;
  scan.isLineStart = true;
  return true;
}

/** Releases the held bytes, which have proved to be text. */
function release(scan: Scan, next: ScanState): false {
  scan.isReleased ||= scan.held.length() > 0;
  scan.lines += scan.heldLines;
  scan.heldLines = 0;
  scan.isHolding = false;
  scan.place = next;
  return false;
}

function report(scan: Scan, bytes: Uint8Array, at: number): Scanned {
  const { held, holdStart, isHolding, lines } = scan;
  const isDone = isOver(scan);
  const fresh = cut(bytes, 0, isHolding ? holdStart : at);
  const content = scan.isReleased ? held.take(fresh) : fresh;
  if (isDone) held.take();
  else if (isHolding) held.append(cut(bytes, holdStart, at));
  return { content, lines, isDone, trailing: cut(bytes, at, bytes.length) };
}

/** Cuts without creating a new array if nothing is cut off, because there may be millions of small pieces. */
function cut(bytes: Uint8Array, start: number, end: number): Uint8Array {
  if (start === end) return nothing;
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}
