/**
 * Tracks whether a Markdown text that arrives byte by byte is inside a code fence. Follows CommonMark's rules for the
 * top level of a document. As in `plan/parse/scan.ts`, lists and quotes do not count as containers; a fence inside one
 * is indented.
 */
const newline = 10;
const carriageReturn = 13;
const tab = 9;
const space = 32;
const backtick = 96;
const tilde = 126;

/**
 * The part of a line. `run`: in the marks of a fence. `info`: after opening marks. `end`: after closing marks. `text`:
 * not a fence.
 */
type Part = 'indent' | 'run' | 'info' | 'end' | 'text';

export interface FenceTracker {
  /** Returns true if a fence is open, according to the complete lines. */
  isOpen(): boolean;
  /** Takes the next byte. Returns false when nothing matters until the line ends. */
  take(byte: number): boolean;
}

/** The open fence, and the part of a fence in the current line. */
interface Fences {
  /** The open fence's mark; 0 when there is none. */
  openMark: number;
  openLength: number;
  part: Part;
  indent: number;
  mark: number;
  length: number;
}

export function trackFences(): FenceTracker {
  const fences: Fences = { openMark: 0, openLength: 0, part: 'indent', indent: 0, mark: 0, length: 0 };
  return {
    isOpen: () => fences.openLength > 0,
    take(byte) {
      if (byte === newline) endLine(fences);
      else fences.part = next(fences, byte);
      return fences.part !== 'text';
    },
  };
}

function endLine(fences: Fences): void {
  const { part, mark, length, openLength } = fences;
  const isRun = part === 'run' && length >= Math.max(openLength, 3);
  if (isRun || part === 'info' || part === 'end') {
    const isClosed = openLength > 0;
    fences.openMark = isClosed ? 0 : mark;
    fences.openLength = isClosed ? 0 : length;
  }
  fences.part = 'indent';
  fences.indent = 0;
}

function next(fences: Fences, byte: number): Part {
  const { part, mark } = fences;
  if (part === 'indent') return begin(fences, byte);
  if (part === 'run') return goOn(fences, byte);
  if (part === 'end') return isBlank(byte) ? 'end' : 'text';
  // If a backtick follows, this is inline code.
  return part === 'info' && !(mark === backtick && byte === backtick) ? 'info' : 'text';
}

function begin(fences: Fences, byte: number): Part {
  if (byte === space) {
    fences.indent += 1;
    return fences.indent > 3 ? 'text' : 'indent';
  }
  if (fences.openLength > 0 ? byte !== fences.openMark : byte !== backtick && byte !== tilde) return 'text';
  fences.mark = byte;
  fences.length = 1;
  return 'run';
}

function goOn(fences: Fences, byte: number): Part {
  const { mark, length, openLength } = fences;
  if (byte === mark) {
    fences.length += 1;
    return 'run';
  }
  if (openLength > 0) return isBlank(byte) && length >= openLength ? 'end' : 'text';
  return length >= 3 ? 'info' : 'text';
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab || byte === carriageReturn;
}
