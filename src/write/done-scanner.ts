/** Finds where a content ends that comes as plain text: at the first line that is exactly its end marker. */
import { openByteBuffer, type ByteBuffer } from './byte-buffer.ts';
import { isPadding } from './end-marker.ts';
import { trackFences, type FenceTracker } from './fence-tracker.ts';

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
type Place = 'line' | 'mark' | 'pad' | 'last' | 'text' | 'over';

/** How much of a marker the bytes so far may be, and what is held back for it. */
interface Scan {
  mark: Uint8Array;
  /** Null: the target is no Markdown. */
  fences: FenceTracker | null;
  place: Place;
  /** Bytes of the marker that have come. */
  matched: number;
  /** Bytes that were held back of earlier pieces. */
  held: ByteBuffer;
  heldLines: number;
  /** Where in this piece begins what is held back; 0: or in an earlier one. */
  holdStart: number;
  isHolding: boolean;
  /** Where in what is held back the line of the marker ends. */
  markerEnd: number;
  isLineStart: boolean;
  /** This piece has shown that what earlier ones held back is content. */
  isReleased: boolean;
  /** Line feeds in the content of this piece. */
  lines: number;
}

const atStart = { place: 'line', matched: 0, heldLines: 0, holdStart: 0, markerEnd: 0, lines: 0 } as const;

/**
 * Linear, and independent of how the bytes are cut. A marker's line may end with spaces, tabs and carriage returns; a lone
 * carriage return ends no line.
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

/** Returns where to look next. */
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

/** Whether the byte is held back with those before it; if not, it is looked at again in another place. */
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

/** It was text after all. */
function release(scan: Scan, next: Place): false {
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

/** Without a new array where there is nothing to cut: there may be millions of small pieces. */
function cut(bytes: Uint8Array, start: number, end: number): Uint8Array {
  if (start === end) return nothing;
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}
